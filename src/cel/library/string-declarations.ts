/** The declarations of cel-go's strings extension, parametrized by version and by the costs of the host. */
import { fn, type Library, member, type Overload, overload, type StaticCost } from '../declarations.ts';
import { DYN, INT, list, STRING } from '../types.ts';
import type { Value } from '../values.ts';
import { add, estimate, range, scale, sizeOfNode } from './estimate.ts';
import type { Format } from './format-text.ts';
import { trimSpace } from './go-text.ts';
import {
  charAt,
  type EmptySearch,
  indexOf,
  join,
  lastIndexOf,
  lastIndexOfFrom,
  lowerAscii,
  quoteLiteral,
  replace,
  reverse,
  split,
  substring,
  substringBetween,
  upperAscii,
} from './text-functions.ts';

type Int = number | bigint;

type Costs = Pick<Overload, 'cost' | 'soleCost' | 'estimate'>;

interface StringsVersion {
  readonly format: Format;
  readonly emptySearch: EmptySearch;
  readonly costs: {
    readonly charAt: Costs;
    /** The costs of indexOf and lastIndexOf. */
    readonly search: Costs;
    /** The costs of lowerAscii and upperAscii. */
    readonly letterCase: Costs;
    /** The costs of `reverse`; absent if the version does not have it. */
    readonly reverse?: Costs;
    readonly trim: Costs;
    readonly replace: Costs;
    readonly split: Costs;
    readonly substring: Costs;
    readonly join: Costs;
    /** The costs of format; its estimate is the same in all versions. */
    readonly format: Omit<Costs, 'estimate'>;
    readonly quote: Omit<Costs, 'estimate'>;
  };
}

const LIST = list(STRING);

export function stringsLibrary({ format, emptySearch, costs }: StringsVersion): Library {
  const reversing =
    costs.reverse === undefined
      ? []
      : [fn('reverse', [member('string_reverse', [STRING], STRING, reverse, costs.reverse)])];
  return {
    name: 'cel.lib.ext.strings',
    validators: [format.formatValidator],
    functions: [
      fn('charAt', [member('string_char_at_int', [STRING, INT], STRING, charAt, costs.charAt)]),
      fn('indexOf', [
        member(
          'string_index_of_string',
          [STRING, STRING],
          INT,
          (text: string, part: string) => indexOf(text, part, 0, emptySearch),
          costs.search,
        ),
        member(
          'string_index_of_string_int',
          [STRING, STRING, INT],
          INT,
          (text: string, part: string, offset: Int) => indexOf(text, part, offset, emptySearch),
          costs.search,
        ),
      ]),
      fn('lastIndexOf', [
        member('string_last_index_of_string', [STRING, STRING], INT, lastIndexOf, costs.search),
        member(
          'string_last_index_of_string_int',
          [STRING, STRING, INT],
          INT,
          (text: string, part: string, offset: Int) => lastIndexOfFrom(text, part, offset, emptySearch),
          costs.search,
        ),
      ]),
      fn('lowerAscii', [member('string_lower_ascii', [STRING], STRING, lowerAscii, costs.letterCase)]),
      fn('upperAscii', [member('string_upper_ascii', [STRING], STRING, upperAscii, costs.letterCase)]),
      ...reversing,
      fn('trim', [member('string_trim', [STRING], STRING, trimSpace, costs.trim)]),
      fn('replace', [
        member(
          'string_replace_string_string',
          [STRING, STRING, STRING],
          STRING,
          (text: string, old: string, by: string) => replace(text, old, by, -1),
          costs.replace,
        ),
        member('string_replace_string_string_int', [STRING, STRING, STRING, INT], STRING, replace, costs.replace),
      ]),
      fn('split', [
        member(
          'string_split_string',
          [STRING, STRING],
          LIST,
          (text: string, separator: string) => split(text, separator, -1),
          costs.split,
        ),
        member('string_split_string_int', [STRING, STRING, INT], LIST, split, costs.split),
      ]),
      fn('substring', [
        member('string_substring_int', [STRING, INT], STRING, substring, costs.substring),
        member('string_substring_int_int', [STRING, INT, INT], STRING, substringBetween, costs.substring),
      ]),
      fn('join', [
        member('list_join', [LIST], STRING, (of: readonly Value[]) => join(of, ''), costs.join),
        member('list_join_string', [LIST, STRING], STRING, join, costs.join),
      ]),
      fn('format', [
        member('string_format', [STRING, list(DYN)], STRING, format.formatText, {
          ...costs.format,
          estimate: formatEstimate,
        }),
      ]),
      fn('strings.quote', [
        overload('strings_quote', [STRING], STRING, quoteLiteral, { ...costs.quote, estimate: quoteEstimate }),
      ]),
    ],
  };
}

const formatEstimate: StaticCost = (target) => estimate(scale(sizeOfNode(target), 0.1));

/** In the worst case every character is escaped; the two quotes are always added. */
const quoteEstimate: StaticCost = (_target, [text]) => {
  const size = sizeOfNode(text);
  return estimate(scale(size, 0.1), add(range(size.min, size.max * 2), range(2, 2)));
};
