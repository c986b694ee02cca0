/** Random structural schemas with all that the API server looks at, and random values that are right or nearly so. */
import fc from 'fast-check';
import type { CrdSchema, ValidationRule } from '../../../../src/crd-compat/index.ts';
import { samples } from '../../../../src/crd-compat/instance/index.ts';

const FORMATS =
  'bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor rgbcolor byte password date duration datetime date-time k8s-short-name k8s-long-name int32 quantity'.split(
    ' ',
  );

/** Valid and almost valid strings of every format, and strings that lengths and patterns distinguish. */
export const TEXTS = [
  '',
  'a',
  'b',
  'ab',
  'abc',
  'aaaa',
  'A',
  '10',
  '1.5',
  '10%',
  'é',
  '😀',
  '😀😀',
  'a-b',
  'a.b',
  '-a',
  'A.b',
  'x'.repeat(64),
  'a b',
  '507f1f77bcf86cd799439011',
  '507f1f77bcf86cd79943901g',
  'https://example.com/',
  'http://a:b',
  'http://[::1]:80/',
  'http://[::1',
  'mailto:a@b',
  '/path',
  'path',
  '*',
  'http://a b/',
  'http://a/%zz',
  'http://u:p@h/',
  'ann@example.com',
  'Ann <ann@example.com>',
  'a@',
  '@b',
  'a@b',
  '"a b"@c',
  'a@[127.0.0.1]',
  'a.@b',
  'a@b (note)',
  'g: a@b;',
  'example.com',
  'ex_ample.com',
  'a'.repeat(64),
  '1.com',
  '192.0.2.1',
  '192.0.2.01',
  '192.0.2.256',
  '1.2.3',
  '::ffff:1.2.3.4',
  '::1',
  '2001:db8::1',
  'fe80::1%eth0',
  '1::2::3',
  '192.0.2.0/24',
  '192.0.2.0/33',
  '::/0',
  '::1/129',
  '10.0.0.0/08',
  '00:00:5e:00:53:01',
  '00-00-5e-00-53-01',
  '0000.5e00.5301',
  '00005e005301',
  '00:00:5e:00:53',
  '123e4567-e89b-42d3-a456-426614174000',
  '123E4567E89B42D3A456426614174000',
  '123e4567-e89b-32d3-a456-426614174000',
  '123e4567-e89b-52d3-a456-426614174000',
  '123e4567-e89b-12d3-a456-42661417400',
  '0321751043',
  '978-0321751041',
  '978-0321751042',
  '080442957X',
  '4111-1111-1111-1111',
  '4111111111111112',
  '123-45-6789',
  '123 45 6789',
  '123456789',
  '#fff',
  'fff',
  '#ffff',
  'rgb(1,2,3)',
  'rgb( 1 , 2 , 256 )',
  'YQ==',
  'YQ=',
  'YWJj',
  'a+/=',
  '2006-01-02',
  '2006-02-29',
  '2004-02-29',
  '2006-13-01',
  '1h',
  '5 minutes',
  '1d',
  '1',
  '1h30m',
  'five',
  '2006-01-02T15:04:05Z',
  '2006-01-02t15:04:05z',
  '2006-01-02T15:04:05.123+01:00',
  '2006-01-02T24:04:05Z',
  '2006-01-02T15:04:05',
  '2006-01-02T15:04:05Zt',
  '2006-01-02 15:04:05Z',
];

const NUMBERS = [
  -3, -1, 0, 1, 2, 3, 4, 5, 6, 10, 100, 1.5, 2.5, -0.5, 0.1, 1.0000000001, 2147483647, 2147483648, -2147483649,
  9007199254740991, 1e19, 1e40,
];

const PATTERNS = ['^a', 'b$', '^[a-c]*$', '^\\d+$', '[A-Z]', '^.{2}$', '^(?i)AB', '\\p{L}', '^$', '^a|b$', '(?s)^.*$'];

const optional = <T>(arbitrary: fc.Arbitrary<T>, weight = 3): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight }, { arbitrary, weight: 1 });

/** Three times out of four. */
const usual = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 1 }, { arbitrary, weight: 3 });

const small = fc.integer({ min: 0, max: 4 });
const bound = fc.constantFrom(-1, 0, 1, 2, 3, 5, 10, 1.5, 2.5, 0.5, 2147483647, 4294967296);
const flag = fc.boolean();

const defined = <T extends object>(schema: T): T =>
  Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)) as T;

const validations = fc
  .record({
    minimum: optional(bound),
    maximum: optional(bound),
    exclusiveMinimum: optional(flag),
    exclusiveMaximum: optional(flag),
    multipleOf: optional(fc.constantFrom(1, 2, 3, 2.5, 0.5, 0.1)),
    minLength: optional(small),
    maxLength: optional(fc.integer({ min: 0, max: 12 })),
    pattern: optional(fc.constantFrom(...PATTERNS)),
    enum: optional(
      fc.uniqueArray(fc.oneof(fc.constantFrom(...TEXTS.slice(0, 12)), fc.constantFrom(...NUMBERS.slice(0, 13))), {
        minLength: 1,
        maxLength: 4,
      }),
      6,
    ),
  })
  .map(defined) as fc.Arbitrary<CrdSchema>;

/** What stands under allOf, anyOf, oneOf and not of a value without parts. */
const alternatives = fc.array(validations, { minLength: 1, maxLength: 3 });

const junctors = fc
  .record({
    allOf: optional(alternatives, 5),
    anyOf: optional(alternatives, 4),
    oneOf: optional(alternatives, 5),
    not: optional(validations, 5),
  })
  .map(defined) as fc.Arbitrary<CrdSchema>;

const withRules = (schema: CrdSchema, rules: readonly string[]): fc.Arbitrary<CrdSchema> => {
  const rule = fc.record({ rule: fc.constantFrom(...rules), message: optional(fc.constant('says no')) }).map(defined);
  const optionalRule = fc.constant({ rule: '!oldSelf.hasValue() || oldSelf.value() == self', optionalOldSelf: true });
  const list = fc.array(fc.oneof({ arbitrary: rule, weight: 6 }, { arbitrary: optionalRule, weight: 1 }), {
    minLength: 1,
    maxLength: 2,
  });
  return optional(list, 2).map((found) =>
    found === undefined ? schema : { ...schema, 'x-kubernetes-validations': found as readonly ValidationRule[] },
  );
};

/** Elements of lists that are no maps have no counterpart in the old value: no rule may ask for it. */
function withoutLookingBack(schema: CrdSchema): CrdSchema {
  const { items, properties, additionalProperties, 'x-kubernetes-validations': rules, ...rest } = schema;
  const kept = rules?.filter(({ rule }) => !rule.includes('oldSelf'));
  return defined({
    ...rest,
    ...(kept === undefined || kept.length === 0 ? {} : { 'x-kubernetes-validations': kept }),
    items: items === undefined ? undefined : withoutLookingBack(items),
    additionalProperties:
      typeof additionalProperties === 'object' ? withoutLookingBack(additionalProperties) : additionalProperties,
    properties:
      properties === undefined
        ? undefined
        : Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, withoutLookingBack(each)])),
  }) as CrdSchema;
}

const INTEGER_RULES = ['self > 1', 'self != 5', 'self % 2 == 0', 'self == oldSelf', 'self >= oldSelf', '10 / self > 2'];
const NUMBER_RULES = ['self > 1.0', 'self != 2.5', 'self <= oldSelf'];
const TEXT_RULES = [
  "self.startsWith('a')",
  'size(self) < 3',
  "self.matches('^[a-c]*$')",
  'self == oldSelf',
  "self in ['a', 'ab', '10']",
  'int(self) > 2',
];
const TIMED: Readonly<Record<string, readonly string[]>> = {
  'date-time': ["self > timestamp('2006-01-02T15:04:05Z')", 'self == oldSelf'],
  date: ["self > timestamp('2004-02-29T00:00:00Z')"],
  duration: ["self > duration('61m')", 'self <= oldSelf'],
  byte: ['size(self) > 1', "self == b'a'"],
};

const nullable = (arbitrary: fc.Arbitrary<CrdSchema>): fc.Arbitrary<CrdSchema> =>
  fc
    .tuple(arbitrary, fc.integer({ min: 0, max: 4 }))
    .map(([schema, chance]) => (chance === 0 ? { ...schema, nullable: true } : schema));

const integer = fc
  .tuple(validations, junctors, optional(fc.constantFrom('int32', 'int64', 'date')))
  .chain(([keywords, more, format]) =>
    withRules(defined({ type: 'integer', ...keywords, ...more, format }) as CrdSchema, INTEGER_RULES),
  );
const number = fc
  .tuple(validations, junctors, optional(fc.constantFrom('float', 'double')))
  .chain(([keywords, more, format]) =>
    withRules(defined({ type: 'number', ...keywords, ...more, format }) as CrdSchema, NUMBER_RULES),
  );
const text = fc
  .tuple(validations, junctors)
  .chain(([keywords, more]) =>
    withRules({ type: 'string', ...keywords, ...more, maxLength: keywords.maxLength ?? 64 }, TEXT_RULES),
  );
const formatted = fc.tuple(fc.constantFrom(...FORMATS), optional(validations, 4)).chain(([format, more]) => {
  const schema: CrdSchema = {
    type: 'string',
    ...(more?.pattern === undefined ? {} : { pattern: more.pattern }),
    format,
    maxLength: 64,
  };
  const rules = TIMED[format];
  return rules === undefined ? fc.constant(schema) : withRules(schema, rules);
});
const boolean = withRules({ type: 'boolean' }, ['self', '!self || oldSelf', 'self == oldSelf']);
const intOrString = fc.tuple(validations, flag).map(
  ([keywords, anyOf]): CrdSchema => ({
    'x-kubernetes-int-or-string': true,
    ...(anyOf ? { anyOf: [{ type: 'integer' }, { type: 'string' }] } : {}),
    ...keywords,
  }),
);
const open: fc.Arbitrary<CrdSchema> = fc.constant({ 'x-kubernetes-preserve-unknown-fields': true });

const scalar = nullable(fc.oneof(integer, number, text, formatted, boolean, intOrString));

const NAMES = ['a', 'b', 'c', 'd-e', 'namespace', 'size'];

const lists = (items: fc.Arbitrary<CrdSchema>): fc.Arbitrary<CrdSchema> =>
  fc
    .record({
      items: items.map(withoutLookingBack),
      minItems: optional(small),
      maxItems: fc.integer({ min: 1, max: 4 }),
    })
    .chain((schema) =>
      withRules(defined({ type: 'array', ...schema }) as CrdSchema, [
        'self.size() < 3',
        'self.size() >= oldSelf.size()',
      ]),
    );

/** Elements of sets must not be null, and have no rules or defaults of their own that matter here. */
const plainScalar = fc.oneof(integer, text, boolean);
const sets = fc
  .record({ items: plainScalar.map(withoutLookingBack), maxItems: fc.integer({ min: 1, max: 4 }) })
  .map((schema): CrdSchema => ({ type: 'array', ...schema, 'x-kubernetes-list-type': 'set' }));

const keyedLists = (value: fc.Arbitrary<CrdSchema>): fc.Arbitrary<CrdSchema> =>
  fc.record({ key: plainScalar, second: optional(plainScalar), value, maxItems: fc.integer({ min: 1, max: 4 }) }).map(
    ({ key, second, value, maxItems }): CrdSchema => ({
      type: 'array',
      maxItems,
      items: {
        type: 'object',
        required: second === undefined ? ['k'] : ['k', 'l'],
        properties: { k: key, ...(second === undefined ? {} : { l: second }), v: value },
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': second === undefined ? ['k'] : ['k', 'l'],
    }),
  );

const objects = (property: fc.Arbitrary<CrdSchema>): fc.Arbitrary<CrdSchema> =>
  fc
    .record({
      properties: fc.dictionary(fc.constantFrom(...NAMES), property, { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
      required: optional(fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }), 1),
      minProperties: optional(small, 6),
      maxProperties: optional(small, 8),
      'x-kubernetes-preserve-unknown-fields': optional(fc.constant(true), 4),
      presets: flag,
      seed: fc.nat(1000),
      oneOf: optional(fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }), 5),
      not: optional(fc.constantFrom(...NAMES), 6),
      anyOf: optional(alternatives, 6),
    })
    .chain(({ presets, seed, oneOf, not, anyOf, ...schema }) => {
      const names = Object.keys(schema.properties);
      const junctor = {
        ...(oneOf === undefined ? {} : { oneOf: oneOf.map((name) => ({ required: [name] })) }),
        ...(not === undefined ? {} : { not: { required: [not] } }),
        ...(anyOf === undefined
          ? {}
          : { anyOf: anyOf.map((each) => ({ properties: { [names[0] as string]: each } })) }),
      };
      const properties = presets
        ? Object.fromEntries(names.map((name) => [name, preset(schema.properties[name] as CrdSchema, seed)]))
        : schema.properties;
      const first = names[0] as string;
      const field = FIELD_NAMES[first] ?? first;
      return withRules(defined({ type: 'object', ...schema, properties, ...junctor }) as CrdSchema, [
        `has(self.${field})`,
        `!has(self.${field})`,
        `has(self.${field}) == has(oldSelf.${field})`,
        'true',
      ]);
    });

/** As rules write the names that are no identifiers. */
const FIELD_NAMES: Readonly<Record<string, string>> = { 'd-e': 'd__dash__e', namespace: '__namespace__' };

/** With a default that it takes, where it has one. */
function preset(schema: CrdSchema, seed: number): CrdSchema {
  const [value] = samples(schema, { seed, count: 2 }).slice(-1);
  return value === undefined || value === null || seed % 3 === 0 ? schema : { ...schema, default: value };
}

const maps = (value: fc.Arbitrary<CrdSchema>): fc.Arbitrary<CrdSchema> =>
  fc
    .record({
      additionalProperties: fc.oneof(
        { arbitrary: value, weight: 4 },
        { arbitrary: fc.constant(true as boolean | CrdSchema), weight: 1 },
      ),
      minProperties: optional(small, 6),
      maxProperties: fc.integer({ min: 1, max: 4 }),
      'x-kubernetes-preserve-unknown-fields': optional(fc.constant(true), 6),
    })
    .map((schema) => defined({ type: 'object', ...schema }) as CrdSchema);

const embedded: fc.Arbitrary<CrdSchema> = fc.constant({
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  'x-kubernetes-preserve-unknown-fields': true,
});

const nested = (depth: number): fc.Arbitrary<CrdSchema> => {
  if (depth === 0) return scalar;
  const inner = nested(depth - 1);
  return fc.oneof(
    { arbitrary: scalar, weight: 4 },
    { arbitrary: nullable(objects(inner)), weight: 4 },
    { arbitrary: nullable(maps(inner)), weight: 1 },
    { arbitrary: nullable(lists(inner)), weight: 2 },
    { arbitrary: sets, weight: 1 },
    { arbitrary: keyedLists(inner), weight: 1 },
    { arbitrary: open, weight: 1 },
    { arbitrary: embedded, weight: 1 },
  );
};

export const schemas: fc.Arbitrary<CrdSchema> = nested(3);

const anything = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.constantFrom(...NUMBERS),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
  fc.constant({ a: { b: 1 }, z: [1, null, { y: 2 }] }),
  fc.constant([{ a: 1 }, 'a', null]),
);

const METADATA = [
  undefined,
  null,
  'text',
  {},
  { name: 'a' },
  { name: 'A/b' },
  { name: 'a', labels: { 'a/b': 'c' } },
  { labels: { a: 1 } },
  { labels: {}, annotations: { 'x y': 'z' } },
  { name: '', unknown: 1, creationTimestamp: null },
  { creationTimestamp: '2006-01-02T15:04:05.5+01:00', generation: 0, finalizers: ['a.b/c'] },
  { finalizers: ['a b'] },
  { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', more: 1 }] },
  { ownerReferences: [{ apiVersion: 'v1', kind: '', name: 'p' }] },
  { namespace: 'Upper' },
];

const resource = fc
  .record({
    apiVersion: fc.constantFrom(undefined, 'v1', 'apps/v1', '', 'a/b/c', 1),
    kind: fc.constantFrom(undefined, 'Pod', '', 'a b', 'Pod'),
    metadata: fc.constantFrom(...METADATA),
    spec: optional(anything),
  })
  .map(defined);

/** Mostly of the schema's shape, with values at and past its bounds; now and then something else altogether. */
export function valuesFor(schema: CrdSchema): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: shaped(schema), weight: 12 }, { arbitrary: anything, weight: 1 });
}

function shaped(schema: CrdSchema): fc.Arbitrary<unknown> {
  if (schema['x-kubernetes-embedded-resource'] === true) return resource;
  if (schema['x-kubernetes-int-or-string'] === true)
    return fc.oneof(fc.constantFrom(...TEXTS.slice(0, 12)), fc.constantFrom(...NUMBERS));
  const allowed = schema.enum ?? [];
  const known = allowed.length === 0 ? [] : [{ arbitrary: fc.constantFrom(...allowed), weight: 3 }];
  switch (schema.type) {
    case 'integer':
    case 'number':
      return fc.oneof({ arbitrary: fc.constantFrom(...NUMBERS), weight: 3 }, ...known);
    case 'string':
      return fc.oneof({ arbitrary: fc.constantFrom(...TEXTS), weight: 3 }, ...known);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valuesFor(schema.items ?? {}), { maxLength: 4 });
    case 'object': {
      const { additionalProperties, properties = {} } = schema;
      if (typeof additionalProperties === 'object') {
        return fc.dictionary(fc.constantFrom('a', 'b', 'c'), valuesFor(additionalProperties), {
          maxKeys: 3,
          noNullPrototype: true,
        });
      }
      const record = Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, usual(valuesFor(each))]),
      );
      return fc
        .tuple(fc.record(record), optional(anything, 7))
        .map(([value, extra]) => defined(extra === undefined ? value : { ...value, z: extra }));
    }
    default:
      return anything;
  }
}
