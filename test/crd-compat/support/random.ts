/** Random structural schemas and random edits of them, such as the API server takes: by far most of them, the rest it says no to. */
import fc, { type GeneratorValue } from 'fast-check';
import type { CrdSchema } from '../../../src/crd-compat/index.ts';
import { validator } from '../../../src/crd-compat/instance/index.ts';

export interface RandomPair {
  readonly before: CrdSchema;
  readonly after: CrdSchema;
}

/** One edit, sometimes two, of a schema of the fields of an object. */
export const randomPairs: fc.Arbitrary<RandomPair> = fc.gen().map((generate) => {
  const dice = new Dice(generate);
  const before = fieldsOf(dice, 3);
  const once = edited(dice, before);
  return { before, after: dice.chance(0.2) ? edited(dice, once) : once };
});

/** A schema with one edit somewhere in it. */
export const randomEdits = (schema: CrdSchema): fc.Arbitrary<CrdSchema> =>
  fc.gen().map((generate) => edited(new Dice(generate), schema));

class Dice {
  readonly #generate: GeneratorValue;

  constructor(generate: GeneratorValue) {
    this.#generate = generate;
  }

  below(bound: number): number {
    return this.#generate(fc.integer, { min: 0, max: bound - 1 });
  }

  chance(part: number): boolean {
    return this.below(1000) < part * 1000;
  }

  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T;
  }
}

const patterns = [
  '^[a-z]+$',
  '^[a-z0-9-]*$',
  'a',
  '^a',
  '^(red|green|blue)$',
  '^[^x]*$',
  '^.{2,4}$',
  '^[A-Z][a-z]*$',
  '^\\d+$',
];
const formats = [
  'ipv4',
  'ipv6',
  'date',
  'date-time',
  'duration',
  'uuid',
  'byte',
  'hostname',
  'cidr',
  'uri',
  'email',
  'unheard-of',
];
const words = ['red', 'green', 'blue', 'a', 'abc', '12', '', '10.0.0.1', 'äö'];
const names = ['alpha', 'beta', 'gamma', 'delta'];

type Keywords = Record<string, unknown>;

function schemaOf(dice: Dice, depth: number): CrdSchema {
  const leaves = [stringOf, stringOf, numberOf, numberOf, () => ({ type: 'boolean' }), intOrStringOf];
  const branches = [fieldsOf, fieldsOf, mapOf, listOf, listOf];
  const make = dice.pick(depth > 0 ? [...leaves, ...branches] : leaves);
  return finished(dice, make(dice, depth - 1) as CrdSchema);
}

/** With what every schema may have: null, and a default that it accepts itself. */
function finished(dice: Dice, schema: CrdSchema): CrdSchema {
  const nullable: CrdSchema = dice.chance(0.1) ? { ...schema, nullable: true } : schema;
  return dice.chance(0.15) ? withDefault(dice, nullable) : nullable;
}

function withDefault(dice: Dice, schema: CrdSchema): CrdSchema {
  const { default: _, ...bare } = schema as Keywords;
  const candidates: readonly unknown[] = [...words, 0, 1, 5, 10, 2.5, true, false, [], ['a'], {}, { key: 'a' }];
  const check = validator(bare as CrdSchema, { resource: false });
  const fitting = candidates.filter((value) => check.validate(value).length === 0);
  return fitting.length === 0 ? (bare as CrdSchema) : ({ ...bare, default: dice.pick(fitting) } as CrdSchema);
}

function stringOf(dice: Dice): CrdSchema {
  const schema: Keywords = { type: 'string' };
  if (dice.chance(0.2)) schema.minLength = dice.below(3);
  if (dice.chance(0.3)) schema.maxLength = 2 + dice.below(6);
  if (dice.chance(0.3)) schema.pattern = dice.pick(patterns);
  else if (dice.chance(0.2)) schema.format = dice.pick(formats);
  if (dice.chance(0.2)) schema.enum = someOf(dice, words);
  if (dice.chance(0.15)) schema['x-kubernetes-validations'] = [dice.pick(stringRules)];
  if (dice.chance(0.15)) Object.assign(schema, dice.pick(stringJunctors));
  return schema as CrdSchema;
}

const stringRules = [
  'self.size() <= 5',
  'self.size() > 0',
  "self != 'red'",
  "self.startsWith('a')",
  'self == oldSelf',
].map((rule) => ({ rule }));
const stringJunctors = [
  { anyOf: [{ pattern: '^a' }, { pattern: '^[0-9]' }] },
  { oneOf: [{ maxLength: 2 }, { minLength: 4 }] },
  { allOf: [{ minLength: 1 }, { maxLength: 4 }] },
  { not: { enum: ['red', 'a'] } },
  { not: { pattern: '^b' } },
];

function numberOf(dice: Dice): CrdSchema {
  const type = dice.chance(0.7) ? 'integer' : 'number';
  const schema: Keywords = { type };
  if (dice.chance(0.3)) schema.minimum = dice.below(6) - 2;
  if (dice.chance(0.3)) schema.maximum = 4 + dice.below(20);
  if (schema.minimum !== undefined && dice.chance(0.2)) schema.exclusiveMinimum = true;
  if (schema.maximum !== undefined && dice.chance(0.2)) schema.exclusiveMaximum = true;
  if (dice.chance(0.15)) schema.multipleOf = dice.pick([1, 2, 3, 5, 10, 0.5]);
  if (dice.chance(0.15)) schema.enum = someOf(dice, [0, 1, 2, 5, 10, 20]);
  if (dice.chance(0.2)) schema.format = dice.pick(type === 'integer' ? ['int32', 'int64'] : ['float', 'double']);
  if (type === 'integer' && dice.chance(0.2)) schema['x-kubernetes-validations'] = [dice.pick(integerRules)];
  if (dice.chance(0.1)) Object.assign(schema, dice.pick(numberJunctors));
  return schema as CrdSchema;
}

const integerRules = [
  'self <= 10',
  'self >= 0',
  'self != 5',
  'self % 2 == 0',
  'self in [1, 2, 5, 10]',
  'self >= oldSelf',
].map((rule) => ({ rule }));
const numberJunctors = [
  { anyOf: [{ maximum: 2 }, { minimum: 5 }] },
  { oneOf: [{ minimum: 3 }, { multipleOf: 2 }] },
  { not: { enum: [5] } },
  { allOf: [{ maximum: 15 }] },
];

function intOrStringOf(dice: Dice): CrdSchema {
  const schema: Keywords = { 'x-kubernetes-int-or-string': true };
  if (dice.chance(0.3)) schema.anyOf = [{ type: 'integer' }, { type: 'string' }];
  if (dice.chance(0.2)) schema.pattern = '^[0-9]+%?$';
  if (dice.chance(0.2)) schema.maximum = 10;
  return schema as CrdSchema;
}

function fieldsOf(dice: Dice, depth: number): CrdSchema {
  const own = someOf(dice, names);
  const properties = Object.fromEntries(own.map((name) => [name, schemaOf(dice, depth - 1)]));
  const schema: Keywords = { type: 'object', properties: { note: { type: 'string' }, ...properties } };
  const required = own.filter(() => dice.chance(0.25));
  if (required.length > 0) schema.required = required;
  if (dice.chance(0.1)) schema['x-kubernetes-preserve-unknown-fields'] = true;
  if (dice.chance(0.05)) schema.minProperties = dice.below(3);
  if (dice.chance(0.05)) schema.maxProperties = 2 + dice.below(4);
  if (dice.chance(0.1)) schema['x-kubernetes-validations'] = [{ rule: dice.pick(fieldRules(own)) }];
  if (dice.chance(0.1) && own.length > 1) {
    const branches = own.slice(0, 2).map((name) => ({ required: [name] }));
    Object.assign(
      schema,
      dice.pick([{ anyOf: branches }, { oneOf: branches }, { not: { required: own.slice(0, 2) } }]),
    );
  }
  return schema as CrdSchema;
}

const fieldRules = (own: readonly string[]): string[] => [
  `has(self.${own[0]})`,
  `!has(self.${own[0]}) || has(self.note)`,
  "!has(self.note) || self.note != 'forbidden'",
];

function mapOf(dice: Dice, depth: number): CrdSchema {
  const schema: Keywords = { type: 'object', additionalProperties: schemaOf(dice, depth - 1) };
  if (dice.chance(0.2)) schema.minProperties = dice.below(2);
  if (dice.chance(0.2)) schema.maxProperties = 1 + dice.below(3);
  if (dice.chance(0.15)) schema['x-kubernetes-map-type'] = 'atomic';
  return schema as CrdSchema;
}

function listOf(dice: Dice, depth: number): CrdSchema {
  const schema: Keywords = { type: 'array' };
  const sort = dice.pick(['atomic', 'set', 'map', 'plain', 'plain']);
  if (sort === 'set') Object.assign(schema, { 'x-kubernetes-list-type': 'set', items: setItemOf(dice) });
  else if (sort === 'map') Object.assign(schema, keyedList(dice, depth));
  else schema.items = schemaOf(dice, depth - 1);
  if (sort === 'atomic') schema['x-kubernetes-list-type'] = 'atomic';
  if (dice.chance(0.2)) schema.minItems = dice.below(2);
  if (dice.chance(0.2)) schema.maxItems = 1 + dice.below(3);
  return schema as CrdSchema;
}

/** Without rules: one that looks back has nothing to look at in a set. */
function setItemOf(dice: Dice): CrdSchema {
  const { 'x-kubernetes-validations': _, ...item } = stringOf(dice);
  return item;
}

function keyedList(dice: Dice, depth: number): Keywords {
  const items = fieldsOf(dice, Math.min(depth, 1)) as Keywords;
  const properties = { ...(items.properties as object), key: { type: 'string' } };
  const required = [...((items.required as string[] | undefined) ?? []), 'key'];
  return {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['key'],
    items: { ...items, properties, required },
  };
}

/** At least one. */
function someOf<T>(dice: Dice, all: readonly T[]): T[] {
  const some = all.filter(() => dice.chance(0.45));
  return some.length > 0 ? some : [dice.pick(all)];
}

/** One edit somewhere in the schema; keys of keyed lists are left alone. */
function edited(dice: Dice, schema: CrdSchema): CrdSchema {
  const inner: ((next: CrdSchema) => CrdSchema)[] = [];
  const parts: CrdSchema[] = [];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (name === 'note' || name === 'key') continue;
    parts.push(property);
    inner.push((next) => ({ ...schema, properties: { ...schema.properties, [name]: next } }));
  }
  if (schema.items !== undefined && schema['x-kubernetes-list-type'] !== 'set') {
    parts.push(schema.items);
    inner.push((items) => ({ ...schema, items }));
  }
  if (typeof schema.additionalProperties === 'object') {
    parts.push(schema.additionalProperties);
    inner.push((additionalProperties) => ({ ...schema, additionalProperties }));
  }
  if (parts.length > 0 && dice.chance(0.75)) {
    const place = dice.below(parts.length);
    return (inner[place] as (next: CrdSchema) => CrdSchema)(edited(dice, parts[place] as CrdSchema));
  }
  return editedHere(dice, schema);
}

function editedHere(dice: Dice, schema: CrdSchema): CrdSchema {
  const { default: fallback, ...bare } = schema as Keywords;
  const change = dice.below(10);
  if (change === 0) return withDefault(dice, schema);
  if (change === 1) return bare as CrdSchema;
  if (change === 2) return { ...schema, nullable: schema.nullable !== true };
  if (change === 3 && schema['x-kubernetes-list-map-keys'] === undefined) return finished(dice, schemaOf(dice, 2));
  const edit = editsByType[schema.type ?? 'int-or-string'] ?? editsByType.boolean;
  const next = (edit as (dice: Dice, schema: CrdSchema) => CrdSchema)(dice, bare as CrdSchema);
  const fits = fallback !== undefined && validator(next, { resource: false }).validate(fallback).length === 0;
  return fits ? ({ ...next, default: fallback } as CrdSchema) : next;
}

/** Another schema of the same type lends one keyword, or one is dropped. */
const borrowed =
  (make: (dice: Dice) => CrdSchema) =>
  (dice: Dice, schema: CrdSchema): CrdSchema => {
    const own = schema as Keywords;
    const kept = Object.keys(own).filter((key) => key !== 'type' && key !== 'x-kubernetes-int-or-string');
    const lent = Object.entries(make(dice) as Keywords).filter(([key]) => key !== 'type');
    if (kept.length > 0 && (lent.length === 0 || dice.chance(0.35))) {
      const { [dice.pick(kept)]: _, ...rest } = own;
      return valid(rest as CrdSchema);
    }
    if (lent.length === 0) return schema;
    const [key, value] = dice.pick(lent);
    return valid({ ...own, [key]: value } as CrdSchema);
  };

/** An exclusive bound needs a bound. */
function valid(schema: CrdSchema): CrdSchema {
  const { exclusiveMinimum, exclusiveMaximum, ...rest } = schema;
  return {
    ...rest,
    ...(exclusiveMinimum !== undefined && rest.minimum !== undefined ? { exclusiveMinimum } : {}),
    ...(exclusiveMaximum !== undefined && rest.maximum !== undefined ? { exclusiveMaximum } : {}),
  };
}

function editedObject(dice: Dice, schema: CrdSchema): CrdSchema {
  const { properties } = schema;
  if (properties === undefined) return { ...schema, maxProperties: 1 + dice.below(4) };
  const own = Object.keys(properties).filter((name) => name !== 'note' && name !== 'key');
  const name = dice.pick([...own, ...names]);
  const required = schema.required ?? [];
  const change = dice.below(6);
  if (change === 0) return { ...schema, properties: { ...properties, [name]: schemaOf(dice, 1) } };
  if (change === 1 && own.includes(name) && schema['x-kubernetes-validations'] === undefined) {
    const { [name]: _, ...kept } = properties;
    return { ...schema, properties: kept, required: required.filter((each) => each !== name) };
  }
  if (change === 2 && own.includes(name)) return { ...schema, required: [...new Set([...required, name])] };
  if (change === 3) return { ...schema, required: required.filter((each) => each !== name || each === 'key') };
  if (change === 4) {
    const { 'x-kubernetes-preserve-unknown-fields': open, ...closed } = schema;
    return open === true ? closed : { ...schema, 'x-kubernetes-preserve-unknown-fields': true };
  }
  return { ...schema, 'x-kubernetes-validations': [{ rule: dice.pick(fieldRules([...own, 'note'])) }] };
}

function editedList(dice: Dice, schema: CrdSchema): CrdSchema {
  const change = dice.below(3);
  if (change === 0) return { ...schema, minItems: dice.below(3) };
  if (change === 1) return { ...schema, maxItems: 1 + dice.below(4) };
  const { 'x-kubernetes-list-type': sort, 'x-kubernetes-list-map-keys': _, ...plain } = schema;
  if (sort !== undefined) return plain;
  return schema.items?.type === 'string' ? { ...schema, 'x-kubernetes-list-type': 'set' } : plain;
}

const editsByType: Readonly<Record<string, (dice: Dice, schema: CrdSchema) => CrdSchema>> = {
  string: borrowed(stringOf),
  integer: borrowed(numberOf),
  number: borrowed(numberOf),
  boolean: borrowed(() => ({ type: 'boolean', enum: [true] }) as CrdSchema),
  'int-or-string': borrowed(intOrStringOf),
  object: editedObject,
  array: editedList,
};
