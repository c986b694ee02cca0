/**
 * Pairs of definitions with several versions and no conversion webhook: two schemas of one field, in every order in which versions are
 * added, served, preferred and stored. Each object is read through every other version and written back there.
 */
import type { CrdSchema, Json } from '../../../src/crd-compat/index.ts';
import { samples } from '../../../src/crd-compat/instance/index.ts';
import { definition, group } from './corpus/index.ts';
import { type Case, isValid } from './judge.ts';

const text: CrdSchema = { type: 'string' };
const count: CrdSchema = { type: 'integer' };
const open: CrdSchema = { 'x-kubernetes-preserve-unknown-fields': true };
const object = (properties: Readonly<Record<string, CrdSchema>>, more: CrdSchema = {}): CrdSchema => ({
  type: 'object',
  properties: { note: text, ...properties },
  ...more,
});
const list = (items: CrdSchema, more: CrdSchema = {}): CrdSchema => ({ type: 'array', items, ...more });
const map = (additionalProperties: CrdSchema): CrdSchema => ({ type: 'object', additionalProperties });
const keyed = (key: string): CrdSchema =>
  list(
    { type: 'object', required: ['a', 'b'], properties: { a: text, b: text } },
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] },
  );
const ruled = (schema: CrdSchema, rule: string): CrdSchema => ({ ...schema, 'x-kubernetes-validations': [{ rule }] });

/** What differs between two versions: `more` has or accepts more than `less`, if either does. */
const subjects: readonly {
  readonly name: string;
  readonly more: CrdSchema | undefined;
  readonly less: CrdSchema | undefined;
}[] = [
  { name: 'a field', more: text, less: undefined },
  { name: 'a field with a default', more: { ...text, default: 'blue' }, less: undefined },
  { name: 'a flag with a default', more: { type: 'boolean', default: true }, less: undefined },
  { name: 'an enum with a default', more: { ...text, enum: ['s', 'm'], default: 's' }, less: undefined },
  { name: 'an object with a default', more: { ...object({ a: text }), default: { a: 'x' } }, less: undefined },
  { name: 'a list with a default', more: { ...list(text), default: ['x'] }, less: undefined },
  {
    name: 'a field of an object with a default',
    more: { ...object({ a: text, b: { ...text, default: 'x' } }), default: {} },
    less: { ...object({ a: text }), default: {} },
  },
  {
    name: 'a field with a default in items',
    more: list(object({ a: text, b: { ...text, default: 'x' } })),
    less: list(object({ a: text })),
  },
  {
    name: 'a field with a default in the values of a map',
    more: map(object({ a: text, b: { ...count, default: 3 } })),
    less: map(object({ a: text })),
  },
  { name: 'a default', more: { ...text, default: 'blue' }, less: text },
  { name: 'another default', more: { ...text, default: 'blue' }, less: { ...text, default: 'red' } },
  { name: 'unknown fields', more: { ...object({ a: text }), ...open }, less: object({ a: text }) },
  { name: 'unknown fields in items', more: list({ ...object({}), ...open }), less: list(object({})) },
  { name: 'unknown fields, of which one is named', more: { type: 'object', ...open }, less: object({ a: count }) },
  { name: 'a map', more: map(text), less: object({ a: text }) },
  { name: 'a list in a list', more: list(list(object({ a: text, b: text }))), less: list(list(object({ a: text }))) },
  { name: 'an enum value', more: { ...text, enum: ['s', 'm'] }, less: { ...text, enum: ['s'] } },
  { name: 'any text', more: text, less: { ...text, pattern: '^a+$' } },
  { name: 'larger numbers', more: { ...count, maximum: 20 }, less: { ...count, maximum: 10 } },
  { name: 'null', more: { ...text, nullable: true }, less: text },
  {
    name: 'null, which has a default',
    more: { ...text, nullable: true, default: 'x' },
    less: { ...text, default: 'x' },
  },
  { name: 'an optional field', more: object({ a: text }), less: object({ a: text }, { required: ['a'] }) },
  {
    name: 'an optional field that has a default',
    more: object({ a: text }),
    less: object({ a: { ...text, default: 'x' } }, { required: ['a'] }),
  },
  { name: 'any items', more: list(text), less: list({ ...text, enum: ['s'] }) },
  { name: 'equal items', more: list(text), less: list(text, { 'x-kubernetes-list-type': 'set' }) },
  {
    name: 'equal keys',
    more: list(object({ a: text }, { required: ['a'] })),
    less: list(object({ a: text }, { required: ['a'] }), {
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    }),
  },
  { name: 'other keys', more: keyed('a'), less: keyed('b') },
  { name: 'a number or a text', more: { 'x-kubernetes-int-or-string': true }, less: count },
  { name: 'a text for a number', more: text, less: count },
  { name: 'a number with a fraction', more: { type: 'number' }, less: count },
  { name: 'an object for a text', more: object({ a: text }), less: text },
  { name: 'a list for an object', more: list(object({ a: text })), less: object({ a: text }) },
  { name: 'a map for a list', more: map(text), less: list(text) },
  { name: 'no rule', more: text, less: ruled(text, "self != 'red'") },
  { name: 'no rule about the object', more: object({ a: text }), less: ruled(object({ a: text }), 'has(self.a)') },
  { name: 'no rule about updates', more: text, less: ruled(text, 'self == oldSelf') },
  { name: 'no address', more: text, less: ruled(text, 'isIP(self)') },
  {
    name: 'no resource',
    more: { type: 'object', ...open },
    less: { type: 'object', 'x-kubernetes-embedded-resource': true, ...open },
  },
  {
    name: 'alternatives',
    more: object({ a: text, b: text }),
    less: object({ a: text, b: text }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] }),
  },
  { name: 'nothing', more: text, less: text },
];

type Side = 'more' | 'less';
type Versions = Readonly<Record<string, Side>>;

/** Changes of the versions; `*` marks the storage version, `-` one that is not served. */
export const moves: readonly (readonly [before: Versions, after: Versions])[] = [
  [{ 'v1*': 'more' }, { 'v1*': 'more', v2: 'less' }],
  [{ 'v1*': 'less' }, { 'v1*': 'less', v2: 'more' }],
  [{ 'v1*': 'more' }, { v1: 'more', 'v2*': 'less' }],
  [{ 'v1*': 'less' }, { v1: 'less', 'v2*': 'more' }],
  [{ 'v1*': 'more' }, { 'v1*': 'more', v1beta1: 'less' }],
  [{ 'v1*': 'less' }, { 'v1*': 'less', v1beta1: 'more' }],
  [{ 'v1*': 'less' }, { 'v1*': 'more', v2: 'less' }],
  [{ 'v1*': 'less' }, { v1: 'more', 'v2*': 'less' }],
  [{ 'v1*': 'less' }, { 'v1*': 'more', v1alpha1: 'less' }],
  [
    { 'v1*': 'more', 'v2-': 'less' },
    { 'v1*': 'more', v2: 'less' },
  ],
  [
    { 'v1*': 'more', v1beta1: 'more' },
    { 'v1*': 'more', v1beta1: 'more', v2: 'less' },
  ],
  [
    { 'v1*': 'less', v2: 'less' },
    { 'v1*': 'less', v2: 'more' },
  ],
  [
    { 'v1*': 'less', v2: 'less' },
    { 'v1*': 'more', v2: 'less' },
  ],
  [
    { 'v1*': 'more', 'v2-': 'less' },
    { v1: 'more', 'v2*': 'less' },
  ],
];

const nameOf = (mark: string): string => mark.replace(/[*-]/g, '');

const schemaOf = (field: CrdSchema | undefined): CrdSchema => ({
  type: 'object',
  properties: { spec: object(field === undefined ? {} : { field }) },
});

interface Sampling {
  readonly seed: number;
  /** The number of objects for each way from one version to another. */
  readonly objects: number;
}

export function versionCases([before, after]: (typeof moves)[number], { seed, objects }: Sampling): Case[] {
  return subjects.map((subject, index) => {
    const definitionOf = (versions: Versions): Json =>
      definition({}, (spec) => {
        spec.versions = Object.entries(versions).map(([mark, side]) => ({
          name: nameOf(mark),
          served: !mark.includes('-'),
          storage: mark.includes('*'),
          schema: { openAPIV3Schema: schemaOf(subject[side]) },
        }));
      });
    const served = Object.entries(after).filter(([mark]) => !mark.includes('-'));
    const sideBefore = (name: string) =>
      Object.entries(before).find(([mark]) => mark === name || mark === `${name}*`)?.[1];
    const isOld = ([mark, side]: readonly [string, Side]) => sideBefore(nameOf(mark)) === side;
    const given = served.flatMap((from) =>
      served
        // What two versions did to each other before, they may do.
        .filter((to) => to !== from && !(isOld(from) && isOld(to)))
        .flatMap((to) => {
          const resource = { apiVersion: `${group}/${nameOf(from[0])}`, kind: 'Widget', name: 'sample' };
          const made = samples(schemaOf(subject[from[1]]), {
            seed: seed + index,
            count: objects,
            resource,
          }) as Json[];
          return made.map((each) => ({ object: each, through: nameOf(to[0]) }));
        }),
    );
    const definitionBefore = definitionOf(before);
    return {
      name: `${subject.name}: ${JSON.stringify([before, after])}`,
      before: definitionBefore,
      after: definitionOf(after),
      objects: given.map((each) => each.object),
      through: given.map((each) => each.through),
      later: given.map((each) => !isValid(each.object, definitionBefore)),
    };
  });
}
