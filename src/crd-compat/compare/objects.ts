/**
 * Values of lists, objects and fields without a type that are likely to violate a constraint: every size around its limits, with and
 * without every field it names, with fields that satisfy and that violate it.
 */
import { alikeLists, sample, samples, validator } from '../instance/index.ts';
import { stringsOf } from '../pattern/index.ts';
import type { CrdSchema } from '../schema.ts';
import type { Answer } from './answer.ts';
import { ANYTHING } from './object-schema.ts';

interface Candidates {
  readonly values: readonly unknown[];
  /** Whether no other value can give a different result. */
  readonly complete: boolean;
}

/** The largest generated list or object; a larger one would not help the reader of a report. */
export const LARGEST = 2_500;
const MAX_VALUES = 512;

/** Decides a constraint on a part of the value. It is passed in, because its module uses this one. */
type CheckConstraint = (before: CrdSchema, constraint: CrdSchema) => Answer;

export function objectValues(before: CrdSchema, constraint: CrdSchema, checkConstraint: CheckConstraint): Candidates {
  if (before.type === 'array') return { values: listValues(before, constraint, checkConstraint), complete: false };
  if (before.type === 'object') return fieldValues(before, constraint, checkConstraint);
  return { values: ['text', '', 1, -1, 0.5, true, {}, { unnamed: 'value' }, [], ['text']], complete: false };
}

function sizesAround(
  schema: CrdSchema,
  names: readonly ('minItems' | 'maxItems' | 'minProperties' | 'maxProperties')[],
): number[] {
  const own = names.flatMap((name) => schema[name] ?? []).flatMap((size) => [size, size + 1, Math.max(0, size - 1)]);
  const inside = [
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.not === undefined ? [] : [schema.not]),
  ];
  return [...own, ...inside.flatMap((branch) => sizesAround(branch, names))];
}

const sizes = (before: CrdSchema, constraint: CrdSchema, names: Parameters<typeof sizesAround>[1]): number[] =>
  [...new Set([...sizesAround(constraint, names), ...sizesAround(before, names), 0, 1, 2])]
    .filter((size) => size <= LARGEST)
    .sort((left, right) => left - right);

function listValues(before: CrdSchema, constraint: CrdSchema, checkConstraint: CheckConstraint): unknown[] {
  const items = before.items ?? {};
  const failing = constraint.items === undefined ? undefined : checkConstraint(items, constraint.items);
  const special = failing === undefined || failing.answer === 'yes' ? [] : failing.values.map((value) => [value]);
  const wantedSizes = sizes(before, constraint, ['minItems', 'maxItems']);
  const listType = before['x-kubernetes-list-type'];
  if (listType === 'map' || listType === 'set') {
    const different = differentItems(before, Math.max(...wantedSizes));
    return [...special, ...wantedSizes.filter((size) => size <= different.most).map(different.list)];
  }
  const one = sample(items);
  return one === undefined
    ? special
    : [...special, ...wantedSizes.map((size) => Array.from({ length: size }, () => one))];
}

interface DifferentItems {
  readonly most: number;
  readonly list: (length: number) => readonly unknown[];
}

/** Items that can be in one list together: each has its own keys, or its own value. */
function differentItems(list: CrdSchema, count: number): DifferentItems {
  const items = list.items ?? {};
  const [key] = list['x-kubernetes-list-map-keys'] ?? [];
  if (key === undefined) {
    const pool = distinct(items, count);
    return { most: pool.length, list: (length) => pool.slice(0, length) };
  }
  const item = sample(items);
  if (typeof item !== 'object' || item === null) return { most: 0, list: () => [] };
  const keys = distinct(items.properties?.[key] ?? {}, count);
  return { most: keys.length, list: alikeLists(item, key, keys) };
}

/** `distinct` returns different values of a schema, simple ones first. */
export function distinct(schema: CrdSchema, count: number): unknown[] {
  const accepted = (values: readonly unknown[]): unknown[] => {
    const checks = validator(schema, { resource: false });
    return values.filter((value) => checks.validate(value).length === 0).slice(0, count);
  };
  if (count <= 0) return [];
  if (schema.enum !== undefined) return accepted(schema.enum);
  if (schema.type === 'string') {
    const counted = Array.from({ length: count }, (_, index) => `item${index + 1}`);
    // If only lengths are constrained, the shortest and the longest value are representative.
    const tried = judgedByMore.some((name) => schema[name] !== undefined)
      ? counted
      : [...new Set([counted[0], counted.at(-1)])];
    const areAccepted = accepted(tried).length === tried.length;
    return areAccepted ? counted : [...stringsOf(schema).examples(Math.min(count, FEW))];
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const step = schema.multipleOf ?? 1;
    const first = schema.minimum ?? (schema.maximum === undefined ? step : schema.maximum - count * step);
    const from = Math.ceil(first / step);
    return accepted(Array.from({ length: count }, (_, index) => (from + index) * step));
  }
  return [...samples(schema, { seed: 1, count: Math.min(count, FEW) })];
}

const judgedByMore = ['pattern', 'format', 'allOf', 'anyOf', 'oneOf', 'not', 'x-kubernetes-validations'] as const;

/** The number of values that are searched for one by one. */
const FEW = 16;

function fieldValues(before: CrdSchema, constraint: CrdSchema, checkConstraint: CheckConstraint): Candidates {
  const values = before.additionalProperties;
  if (values !== undefined && values !== false)
    return { values: mapValues(before, constraint, values === true ? {} : values), complete: false };
  // The constraints of the old schema on other fields determine with which of them it accepts the constrained ones.
  const conditions = junctorsOf(before);
  const mentioned = mentions(constraint, conditions);
  const names = [...mentioned.keys()];
  const open = before['x-kubernetes-preserve-unknown-fields'] === true;
  // A field that the old schema neither names nor keeps is never present.
  const schemas = names.map((name) => before.properties?.[name] ?? (open ? ANYTHING : undefined));
  const choices = schemas.map((field, index) =>
    fieldChoices(field, mentioned.get(names[index] ?? '') ?? [], checkConstraint),
  );
  const others = new Fillers(before, names);
  const combined = combinations(names, choices, others.required);
  const bySize = sizedObjects(before, constraint, others.required);
  const complete =
    isAboutPresence(constraint) &&
    isAboutPresence(conditions) &&
    combined.complete &&
    bySize.length === 0 &&
    schemas.every((field, index) => field === undefined || (choices[index]?.length ?? 0) > 1) &&
    others.complete &&
    !(open && before.minProperties !== undefined);
  return { values: [...combined.values.map((value) => others.fill(value)), ...bySize], complete };
}

/** The fields that no constraint mentions: the required ones, and those that make an object large enough. */
class Fillers {
  readonly required: Readonly<Record<string, unknown>>;
  /** Whether a value was found for each field that could matter. */
  readonly complete: boolean;
  readonly #optional: Readonly<Record<string, unknown>>;
  readonly #fewest: number;

  constructor(schema: CrdSchema, mentioned: readonly string[]) {
    const { properties = {}, required = [], minProperties = 0 } = schema;
    const always = required.filter((name) => !mentioned.includes(name));
    const optional = Object.keys(properties)
      .filter((name) => !mentioned.includes(name) && !always.includes(name))
      .sort()
      .slice(0, minProperties);
    this.required = samplesOf(always, properties);
    this.#optional = samplesOf(optional, properties);
    this.#fewest = minProperties;
    this.complete = [this.required, this.#optional].every(
      (found, index) => Object.keys(found).length === (index === 0 ? always : optional).length,
    );
  }

  fill(object: Readonly<Record<string, unknown>>): unknown {
    const missing = this.#fewest - Object.keys(object).length;
    return missing <= 0
      ? object
      : { ...object, ...Object.fromEntries(Object.entries(this.#optional).slice(0, missing)) };
  }
}

function samplesOf(
  names: readonly string[],
  properties: Readonly<Record<string, CrdSchema>>,
): Readonly<Record<string, unknown>> {
  const found = names.map((name) => [name, sample(properties[name] ?? ANYTHING)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** Returns objects whose number of fields is around the bounds. */
function sizedObjects(before: CrdSchema, constraint: CrdSchema, base: Readonly<Record<string, unknown>>): unknown[] {
  if (sizesAround(constraint, ['minProperties', 'maxProperties']).length === 0) return [];
  const optional = Object.keys(before.properties ?? {})
    .filter((name) => !Object.hasOwn(base, name))
    .sort();
  const object: Record<string, unknown> = { ...base };
  const found: unknown[] = [{ ...object }];
  for (const name of optional.slice(0, 64)) {
    const value = sample(before.properties?.[name] ?? {});
    if (value === undefined) continue;
    object[name] = value;
    found.push({ ...object });
  }
  return found;
}

function mapValues(before: CrdSchema, constraint: CrdSchema, values: CrdSchema): unknown[] {
  const value = sample(values) ?? 'value';
  const bySize = sizes(before, constraint, ['minProperties', 'maxProperties']).map((size) =>
    Object.fromEntries(Array.from({ length: size }, (_, index) => [`key${index + 1}`, value])),
  );
  const names = [...mentions(constraint, junctorsOf(before)).keys()];
  const byName = combinations(
    names,
    names.map(() => [ABSENT, value]),
    {},
  );
  return [
    ...bySize,
    ...byName.values,
    ...byName.values.flatMap((named) => bySize.map((sized) => ({ ...sized, ...named }))),
  ];
}

const branchesOf = (schema: CrdSchema): readonly CrdSchema[] => [
  ...(schema.allOf ?? []),
  ...(schema.anyOf ?? []),
  ...(schema.oneOf ?? []),
  ...(schema.not === undefined ? [] : [schema.not]),
];

/** The part of a schema besides its fields and sizes. */
function junctorsOf({ allOf, anyOf, oneOf, not }: CrdSchema): CrdSchema {
  return {
    ...(allOf === undefined ? {} : { allOf }),
    ...(anyOf === undefined ? {} : { anyOf }),
    ...(oneOf === undefined ? {} : { oneOf }),
    ...(not === undefined ? {} : { not }),
  };
}

/** The fields that constraints mention, each with its constraints. */
function mentions(...demands: readonly CrdSchema[]): Map<string, CrdSchema[]> {
  const found = new Map<string, CrdSchema[]>();
  const visit = (schema: CrdSchema): void => {
    for (const name of schema.required ?? []) if (!found.has(name)) found.set(name, []);
    for (const [name, asked] of Object.entries(schema.properties ?? {}))
      found.set(name, [...(found.get(name) ?? []), asked]);
    for (const branch of branchesOf(schema)) visit(branch);
  };
  for (const each of demands) visit(each);
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Whether a constraint only concerns which fields are present. */
function isAboutPresence(constraint: CrdSchema): boolean {
  const known = new Set(['required', 'allOf', 'anyOf', 'oneOf', 'not', 'properties']);
  const fields = Object.values(constraint.properties ?? {});
  return (
    Object.keys(constraint).every((name) => known.has(name)) &&
    fields.every((field) => Object.keys(field).length === 0) &&
    branchesOf(constraint).every(isAboutPresence)
  );
}

const ABSENT = Symbol('absent');

function fieldChoices(
  field: CrdSchema | undefined,
  asked: readonly CrdSchema[],
  checkConstraint: CheckConstraint,
): readonly unknown[] {
  if (field === undefined) return [ABSENT];
  const failing = asked.flatMap((schema) => {
    const answer = checkConstraint(field, schema);
    return answer.answer === 'yes' ? [] : answer.values.slice(0, 1);
  });
  const meeting = asked.map((schema) => sample({ ...field, allOf: [...(field.allOf ?? []), schema] }));
  const usual = sample(field);
  const values = [usual, ...meeting, ...failing].filter((value) => value !== undefined);
  const distinctValues = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  return [ABSENT, ...distinctValues.slice(0, 5)];
}

function combinations(
  names: readonly string[],
  choices: readonly (readonly unknown[])[],
  base: Readonly<Record<string, unknown>>,
): { readonly values: readonly Readonly<Record<string, unknown>>[]; readonly complete: boolean } {
  let values: Readonly<Record<string, unknown>>[] = [base];
  let complete = true;
  for (const [index, name] of names.entries()) {
    const options = choices[index] ?? [];
    const next = values.flatMap((value) =>
      options.map((option) => (option === ABSENT ? value : { ...value, [name]: option })),
    );
    if (next.length > MAX_VALUES) complete = false;
    values = next.slice(0, MAX_VALUES);
  }
  return { values, complete };
}
