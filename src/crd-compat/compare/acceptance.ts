/**
 * Decides whether every value that a schema accepts satisfies one more constraint. All constraints of a schema hold at once, so a changed
 * constraint is decided against the old schema: a value that violates it violates the new schema.
 *
 * `yes` is a proof. `no` and `unknown` come with values to try in a whole object, which decides.
 */
import { canonical, remembered } from '../canonical.ts';
import { validator } from '../instance/index.ts';
import { stringsOf } from '../pattern/index.ts';
import type { CrdSchema } from '../schema.ts';
import { type Answer, YES } from './answer.ts';
import { checkNumbers } from './numbers.ts';
import { LARGEST, objectValues } from './objects.ts';

/** The number of values to try; the first one usually suffices. */
const TRIED = 6;

export function checkConstraint(before: CrdSchema, constraint: CrdSchema): Answer {
  if (isTrivial(constraint)) return YES;
  return remembered(['constraint', before, constraint], () => decide(before, constraint));
}

function decide(before: CrdSchema, constraint: CrdSchema): Answer {
  if (before.enum !== undefined) return enumerated(before, constraint);
  switch (kindOf(before)) {
    case 'string':
      return withNull(before, constraint, checkStrings(before, constraint));
    case 'integer':
    case 'number':
      return withNull(before, constraint, checkNumbers(before, constraint));
    case 'int-or-string':
      return withNull(before, constraint, both(checkNumbers(before, constraint), checkStrings(before, constraint)));
    case 'boolean':
      return withNull(before, constraint, enumerated({ ...before, enum: [true, false] }, constraint));
    default:
      return checkStructure(before, constraint);
  }
}

/** Whether a schema accepts a value, rules apart: those need whole objects. */
const accepts = (schema: CrdSchema, value: unknown): boolean =>
  validator(schema, { resource: false }).validate(value).length === 0;

const kindOf = (schema: CrdSchema): string =>
  schema['x-kubernetes-int-or-string'] === true ? 'int-or-string' : (schema.type ?? 'any');

const isTrivial = (constraint: CrdSchema): boolean =>
  Object.values(constraint).every(
    (value) => value === undefined || value === false || value === '' || (Array.isArray(value) && value.length === 0),
  );

function enumerated(before: CrdSchema, constraint: CrdSchema): Answer {
  const allowed = validator({ ...before, 'x-kubernetes-validations': [] }, { resource: false });
  const asked = validator({ ...typed(before), ...constraint }, { resource: false });
  const failing = (before.enum ?? []).filter(
    (value) => allowed.validate(value).length === 0 && asked.validate(value).length > 0,
  );
  return failing.length === 0 ? YES : { answer: 'no', values: failing };
}

/** The type keywords of a schema: a constraint has no type of its own. */
const typed = (before: CrdSchema): CrdSchema => ({
  ...(before.type === undefined ? {} : { type: before.type }),
  ...(before.nullable === true ? { nullable: true } : {}),
  ...(before['x-kubernetes-int-or-string'] === true ? { 'x-kubernetes-int-or-string': true } : {}),
  ...(before.type === undefined && before['x-kubernetes-int-or-string'] !== true
    ? { 'x-kubernetes-preserve-unknown-fields': true }
    : {}),
});

/** A nullable schema also accepts null, which satisfies only some constraints. */
function withNull(before: CrdSchema, constraint: CrdSchema, answer: Answer): Answer {
  if (before.nullable !== true || !accepts(before, null) || accepts({ ...typed(before), ...constraint }, null))
    return answer;
  return { answer: 'no', values: [...(answer.answer === 'yes' ? [] : answer.values), null] };
}

const both = (one: Answer, other: Answer): Answer => {
  if (one.answer === 'yes') return other;
  if (other.answer === 'yes') return one;
  return {
    answer: one.answer === 'no' || other.answer === 'no' ? 'no' : 'unknown',
    values: [...one.values, ...other.values],
  };
};

function checkStrings(before: CrdSchema, constraint: CrdSchema): Answer {
  const lengths = checkLengths(before, constraint);
  if (lengths !== undefined) return lengths;
  const accepted = stringsOf(textual(before));
  const asked = stringsOf(textual(constraint));
  const lacking = asked.lacks(accepted, TRIED);
  if (lacking === undefined) return YES;
  return { answer: lacking.texts.length > 0 ? 'no' : 'unknown', values: lacking.texts };
}

const judgedByMore = ['pattern', 'format', 'enum', 'allOf', 'anyOf', 'oneOf', 'not'] as const;

/** If only lengths are constrained, no automaton is needed. */
function checkLengths(before: CrdSchema, constraint: CrdSchema): Answer | undefined {
  if (judgedByMore.some((name) => before[name] !== undefined || constraint[name] !== undefined)) return undefined;
  const { minLength: shortest = 0, maxLength: longest = Number.POSITIVE_INFINITY } = before;
  const values: string[] = [];
  const fails = (length: number): void => {
    if (length >= shortest && length <= longest) values.push('a'.repeat(length));
  };
  if (constraint.minLength !== undefined) fails(Math.min(constraint.minLength - 1, longest));
  if (constraint.maxLength !== undefined) fails(Math.max(constraint.maxLength + 1, shortest));
  return values.length === 0 ? YES : { answer: 'no', values };
}

/** `stringsOf` reads a whole schema; int-or-string has a keyword in place of a type. */
const textual = ({ 'x-kubernetes-int-or-string': mixed, ...schema }: CrdSchema) =>
  mixed === true ? { ...schema, type: 'string' } : schema;

/** Lists, objects and values without a type: implied by the old schema, or decided by searching for values. */
function checkStructure(before: CrdSchema, constraint: CrdSchema): Answer {
  if (implied(before, constraint)) return YES;
  if (isTooLarge(constraint)) return { answer: 'no', values: [] };
  const { values, complete } = objectValues(before, constraint, checkConstraint);
  const asked = validator({ ...typed(before), ...constraint }, { resource: false });
  const allowed = validator({ ...before, 'x-kubernetes-validations': [] }, { resource: false });
  const failing = values.filter(
    (value) => asked.validate(value).length > 0 && (isLong(value) || allowed.validate(value).length === 0),
  );
  if (failing.length === 0 && complete) return YES;
  return { answer: failing.length > 0 ? 'no' : 'unknown', values: failing.slice(0, TRIED) };
}

/** Long lists are slow to validate and are only tried in the whole object. */
const isLong = (value: unknown): boolean => Array.isArray(value) && value.length > LONG;
const LONG = 200;

/** Whether a violating value would be too large to generate. */
const isTooLarge = ({ maxItems = 0, maxProperties = 0 }: CrdSchema): boolean =>
  Math.max(maxItems, maxProperties) >= LARGEST;

/** Whether the keywords of a schema imply a constraint, keyword by keyword. */
function implied(before: CrdSchema, constraint: CrdSchema): boolean {
  return Object.entries(constraint).every(([name, value]) => {
    if (value === undefined || value === false) return true;
    const same = (before as Readonly<Record<string, unknown>>)[name];
    if (same !== undefined && canonical(same) === canonical(value)) return true;
    return impliedBy[name]?.(before, constraint) ?? false;
  });
}

const parts = (schema: CrdSchema): readonly CrdSchema[] => [schema, ...(schema.allOf ?? []).flatMap(parts)];

const impliedBy: Readonly<Record<string, (before: CrdSchema, constraint: CrdSchema) => boolean>> = {
  minItems: (before, constraint) => parts(before).some(({ minItems = 0 }) => minItems >= (constraint.minItems ?? 0)),
  minProperties: (before, constraint) => {
    const asked = constraint.minProperties ?? 0;
    return parts(before).some(
      ({ minProperties = 0, required = [] }) => Math.max(minProperties, new Set(required).size) >= asked,
    );
  },
  maxItems: (before, constraint) =>
    parts(before).some(({ maxItems }) => maxItems !== undefined && maxItems <= (constraint.maxItems ?? 0)) ||
    mostItems(before) <= (constraint.maxItems ?? 0),
  maxProperties: (before, constraint) =>
    parts(before).some(
      ({ maxProperties }) => maxProperties !== undefined && maxProperties <= (constraint.maxProperties ?? 0),
    ) || hasFewFields(before, constraint.maxProperties ?? 0),
  required: (before, { required = [] }) => {
    const known = new Set(parts(before).flatMap((part) => part.required ?? []));
    return required.every((name) => known.has(name));
  },
  properties: (before, { properties = {} }) =>
    Object.entries(properties).every(([name, asked]) => {
      const field = before.properties?.[name];
      return field !== undefined && checkConstraint(field, asked).answer === 'yes';
    }),
  items: (before, { items }) =>
    before.items !== undefined && items !== undefined && checkConstraint(before.items, items).answer === 'yes',
  allOf: (before, { allOf = [] }) => allOf.every((branch) => checkConstraint(before, branch).answer === 'yes'),
  anyOf: (before, { anyOf = [] }) =>
    anyOf.some((branch) => isTrivial(branch) || implied(before, branch)) ||
    before.anyOf?.every((old) => anyOf.some((now) => implied(narrowed(before, old), now))) === true,
  not: (before, { not }) =>
    before.not !== undefined &&
    not !== undefined &&
    implied(narrowed({ ...typed(before), ...fieldsOf(before) }, not), before.not),
};

const fieldsOf = ({ properties, items }: CrdSchema): CrdSchema => ({
  ...(properties === undefined ? {} : { properties }),
  ...(items === undefined ? {} : { items }),
});

/** The schema that accepts what a schema and one of its branches accept. */
function narrowed(schema: CrdSchema, branch: CrdSchema): CrdSchema {
  const { anyOf: _, ...rest } = schema;
  const properties = { ...rest.properties };
  for (const [name, asked] of Object.entries(branch.properties ?? {})) {
    const field = properties[name];
    if (field !== undefined) properties[name] = { ...field, allOf: [...(field.allOf ?? []), asked] };
  }
  return { ...rest, ...(rest.properties === undefined ? {} : { properties }), allOf: [...(rest.allOf ?? []), branch] };
}

/** The largest number of items in a list whose items must differ. */
function mostItems({ items = {}, ...list }: CrdSchema): number {
  const type = list['x-kubernetes-list-type'];
  if (type === 'set') return countOf(items);
  const keys = list['x-kubernetes-list-map-keys'] ?? [];
  if (type !== 'map' || keys.length === 0) return Number.POSITIVE_INFINITY;
  return keys.map((key) => countOf(items.properties?.[key] ?? {})).reduce((all, each) => all * each, 1);
}

/** An upper bound for the number of values of a schema. */
function countOf({ type, enum: listed, minimum, maximum, nullable }: CrdSchema): number {
  const more = nullable === true ? 1 : 0;
  if (listed !== undefined) return listed.length + more;
  if (type === 'boolean') return 2 + more;
  if (type !== 'integer' || minimum === undefined || maximum === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, Math.floor(maximum) - Math.ceil(minimum) + 1) + more;
}

/** Whether an object can have at most `most` fields, because it keeps only the fields that its schema names. */
export const hasFewFields = (schema: CrdSchema, most: number): boolean =>
  schema.properties !== undefined &&
  schema.additionalProperties === undefined &&
  schema['x-kubernetes-preserve-unknown-fields'] !== true &&
  Object.keys(schema.properties).length <= most;
