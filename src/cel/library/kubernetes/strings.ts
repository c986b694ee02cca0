/** cel-go's strings extension at version 2 (no `reverse`), with Kubernetes' costs. */
import { sizeOf, traversal } from '../../cost/size.ts';
import type { Library } from '../../declarations.ts';
import { fn, member, overload, type Range, type RuntimeCost, type StaticCost } from '../../declarations.ts';
import { DYN, INT, list, STRING } from '../../types.ts';
import type { Value } from '../../values.ts';
import { add, estimate, literalCount, multiply, range, scale, sizeOfNode } from '../estimate.ts';
import { trimSpace } from '../go-text.ts';
import {
  charAt,
  indexOf,
  join,
  lastIndexOf,
  lastIndexOfFrom,
  lowerAscii,
  quoteLiteral,
  replace,
  split,
  substring,
  substringBetween,
  upperAscii,
} from '../text-functions.ts';
import { formatText, formatValidator } from './format-string.ts';
import { walkCost, walkEstimate } from './lists.ts';
import { replaceEstimate } from './replace-estimate.ts';

type Int = number | bigint;

const LIST = list(STRING);

const passes =
  (count: number): RuntimeCost =>
  ([text]) =>
    traversal(sizeOf(text ?? null), count);

const onePass = {
  cost: passes(1),
  estimate: ((target) => estimate(scale(sizeOfNode(target), 0.1), sizeOfNode(target))) satisfies StaticCost,
};

const search = { cost: walkCost, estimate: walkEstimate };

const replacing = { cost: passes(2), estimate: replaceEstimate };

const splitting = {
  cost: passes(2),
  estimate: ((target, [, limit]) => {
    const size = sizeOfNode(target);
    // With "" as the separator every character becomes an element.
    return estimate(scale(size, 2 * 0.1), range(0, limit === undefined ? size.max : literalCount(limit, size.max)));
  }) satisfies StaticCost,
};

const joining = {
  cost: ((_args, result) => traversal(sizeOf(result), 2)) satisfies RuntimeCost,
  estimate: ((target, [separator]) => {
    if (target === undefined) return undefined;
    const count = sizeOfNode(target);
    const element = target.element();
    let size: Range = element === undefined ? range(0, 0) : multiply(count, sizeOfNode(element));
    if (separator !== undefined) {
      const gaps = range(Math.max(count.min - 1, 0), Math.max(count.max - 1, 0));
      size = add(size, multiply(sizeOfNode(separator), gaps));
    }
    return estimate(scale(size, 0.1), size);
  }) satisfies StaticCost,
};

export const strings: Library = {
  name: 'cel.lib.ext.strings',
  validators: [formatValidator],
  functions: [
    fn('charAt', [member('string_char_at_int', [STRING, INT], STRING, charAt)]),
    fn('indexOf', [
      member(
        'string_index_of_string',
        [STRING, STRING],
        INT,
        (text: string, part: string) => indexOf(text, part, 0, 'at-offset'),
        search,
      ),
      member(
        'string_index_of_string_int',
        [STRING, STRING, INT],
        INT,
        (text: string, part: string, offset: Int) => indexOf(text, part, offset, 'at-offset'),
        search,
      ),
    ]),
    fn('lastIndexOf', [
      member('string_last_index_of_string', [STRING, STRING], INT, lastIndexOf, search),
      member(
        'string_last_index_of_string_int',
        [STRING, STRING, INT],
        INT,
        (text: string, part: string, offset: Int) => lastIndexOfFrom(text, part, offset, 'at-offset'),
        search,
      ),
    ]),
    fn('lowerAscii', [member('string_lower_ascii', [STRING], STRING, lowerAscii, onePass)]),
    fn('upperAscii', [member('string_upper_ascii', [STRING], STRING, upperAscii, onePass)]),
    fn('trim', [member('string_trim', [STRING], STRING, trimSpace, onePass)]),
    fn('replace', [
      member(
        'string_replace_string_string',
        [STRING, STRING, STRING],
        STRING,
        (text: string, old: string, by: string) => replace(text, old, by, -1),
        replacing,
      ),
      member('string_replace_string_string_int', [STRING, STRING, STRING, INT], STRING, replace, replacing),
    ]),
    fn('split', [
      member(
        'string_split_string',
        [STRING, STRING],
        LIST,
        (text: string, separator: string) => split(text, separator, -1),
        splitting,
      ),
      member('string_split_string_int', [STRING, STRING, INT], LIST, split, splitting),
    ]),
    fn('substring', [
      member('string_substring_int', [STRING, INT], STRING, substring, onePass),
      member('string_substring_int_int', [STRING, INT, INT], STRING, substringBetween, onePass),
    ]),
    fn('join', [
      member('list_join', [LIST], STRING, (of: readonly Value[]) => join(of, ''), joining),
      member('list_join_string', [LIST, STRING], STRING, join, joining),
    ]),
    fn('format', [
      member('string_format', [STRING, list(DYN)], STRING, formatText, {
        soleCost: passes(1),
        estimate: (target) => estimate(scale(sizeOfNode(target), 0.1)),
      }),
    ]),
    fn('strings.quote', [
      overload('strings_quote', [STRING], STRING, quoteLiteral, {
        soleCost: passes(1),
        // At most every character is escaped, and the two quotes are always there.
        estimate: (_target, [text]) => {
          const size = sizeOfNode(text);
          return estimate(scale(size, 0.1), add(range(size.min, size.max * 2), range(2, 2)));
        },
      }),
    ]),
  ],
};
