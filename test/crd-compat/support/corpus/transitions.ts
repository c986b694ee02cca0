/** Rules with oldSelf that are added: each with an update that was accepted and is refused. */
import type { CrdSchema, Json } from '../../../../src/crd-compat/index.ts';
import { definition, type Pair, widget } from './shape.ts';

interface Row {
  readonly name: string;
  readonly before: CrdSchema;
  readonly rule: string;
  readonly optional?: boolean;
  readonly from: unknown;
  readonly to: unknown;
}

const text: CrdSchema = { type: 'string' };
const count: CrdSchema = { type: 'integer' };
const entry: CrdSchema = { type: 'object', required: ['name'], properties: { name: text, port: count } };
const entries: CrdSchema = {
  type: 'array',
  maxItems: 4,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
};

const rows: readonly Row[] = [
  { name: 'a string', before: text, rule: 'self == oldSelf', from: 'a', to: 'b' },
  { name: 'one of an enum', before: { ...text, enum: ['s', 'm'] }, rule: 'self == oldSelf', from: 's', to: 'm' },
  { name: 'a number that may only grow', before: count, rule: 'self >= oldSelf', from: 2, to: 1 },
  { name: 'a state that is final', before: text, rule: "oldSelf != 'done' || self == 'done'", from: 'done', to: 'new' },
  {
    name: 'an int-or-string',
    before: { 'x-kubernetes-int-or-string': true },
    rule: 'self == oldSelf',
    from: 1,
    to: '50%',
  },
  {
    name: 'a whole object',
    before: { type: 'object', properties: { size: count, colour: text } },
    rule: 'self == oldSelf',
    from: { size: 1 },
    to: { size: 1, colour: 'red' },
  },
  {
    name: 'a field that must stay set',
    before: { type: 'object', properties: { size: count } },
    rule: '!has(oldSelf.size) || has(self.size)',
    from: { size: 1 },
    to: {},
  },
  {
    name: 'a list that only grows',
    before: { type: 'array', maxItems: 4, items: { ...text, maxLength: 9 } },
    rule: 'oldSelf.all(each, each in self)',
    from: ['a'],
    to: ['b'],
  },
  {
    name: 'a value where the old one is optional',
    before: count,
    rule: '!oldSelf.hasValue() || self == oldSelf.value()',
    optional: true,
    from: 1,
    to: 2,
  },
];

const ruled = (schema: CrdSchema, { rule, optional }: Pick<Row, 'rule' | 'optional'>): CrdSchema => ({
  ...schema,
  'x-kubernetes-validations': [{ rule, ...(optional === true ? { optionalOldSelf: true } : {}) }],
});
const inSpec = (subject: CrdSchema): Json =>
  definition({ type: 'object', properties: { spec: { type: 'object', properties: { subject } } } });

const expected = {
  kind: 'transition-rule-added',
  stored: 'breaking',
  manifests: 'breaking',
  reason: 'an update of an object that exists is refused, also if a manifest makes it',
} as const;

const pair = (name: string, [before, after]: readonly [Json, Json], [from, to]: readonly [Json, Json]): Pair => ({
  ...expected,
  name: `transition rule added to ${name}`,
  before,
  after,
  objects: [widget(from, 'object')],
  updates: [to],
});

export const transitionPairs: readonly Pair[] = [
  ...rows.map((row) =>
    pair(
      row.name,
      [inSpec(row.before), inSpec(ruled(row.before, row))],
      [{ spec: { subject: row.from } }, { spec: { subject: row.to } }],
    ),
  ),
  pair(
    'the items of a list with keys',
    [inSpec({ ...entries, items: entry }), inSpec({ ...entries, items: ruled(entry, { rule: 'self == oldSelf' }) })],
    [{ spec: { subject: [{ name: 'a', port: 1 }] } }, { spec: { subject: [{ name: 'a', port: 2 }] } }],
  ),
  pair(
    'the root',
    [definition(root()), definition(ruled(root(), { rule: 'self.spec == oldSelf.spec' }))],
    [{ spec: { size: 1 } }, { spec: { size: 2 } }],
  ),
  pair(
    'a status that is a subresource',
    [withStatus(text), withStatus(ruled(text, { rule: 'self == oldSelf' }))],
    [{ status: { phase: 'a' } }, { status: { phase: 'b' } }],
  ),
];

function root(): CrdSchema {
  return {
    type: 'object',
    required: ['spec'],
    properties: { spec: { type: 'object', properties: { size: count } } },
  };
}

function withStatus(phase: CrdSchema): Json {
  return definition(
    { type: 'object', properties: { status: { type: 'object', properties: { phase } } } },
    ({ versions }) => Object.assign(versions[0] ?? {}, { subresources: { status: {} } }),
  );
}
