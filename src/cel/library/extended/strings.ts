/** cel-go's strings extension at its newest version (5), with `reverse`, and costs by the size of what comes out. */
import { sizeOf } from '../../cost/size.ts';
import type { Library } from '../../declarations.ts';
import { fn, member, overload, type Range, type RuntimeCost, type StaticCost } from '../../declarations.ts';
import { DYN, INT, list, STRING } from '../../types.ts';
import type { Result, Value } from '../../values.ts';
import {
  add,
  estimate,
  fixed,
  literalCount,
  multiply,
  ONE,
  range,
  saturate,
  scale,
  sizeOfNode,
  subtractUnsigned,
} from '../estimate.ts';
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
  reverse,
  split,
  substring,
  substringBetween,
  upperAscii,
} from '../text-functions.ts';
import { formatText, formatValidator } from './format-string.ts';

type Int = number | bigint;

const LIST = list(STRING);
const LIST_CREATE = 10;
const TRAVERSAL = 0.1;

const size = (value: Result | undefined): number => sizeOf(value ?? null);
const scan = (of: number): number => Math.ceil(of * TRAVERSAL);
const atLeastOne = (of: Range): Range => range(Math.max(of.min, 1), Math.max(of.max, 1));

const transformCost: RuntimeCost = ([text], result) => 1 + scan(size(text)) + size(result);

/** The result is as long as the text. */
const sameLength = {
  cost: transformCost,
  estimate: ((target) => {
    const text = sizeOfNode(target);
    return estimate(add(scale(text, TRAVERSAL), ONE, text), text);
  }) satisfies StaticCost,
};

const trimming = {
  cost: transformCost,
  estimate: ((target) => {
    const text = sizeOfNode(target);
    const result = range(0, text.max);
    return estimate(add(scale(text, TRAVERSAL), ONE, result), result);
  }) satisfies StaticCost,
};

const cutting = {
  cost: transformCost,
  estimate: ((target, [start, end]) => {
    const text = sizeOfNode(target);
    const result = fixed(subtractUnsigned(literalCount(end, text.max), literalCount(start, 0)));
    return estimate(add(scale(text, TRAVERSAL), ONE, result), result);
  }) satisfies StaticCost,
};

const searching = {
  cost: (([text, part]) => scan(size(text) * size(part)) + 1) satisfies RuntimeCost,
  estimate: ((target, [part]) =>
    estimate(add(scale(multiply(sizeOfNode(target), sizeOfNode(part)), TRAVERSAL), ONE))) satisfies StaticCost,
};

const replacing = {
  cost: (([text, old], result) =>
    1 + scan(Math.max(size(text), 1) * Math.max(size(old), 1)) + size(result)) satisfies RuntimeCost,
  estimate: ((target, [old, by]) => {
    const text = sizeOfNode(target);
    const search = scale(multiply(atLeastOne(text), atLeastOne(sizeOfNode(old))), TRAVERSAL);
    const replacement = add(sizeOfNode(by), ONE);
    const result = range(Math.min(text.min, replacement.min), saturate((text.max + 1) * replacement.max));
    return estimate(add(search, result, ONE), result);
  }) satisfies StaticCost,
};

const splitting = {
  cost: (([text], result) => 1 + scan(size(text) + 1) + size(result) + LIST_CREATE) satisfies RuntimeCost,
  estimate: ((target) => {
    const text = sizeOfNode(target);
    const result = range(0, text.max);
    return estimate(add(scale(add(text, ONE), TRAVERSAL), result, fixed(LIST_CREATE), ONE), result);
  }) satisfies StaticCost,
};

const joining = {
  cost: (([of], result) => 1 + scan(size(of) + 1) + size(result)) satisfies RuntimeCost,
  estimate: ((target, [separator]) => {
    const count = sizeOfNode(target);
    const between = separator === undefined ? 0 : sizeOfNode(separator).max;
    const result = range(0, saturate(count.max * (1 + between) + between));
    return estimate(add(scale(add(count, ONE), TRAVERSAL), result, ONE), result);
  }) satisfies StaticCost,
};

const onePass: RuntimeCost = ([text]) => scan(size(text));

export const strings: Library = {
  name: 'cel.lib.ext.strings',
  validators: [formatValidator],
  functions: [
    fn('charAt', [
      member('string_char_at_int', [STRING, INT], STRING, charAt, {
        cost: ([text]) => 1 + scan(size(text)) + 1,
        estimate: (target) => estimate(add(scale(sizeOfNode(target), TRAVERSAL), ONE, ONE), range(0, 1)),
      }),
    ]),
    fn('indexOf', [
      member(
        'string_index_of_string',
        [STRING, STRING],
        INT,
        (text: string, part: string) => indexOf(text, part, 0, 'within-text'),
        searching,
      ),
      member(
        'string_index_of_string_int',
        [STRING, STRING, INT],
        INT,
        (text: string, part: string, offset: Int) => indexOf(text, part, offset, 'within-text'),
        searching,
      ),
    ]),
    fn('lastIndexOf', [
      member('string_last_index_of_string', [STRING, STRING], INT, lastIndexOf, searching),
      member(
        'string_last_index_of_string_int',
        [STRING, STRING, INT],
        INT,
        (text: string, part: string, offset: Int) => lastIndexOfFrom(text, part, offset, 'within-text'),
        searching,
      ),
    ]),
    fn('lowerAscii', [member('string_lower_ascii', [STRING], STRING, lowerAscii, sameLength)]),
    fn('upperAscii', [member('string_upper_ascii', [STRING], STRING, upperAscii, sameLength)]),
    fn('reverse', [member('string_reverse', [STRING], STRING, reverse, sameLength)]),
    fn('trim', [member('string_trim', [STRING], STRING, trimSpace, trimming)]),
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
      member('string_substring_int', [STRING, INT], STRING, substring, cutting),
      member('string_substring_int_int', [STRING, INT, INT], STRING, substringBetween, cutting),
    ]),
    fn('join', [
      member('list_join', [LIST], STRING, (of: readonly Value[]) => join(of, ''), joining),
      member('list_join_string', [LIST, STRING], STRING, join, joining),
    ]),
    fn('format', [
      member('string_format', [STRING, list(DYN)], STRING, formatText, {
        cost: onePass,
        estimate: (target) => estimate(scale(sizeOfNode(target), TRAVERSAL)),
      }),
    ]),
    fn('strings.quote', [
      overload('strings_quote', [STRING], STRING, quoteLiteral, {
        cost: onePass,
        estimate: (_target, [text]) => {
          const of = sizeOfNode(text);
          return estimate(scale(of, TRAVERSAL), add(range(of.min, of.max * 2), range(2, 2)));
        },
      }),
    ]),
  ],
};
