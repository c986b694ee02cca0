/** Candidate numbers, strings and booleans for a schema: values at its bounds, the simplest first. */
import { stringsOf } from '../../pattern/index.ts';
import type { CrdSchema } from '../../schema.ts';
import { stringFormat } from '../formats/index.ts';
import type { Alternative } from './flatten.ts';
import type { Mentioned } from './literals.ts';

/** Not all candidates are valid. They are generated lazily, because the first one often suffices. */
export function* scalarsFor(way: Alternative, mentioned: Mentioned): Generator<unknown> {
  const { default: preset, enum: allowed, nullable } = way.schema;
  if (preset !== undefined && preset !== null) yield preset;
  if (allowed !== undefined) {
    yield* allowed;
    return;
  }
  yield* byType(way, mentioned);
  if (nullable === true) yield null;
}

function* byType(way: Alternative, mentioned: Mentioned): Generator<unknown> {
  const { schema } = way;
  if (schema['x-kubernetes-int-or-string'] === true) {
    yield* numbersFor(way, mentioned, true);
    yield* textsFor(way, mentioned);
    return;
  }
  switch (schema.type) {
    case 'boolean':
      yield* [false, true];
      return;
    case 'integer':
      yield* numbersFor(way, mentioned, true);
      return;
    case 'number':
      yield* numbersFor(way, mentioned, false);
      return;
    case 'string':
      yield* textsFor(way, mentioned);
      return;
    default:
      yield* textsFor(way, mentioned);
      yield* numbersFor(way, mentioned, false);
      yield* [false, true];
  }
}

/** The bounds of `not` schemas count too: values just beyond them do not match. */
function numbersFor({ schema, not }: Alternative, mentioned: Mentioned, whole: boolean): readonly number[] {
  const found: number[] = [1, 0, 2, 10, 100, -1];
  for (const each of [schema, ...not.flatMap(withInner)]) {
    const { minimum, maximum, multipleOf } = each;
    const bounds = [minimum, maximum].filter((bound) => bound !== undefined);
    for (const value of each.enum ?? []) if (typeof value === 'number') bounds.push(value);
    for (const bound of bounds) found.push(bound, bound + 1, bound - 1, bound + 0.5, bound - 0.5);
    const factor = multipleOf ?? schema.multipleOf;
    if (factor !== undefined) {
      for (const bound of bounds) found.push(Math.ceil(bound / factor) * factor, Math.floor(bound / factor) * factor);
      for (const bound of bounds)
        found.push(Math.ceil(bound / factor + 1) * factor, Math.floor(bound / factor - 1) * factor);
      found.push(factor, 2 * factor, -factor, factor + 1, factor + 0.5, 3 * factor);
    }
  }
  found.push(...mentioned.numbers);
  if (schema.type === 'integer' || whole) found.push(2 ** 31, -(2 ** 31) - 1, 1000, 1_000_000);
  else found.push(1.5, 0.1, -0.5, 1e10, 1e39);
  return whole ? found.filter(Number.isInteger) : found;
}

function withInner(schema: CrdSchema): readonly CrdSchema[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const inner = [...allOf, ...anyOf, ...oneOf, ...(not === undefined ? [] : [not])];
  return [schema, ...inner.flatMap(withInner)];
}

const LONGEST = 5000;
const LONG = `example${'a'.repeat(LONGEST)}`;

/** Natural values come first: an example of the format, a simple word, then any string that matches the patterns. */
function* textsFor(way: Alternative, mentioned: Mentioned): Generator<string> {
  const { schema, not, texts } = way;
  const { minLength = 0, maxLength = LONGEST, pattern } = schema;
  for (const { format } of [schema, ...texts]) yield* stringFormat(format)?.examples ?? [];
  yield 'example'.slice(0, maxLength);
  const bounds = [schema, ...not.flatMap(withInner)];
  if (
    pattern !== undefined ||
    texts.length > 0 ||
    bounds.some(({ format }) => format !== undefined) ||
    not.length > 0
  ) {
    yield* examples(way, [], 1);
    yield* examples(way, [], MOST_EXAMPLES);
  }
  yield* ['a', 'b', 'c', 'other', 'A', '1', 'example-2', '10%', '', ...mentioned.texts];
  const lengths = bounds.flatMap((each) => [each.minLength, each.maxLength].filter((length) => length !== undefined));
  for (const length of [minLength, ...lengths]) {
    for (const near of [length, length + 1, length - 1]) {
      if (near >= 0 && near <= LONGEST) yield* ['a'.repeat(near), LONG.slice(0, near)];
    }
  }
}

/** Strings that satisfy the constraints of the rules: each alone, in pairs, and all together. */
export function textsByRules(way: Alternative, { patterns }: Mentioned): readonly string[] {
  const asked = patterns.slice(0, MOST_PATTERNS);
  const pairs = asked.flatMap((first, index) => asked.slice(index + 1).map((second) => [first, second]));
  const groups = [...asked.map((each) => [each]), ...pairs, ...(asked.length > 2 ? [asked] : [])];
  return groups.flatMap((group) => examples(way, group, 2));
}

const MOST_PATTERNS = 6;

const MOST_EXAMPLES = 8;

function examples({ schema, not, texts }: Alternative, patterns: readonly string[], count: number): readonly string[] {
  const allOf = [...texts, ...not.map((each) => ({ not: each }))];
  return stringsOf({ ...schema, type: 'string', patterns, allOf }).examples(count);
}
