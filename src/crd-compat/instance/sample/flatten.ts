/** Flattens a schema into alternatives without allOf, anyOf and oneOf, which are merged into each. */
import { canonical } from '../../canonical.ts';
import type { CrdSchema } from '../../schema.ts';

export interface Alternative {
  /** The schema without allOf, anyOf, oneOf and not. */
  readonly schema: CrdSchema;
  /** The schemas that a value must not match. */
  readonly not: readonly CrdSchema[];
  /** Further patterns and formats that a string must match. */
  readonly texts: readonly CrdSchema[];
}

/** Alternatives multiply; further ones are ignored. */
const MAX_ALTERNATIVES = 32;

export function alternativesOf(schema: CrdSchema): readonly Alternative[] {
  const known = KNOWN.get(schema);
  if (known !== undefined) return known;
  const found = expand(schema);
  KNOWN.set(schema, found);
  return found;
}

/** A cache: the alternatives of a schema never change. */
const KNOWN = new WeakMap<CrdSchema, readonly Alternative[]>();

function expand(schema: CrdSchema): readonly Alternative[] {
  const { allOf = [], anyOf = [], oneOf = [], not, ...plain } = schema;
  let found: readonly Alternative[] = [{ schema: plain, not: not === undefined ? [] : [not], texts: [] }];
  for (const each of allOf) found = combine(found, alternativesOf(each));
  if (anyOf.length > 0) found = combine(found, anyOf.flatMap(alternativesOf));
  if (oneOf.length > 0) {
    // A value must match exactly one of them, so the others are negated.
    const ways = oneOf.flatMap((each) => {
      const others = oneOf.filter((other) => other !== each);
      return alternativesOf(each).map((way) => ({ ...way, not: [...way.not, ...others] }));
    });
    found = combine(found, ways);
  }
  return found;
}

function combine(left: readonly Alternative[], right: readonly Alternative[]): readonly Alternative[] {
  const pairs = right.flatMap((second) => left.map((first) => [first, second] as const));
  return pairs.slice(0, MAX_ALTERNATIVES).map(([first, second]) => ({
    schema: merge(first.schema, second.schema),
    not: [...first.not, ...second.not],
    texts: [...first.texts, ...second.texts, ...textsOf(second.schema)],
  }));
}

const textsOf = ({ pattern, format }: CrdSchema): readonly CrdSchema[] =>
  pattern === undefined && format === undefined
    ? []
    : [{ ...(pattern === undefined ? {} : { pattern }), ...(format === undefined ? {} : { format }) }];

/** The intersection of two schemas. Of two patterns or formats the first is kept here; the second goes to `texts`. */
function merge(first: CrdSchema, second: CrdSchema): CrdSchema {
  const merged: Record<string, unknown> = { ...second, ...first };
  for (const [keyword, choose] of BOUNDS) {
    const values = [first[keyword], second[keyword]].filter((each) => each !== undefined) as number[];
    if (values.length > 0) merged[keyword] = choose(...values);
  }
  if (first.exclusiveMinimum === true || second.exclusiveMinimum === true) merged.exclusiveMinimum = true;
  if (first.exclusiveMaximum === true || second.exclusiveMaximum === true) merged.exclusiveMaximum = true;
  const required = [...(first.required ?? []), ...(second.required ?? [])];
  if (required.length > 0) merged.required = [...new Set(required)];
  if (first.enum !== undefined && second.enum !== undefined) merged.enum = common(first.enum, second.enum);
  if (first.items !== undefined && second.items !== undefined) merged.items = both(first.items, second.items);
  const names = new Set([...Object.keys(first.properties ?? {}), ...Object.keys(second.properties ?? {})]);
  if (names.size > 0) {
    merged.properties = Object.fromEntries(
      [...names].map((name) => [name, both(first.properties?.[name], second.properties?.[name])]),
    );
  }
  const { additionalProperties: left } = first;
  const { additionalProperties: right } = second;
  if (typeof left === 'object' && typeof right === 'object') merged.additionalProperties = both(left, right);
  return merged;
}

const BOUNDS = [
  ['minimum', Math.max],
  ['maximum', Math.min],
  ['minLength', Math.max],
  ['maxLength', Math.min],
  ['minItems', Math.max],
  ['maxItems', Math.min],
  ['minProperties', Math.max],
  ['maxProperties', Math.min],
  ['multipleOf', Math.max],
] as const;

/** For nested schemas the second one is added as allOf: the first one defines the fields. */
function both(first: CrdSchema | undefined, second: CrdSchema | undefined): CrdSchema {
  if (first === undefined) return second ?? {};
  return second === undefined ? first : { ...first, allOf: [...(first.allOf ?? []), second] };
}

function common(left: readonly unknown[], right: readonly unknown[]): readonly unknown[] {
  const texts = new Set(right.map(canonical));
  return left.filter((each) => texts.has(canonical(each)));
}

/** Names of fields whose presence alone makes a `not` schema match, and which samples must therefore avoid. */
export function namesToAvoid(not: readonly CrdSchema[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const schema of not) {
    const { required = [], properties = {}, anyOf = [], oneOf = [] } = schema;
    const bare = Object.values(properties).every((each) => Object.keys(each).length === 0);
    if (bare && required.length > 0) names.add(required[0] as string);
    for (const name of namesToAvoid([...anyOf, ...oneOf])) names.add(name);
  }
  return names;
}
