/** Generates random structural schemas, valid objects, and expressions over their fields. */
import type { Schema } from '../../../src/cel/index.ts';
import type { Choices } from './choices.ts';

export interface SchemaCase {
  readonly schema: Schema;
  /** The object as JSON text. */
  readonly object: string;
  readonly expression: string;
}

const names = ['name', 'size', 'a', 'b-c', 'in', 'x__y', 'kind', 'é', 'data', 'items', 'spec'];

/** Generates a schema of an object with limited depth. */
export function schemaCase(choices: Choices): SchemaCase {
  const schema: Schema = { type: 'object', required: ['spec'], properties: { spec: objectSchema(choices, 3) } };
  const places = fieldsOf(schema, 'object', 0);
  const first = predicate(choices, choices.pick(places), 2);
  const expression = choices.chance(40)
    ? `${first} ${choices.pick(['&&', '||', '=='])} ${predicate(choices, choices.pick(places), 2)}`
    : first;
  return { schema, object: instance(choices, schema), expression };
}

function objectSchema(choices: Choices, depth: number): Schema {
  const fields = choices.several(
    2,
    5,
    (index) => names[(index + choices.below(names.length)) % names.length] as string,
  );
  const properties = Object.fromEntries(fields.map((name) => [name, anySchema(choices, depth - 1)]));
  const required = fields.filter(() => choices.chance(40));
  const open = choices.chance(8) ? { 'x-kubernetes-preserve-unknown-fields': true } : {};
  return { type: 'object', properties, required, ...open };
}

function anySchema(choices: Choices, depth: number): Schema {
  const nullable = choices.chance(15) ? { nullable: true } : {};
  switch (choices.below(depth > 0 ? 14 : 9)) {
    case 0:
      return { type: 'integer', ...nullable };
    case 1:
      return { type: 'string', ...nullable };
    case 2:
      return { type: 'string', maxLength: choices.pick([0, 10, 63, 253]), ...nullable };
    case 3:
      return { type: 'boolean', ...nullable };
    case 4:
      return { type: 'number', ...nullable };
    case 5:
      return { type: 'string', format: choices.pick(['date-time', 'date', 'duration', 'byte', 'uuid']), ...nullable };
    case 6:
      return { 'x-kubernetes-int-or-string': true, ...(choices.chance(30) ? { maxLength: 12 } : {}) };
    case 7:
      return { type: 'string', enum: ['Always', 'Never', 'é'], ...nullable };
    case 8:
      return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    case 9:
    case 10:
      return {
        type: 'array',
        items: anySchema(choices, depth - 1),
        ...(choices.chance(50) ? { maxItems: choices.pick([0, 5, 100]) } : {}),
        ...nullable,
      };
    case 11:
      return {
        type: 'object',
        additionalProperties: anySchema(choices, depth - 1),
        ...(choices.chance(50) ? { maxProperties: choices.pick([1, 16]) } : {}),
      };
    case 12:
      return {
        type: 'array',
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, v: { type: 'integer' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        ...(choices.chance(50) ? { maxItems: 20 } : {}),
      };
    default:
      return objectSchema(choices, depth - 1);
  }
}

interface Place {
  readonly path: string;
  readonly schema: Schema;
}

const escapes: Readonly<Record<string, string>> = { 'b-c': 'b__dash__c', in: '__in__', x__y: 'x__underscores__y' };

function fieldsOf(schema: Schema, path: string, depth: number): readonly Place[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
    // A property whose name cannot be written in CEL is not visible to expressions.
    depth > 3 || name === 'é' ? [] : fieldsOf(each, `${path}.${escapes[name] ?? name}`, depth + 1),
  );
  return [{ path, schema }, ...below];
}

/** Generates a bool expression about a field, which is usually true. */
function predicate(choices: Choices, { path, schema }: Place, depth: number): string {
  if (choices.chance(5)) return `${path}.missing == 1`;
  const fields = Object.keys(schema.properties ?? {}).filter((name) => name !== 'é');
  if (fields.length > 0 && choices.chance(60)) {
    const name = choices.pick(fields);
    return `has(${path}.${escapes[name] ?? name})`;
  }
  if (choices.chance(3)) return `${path} == null`;
  if (schema['x-kubernetes-int-or-string'] === true)
    return choices.pick([`${path} == 1`, `type(${path}) == string`, `${path} != 'a'`]);
  switch (schema.type) {
    case 'integer':
      return choices.pick([`${path} + 1 > 2`, `${path} in [1, 2]`, `string(${path}) == '1'`, `${path} == 'x'`]);
    case 'number':
      return choices.pick([`${path} > 1.5`, `${path} * 2.0 < 3.0`, `int(${path}) == 1`, `${path} == 1`]);
    case 'boolean':
      return choices.pick([path, `!${path}`, `${path} ? true : false`]);
    case 'string':
      return textPredicate(choices, path, schema.format);
    case 'array':
      return listPredicate(choices, path, schema, depth);
    case 'object':
      return mapPredicate(choices, path, schema, depth);
    default:
      return `${path} == ${path}`;
  }
}

function textPredicate(choices: Choices, path: string, format: string | undefined): string {
  if (format === 'date-time' || format === 'date') {
    return choices.pick([
      `${path} > timestamp('2024-01-01T00:00:00Z')`,
      `${path}.getFullYear() == 2024`,
      `${path} == ${path}`,
    ]);
  }
  if (format === 'duration') return choices.pick([`${path} < duration('1h')`, `${path}.getSeconds() > 1`]);
  if (format === 'byte') return choices.pick([`size(${path}) > 3`, `${path} == b'abc'`, `string(${path}) == 'a'`]);
  return choices.pick([
    `${path}.startsWith('a')`,
    `${path}.matches('^[a-z]+$')`,
    `size(${path}) < 10`,
    `${path} + '-' + ${path} != 'x'`,
    `${path}.contains('b')`,
    `${path} == 'Always'`,
    `${path}.split(',').all(p, p.size() > 0)`,
    `${path}.replace('a', 'bb').lowerAscii() == 'c'`,
    `isURL(${path}) || isQuantity(${path})`,
    `${path} > 1`,
  ]);
}

function listPredicate(choices: Choices, path: string, schema: Schema, depth: number): string {
  const items = schema.items ?? {};
  const variable = `v${depth}`;
  const inner = depth > 0 ? predicate(choices, { path: variable, schema: items }, depth - 1) : 'true';
  return choices.pick([
    `${path}.all(${variable}, ${inner})`,
    `${path}.exists(${variable}, ${inner})`,
    `${path}.filter(${variable}, ${inner}).size() > 1`,
    `${path}.map(${variable}, ${variable}).size() == 2`,
    `size(${path}) <= 3`,
    `${path} == ${path}`,
    `${path}.all(i, ${variable}, i >= 0 && (${inner}))`,
    `(${path} + ${path}).size() < 9`,
    ...(depth > 0 ? [predicate(choices, { path: `${path}[0]`, schema: items }, depth - 1)] : []),
  ]);
}

function mapPredicate(choices: Choices, path: string, schema: Schema, depth: number): string {
  const values = schema.additionalProperties;
  if (typeof values !== 'object')
    return choices.pick([`has(${path}.name)`, `${path} == ${path}`, `${path}.size() > 1`]);
  const inner = depth > 0 ? predicate(choices, { path: `${path}[k]`, schema: values }, depth - 1) : 'true';
  return choices.pick([
    `${path}.all(k, ${inner})`,
    `'a' in ${path}`,
    `size(${path}) < 5`,
    `${path}.exists(k, k.startsWith('a'))`,
    `${path}.all(k, w, k != '' && w == w)`,
    `${path}.transformList(k, w, k).size() > 0`,
  ]);
}

/** Generates a valid object as JSON text. */
function instance(choices: Choices, schema: Schema): string {
  if (schema.nullable === true && choices.chance(30)) return 'null';
  if (schema['x-kubernetes-int-or-string'] === true) return choices.pick(['1', '"a"', '"50%"']);
  switch (schema.type) {
    case 'integer':
      return choices.pick(['1', '0', '-7', '9007199254740993']);
    case 'number':
      return choices.pick(['1.5', '2', '-0.25', '1e3']);
    case 'boolean':
      return choices.pick(['true', 'false']);
    case 'string':
      return JSON.stringify(text(choices, schema));
    case 'array': {
      const count = Math.min(schema.maxItems ?? 3, choices.below(4));
      const items = Array.from({ length: count }, (_, index) =>
        schema['x-kubernetes-list-type'] === 'map'
          ? `{"name":"n${index}","v":${index}}`
          : instance(choices, schema.items ?? {}),
      );
      return `[${items.join(',')}]`;
    }
    default: {
      const { additionalProperties: values, properties = {}, required = [] } = schema;
      if (typeof values === 'object') return `{"a":${instance(choices, values)}}`;
      const kept = Object.entries(properties).filter(([name]) => required.includes(name) || choices.chance(75));
      return `{${kept.map(([name, each]) => `${JSON.stringify(name)}:${instance(choices, each)}`).join(',')}}`;
    }
  }
}

function text(choices: Choices, schema: Schema): string {
  switch (schema.format) {
    case 'date-time':
      return choices.pick(['2024-02-29T12:00:00Z', '2023-06-15T12:00:00.5+02:00']);
    case 'date':
      return '2024-02-29';
    case 'duration':
      return choices.pick(['1h', '90s', '1.5h']);
    case 'byte':
      return choices.pick(['YWJj', '']);
    default:
      return choices
        .pick((schema.enum as readonly string[] | undefined) ?? ['abc', 'a,b', 'é', ''])
        .slice(0, schema.maxLength);
  }
}
