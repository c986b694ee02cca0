/**
 * Several versions without a conversion webhook: what objects and clients of one lose, or are refused, through another. Each row says
 * which versions there are before and after the change; `*` marks the storage version, `-` one that is not served.
 */
import type { ChangeClass, ChangeKind, CrdSchema, Json } from '../../../../src/crd-compat/index.ts';
import { type DefinitionVersion, definition, type Pair, widget } from './shape.ts';

type Fields = Readonly<Record<string, CrdSchema>>;

interface Version {
  readonly fields: Fields;
  /** More of the schema of the spec. */
  readonly spec?: CrdSchema;
  readonly root?: CrdSchema;
  readonly more?: Partial<DefinitionVersion>;
}

interface Row {
  readonly name: string;
  readonly before: Readonly<Record<string, Version>>;
  readonly after: Readonly<Record<string, Version>>;
  readonly kind: ChangeKind | readonly ChangeKind[];
  readonly stored: ChangeClass | readonly ChangeClass[];
  readonly manifests: ChangeClass | readonly ChangeClass[];
  readonly reason: string;
  /** The content of objects, by version and optionally a name. */
  readonly objects: readonly (readonly [version: string, spec: Json | undefined, more?: Json])[];
  /** Content that the objects are updated to. */
  readonly updates?: readonly Json[];
  /** Whether the objects are valid only after the change. */
  readonly later?: boolean;
}

const text: CrdSchema = { type: 'string' };
const count: CrdSchema = { type: 'integer' };
const note: CrdSchema = { type: 'string' };
const open: CrdSchema = { 'x-kubernetes-preserve-unknown-fields': true };
const fields = (more: Fields, spec: CrdSchema = {}): Version => ({ fields: { note, ...more }, spec });
const plain = fields({ colour: text, size: count });
const narrow = fields({ size: count });
const red: Json = { note: 'as it was', colour: 'red', size: 3 };

const breaking = { stored: 'breaking', manifests: 'breaking' } as const;
const safe = { stored: 'safe', manifests: 'safe' } as const;
/** Nothing changes for who uses what there was; what a client of another version does is up to it. */
const risky = { stored: 'risky', manifests: 'risky' } as const;
const preferred = 'preferred-version-changed' as const;
const lost = 'kubectl reads through the version that sorts first, and what it replaces is stored without the field';
const refused = 'what kubectl reads through the version that sorts first cannot be applied there';

const retypes = {
  stored: ['safe', 'risky', 'breaking'],
  manifests: 'breaking',
  reason: `${refused}; a write that leaves the value alone is let through, but no server-side apply is`,
} as const;

/** A new version that sorts first, with one field that differs. */
const sortsFirst = (
  name: string,
  subject: readonly [old: CrdSchema | undefined, now: CrdSchema | undefined],
  values: readonly unknown[],
  expected: Pick<Row, 'stored' | 'manifests' | 'reason'> & Partial<Pick<Row, 'kind'>>,
): Row => {
  const side = (schema: CrdSchema | undefined): Version => fields(schema === undefined ? {} : { subject: schema });
  const [old, now] = subject;
  return {
    name: `new preferred version, ${name}`,
    before: { 'v1*': side(old) },
    after: { 'v1*': side(old), v2: side(now) },
    kind: expected.stored === 'safe' && expected.manifests === 'safe' ? ['version-added', preferred] : preferred,
    ...expected,
    objects: values.map((value) => ['v1', { note: 'as it was', ...(value === undefined ? {} : { subject: value }) }]),
  };
};

const rows: readonly Row[] = [
  sortsFirst('a field is missing', [text, undefined], ['red'], { ...breaking, reason: lost }),
  sortsFirst(
    'a field of a field is missing',
    [object({ a: text, b: text }), object({ a: text })],
    [{ a: 'x', b: 'y' }],
    {
      ...breaking,
      reason: lost,
    },
  ),
  sortsFirst('a field of items is missing', [list({ a: text, b: text }), list({ a: text })], [[{ a: 'x', b: 'y' }]], {
    ...breaking,
    reason: lost,
  }),
  sortsFirst('a string is an integer', [text, count], ['red'], retypes),
  sortsFirst('an integer is a string', [count, text], [1], retypes),
  sortsFirst('an object is a string', [object({ a: text }), text], [{ a: 'x' }], {
    ...breaking,
    reason: 'what is inside is pruned, since a string has no fields, and the rest is refused',
  }),
  sortsFirst('a list is an object', [list({ a: text }), object({ a: text })], [[{ a: 'x' }]], {
    ...breaking,
    reason: 'the items are pruned, since an object has none, and the rest is refused',
  }),
  sortsFirst('an integer is an int-or-string', [count, { 'x-kubernetes-int-or-string': true }], [1], {
    stored: 'risky',
    manifests: ['risky', 'breaking'],
    kind: 'value-not-round-tripped',
    reason: 'every old value stays valid, but clients of the old version read strings, and cannot apply them',
  }),
  sortsFirst('an int-or-string is an integer', [{ 'x-kubernetes-int-or-string': true }, count], ['50%', 1], retypes),
  sortsFirst(
    'an enum is narrower',
    [
      { ...text, enum: ['a', 'b'] },
      { ...text, enum: ['a'] },
    ],
    ['b', 'a'],
    {
      stored: 'safe',
      manifests: 'breaking',
      reason: `an update that leaves the value alone is let through (validation ratchets), but ${refused}`,
    },
  ),
  sortsFirst(
    'an enum is wider',
    [
      { ...text, enum: ['a'] },
      { ...text, enum: ['a', 'b'] },
    ],
    ['a'],
    {
      stored: 'safe',
      manifests: 'risky',
      kind: 'value-not-round-tripped',
      reason: 'every old value is kept and accepted, but clients of the old version cannot apply the new one',
    },
  ),
  sortsFirst(
    'a maximum is lower',
    [
      { ...count, maximum: 20 },
      { ...count, maximum: 10 },
    ],
    [15, 5],
    {
      stored: 'safe',
      manifests: 'breaking',
      reason: `an update that leaves the value alone is let through, but ${refused}`,
    },
  ),
  sortsFirst('null is not allowed', [{ ...text, nullable: true }, text], [null, 'a'], {
    ...breaking,
    reason: 'null is dropped when an object is written through it',
  }),
  sortsFirst('null is allowed', [text, { ...text, nullable: true }], ['a'], {
    stored: 'safe',
    manifests: 'risky',
    kind: 'field-not-stored',
    reason: 'every value is kept and accepted, but the storage version drops null',
  }),
  sortsFirst('a default is added', [text, { ...text, default: 'blue' }], [undefined, 'red'], {
    ...risky,
    reason: 'who writes an object back sets the field to the default, where it was not set',
  }),
  sortsFirst(
    'another default',
    [
      { ...text, default: 'red' },
      { ...text, default: 'blue' },
    ],
    [undefined, 'green'],
    {
      ...safe,
      reason: 'objects have the default of the version that they are stored in; only new manifests get the other one',
    },
  ),
  sortsFirst('a default is missing', [{ ...text, default: 'red' }, text], [undefined, 'green'], {
    ...safe,
    reason: 'objects have the default of the version that they are stored in',
  }),
  sortsFirst(
    'unknown fields are pruned',
    [{ ...object({ a: text }), ...open }, object({ a: text })],
    [{ a: 'x', unheard: 'of' }],
    { ...breaking, reason: lost },
  ),
  sortsFirst('a map is an object', [map(text), object({ a: text })], [{ a: 'x', b: 'y' }], {
    ...breaking,
    reason: lost,
  }),
  sortsFirst('other keys of a list', [keyed('a'), keyed('b')], [[{ a: 'x', b: 'y' }]], {
    stored: ['safe', 'risky'],
    manifests: ['risky', 'breaking'],
    reason: 'server-side apply merges by other keys, and items with equal keys are refused',
  }),
  sortsFirst('a rule is added', [text, { ...text, 'x-kubernetes-validations': [{ rule: "self != 'red'" }] }], ['red'], {
    stored: ['safe', 'breaking'],
    manifests: 'breaking',
    reason: refused,
  }),
  {
    name: 'new preferred version, unknown fields are kept',
    before: { 'v1*': fields({}) },
    after: { 'v1*': fields({}), v2: fields({}, open) },
    kind: 'field-not-stored',
    stored: 'safe',
    manifests: 'breaking',
    reason: 'the storage version prunes what is not named on every write',
    objects: [['v2', red]],
  },
  {
    name: 'new preferred version, a field is required',
    before: { 'v1*': fields({ colour: text }) },
    after: { 'v1*': fields({ colour: text }), v2: fields({ colour: text }, { required: ['colour'] }) },
    kind: preferred,
    ...breaking,
    reason: `${refused}, and an update of something beside it is refused too`,
    objects: [['v1', { note: 'as it was' }]],
  },
  {
    name: 'new preferred version, a field is required and has a default',
    before: { 'v1*': fields({ colour: text }) },
    after: {
      'v1*': fields({ colour: text }),
      v2: fields({ colour: { ...text, default: 'blue' } }, { required: ['colour'] }),
    },
    kind: preferred,
    ...risky,
    reason: 'who writes an object back sets the field to the default, where it was not set',
    objects: [['v1', { note: 'as it was' }]],
  },
  {
    name: 'new preferred version with a transition rule',
    before: { 'v1*': plain },
    after: {
      'v1*': plain,
      v2: fields({ size: count, colour: { ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] } }),
    },
    kind: preferred,
    ...breaking,
    reason: 'kubectl edit and patch use it, and are refused what they could do',
    objects: [['v1', red]],
    updates: [{ spec: { note: 'as it was', colour: 'blue' } }],
  },
  {
    name: 'new preferred version with the same schema',
    before: { 'v1*': plain },
    after: { 'v1*': plain, v2: plain },
    kind: ['version-added', preferred],
    ...safe,
    reason: 'nothing is lost on any way',
    objects: [['v1', red]],
  },
  {
    name: 'new preferred version with a field more, which is stored',
    before: { 'v1*': narrow },
    after: { v1: narrow, 'v2*': plain },
    kind: 'field-not-round-tripped',
    stored: 'safe',
    manifests: 'risky',
    reason: 'who writes through the old version removes the field, and no object has it yet',
    objects: [['v1', { note: 'as it was', size: 3 }]],
  },
  {
    name: 'new preferred version with a field more, which is not stored',
    before: { 'v1*': narrow },
    after: { 'v1*': narrow, v2: plain },
    kind: 'field-not-stored',
    stored: 'safe',
    manifests: 'breaking',
    reason: 'the storage version prunes the field on every write, so that it is never there',
    objects: [['v2', red]],
  },
  {
    name: 'new version that sorts lower, with a field less',
    before: { 'v1*': plain },
    after: { 'v1*': plain, v1beta1: narrow },
    kind: 'field-not-round-tripped',
    ...risky,
    reason: 'only clients that name it use it; those that write an object back remove the field',
    objects: [],
  },
  {
    name: 'new version that sorts lower, with a field more',
    before: { 'v1*': narrow },
    after: { 'v1*': narrow, v2beta1: plain },
    kind: 'field-not-stored',
    stored: 'safe',
    manifests: 'breaking',
    reason: 'the storage version prunes the field on every write, so that it is never there',
    objects: [['v2beta1', red]],
  },
  {
    name: 'new version that is not served, with a field less',
    before: { 'v1*': plain },
    after: { 'v1*': plain, 'v2-': narrow },
    kind: 'version-added',
    ...safe,
    reason: 'nobody can use it',
    objects: [['v1', red]],
  },
  {
    name: 'version with a field less served, and preferred',
    before: { 'v1*': plain, 'v2-': narrow },
    after: { 'v1*': plain, v2: narrow },
    kind: preferred,
    ...breaking,
    reason: lost,
    objects: [['v1', red]],
  },
  {
    name: 'preferred version with a field more no longer served',
    before: { v1: narrow, 'v2*': plain },
    after: { v1: narrow, 'v2-*': plain },
    kind: [preferred, 'version-unserved'],
    ...breaking,
    reason: `${lost}; and requests that name the version fail`,
    objects: [['v2', red]],
  },
  {
    name: 'v10 added beside v9, with a field less',
    before: { 'v9*': plain },
    after: { 'v9*': plain, v10: narrow },
    kind: preferred,
    ...breaking,
    reason: 'versions are ordered by number, not by text',
    objects: [['v9', red]],
  },
  {
    name: 'a stable version added beside betas, with a field less',
    before: { 'v2beta1*': plain },
    after: { 'v2beta1*': plain, v1: narrow },
    kind: preferred,
    ...breaking,
    reason: 'a stable version is preferred to a beta, whatever their numbers',
    objects: [['v2beta1', red]],
  },
  {
    name: 'a version with another sort of name added, with a field less',
    before: { 'v1alpha1*': plain },
    after: { 'v1alpha1*': plain, next: narrow },
    kind: 'field-not-round-tripped',
    ...risky,
    reason: 'versions that are not called like those of Kubernetes are the least preferred',
    objects: [],
  },
  {
    name: 'a third version added, which a client of the second loses fields through',
    before: { 'v1*': fields({ a: text, b: text }), v2: fields({ a: text, b: text }) },
    after: { 'v1*': fields({ a: text, b: text }), v2: fields({ a: text, b: text }), v3: fields({ a: text }) },
    kind: preferred,
    ...breaking,
    reason: lost,
    objects: [
      ['v1', { note: 'as it was', a: 'x', b: 'y' }],
      ['v2', { note: 'as it was', a: 'x', b: 'y' }],
    ],
  },
  {
    name: 'a third version added that loses no more than the second did',
    before: { 'v1*': fields({ a: text, b: text }), v2: fields({ a: text }) },
    after: { 'v1*': fields({ a: text, b: text }), v2: fields({ a: text }), v3: fields({ a: text }) },
    kind: ['version-added', preferred, 'field-not-round-tripped'],
    stored: ['safe', 'risky'],
    manifests: ['safe', 'risky'],
    reason: 'kubectl lost the field before; only clients that name the new version are new',
    objects: [['v2', { note: 'as it was', a: 'x' }]],
  },
  {
    name: 'a field added to one of two versions, which is stored',
    before: { 'v1*': narrow, v1beta1: narrow },
    after: { 'v1*': plain, v1beta1: narrow },
    kind: 'field-not-round-tripped',
    stored: 'safe',
    manifests: 'risky',
    reason: 'who writes through the other version removes the field',
    objects: [['v1', { note: 'as it was', size: 3 }]],
  },
  {
    name: 'a field added to one of two versions, which is not stored',
    before: { 'v1*': narrow, v1beta1: narrow },
    after: { 'v1*': narrow, v1beta1: plain },
    kind: 'field-not-stored',
    stored: 'safe',
    manifests: 'breaking',
    reason: 'the storage version prunes the field on every write',
    objects: [['v1beta1', red]],
    later: true,
  },
  {
    name: 'a field added to both versions',
    before: { 'v1*': narrow, v1beta1: narrow },
    after: { 'v1*': plain, v1beta1: plain },
    kind: 'field-added',
    ...safe,
    reason: 'nothing is lost on any way',
    objects: [['v1', { note: 'as it was', size: 3 }]],
  },
  {
    name: 'storage moved to a version where an object is a string',
    before: { 'v1*': fields({ subject: object({ a: text }) }), v1beta1: fields({ subject: text }) },
    after: { v1: fields({ subject: object({ a: text }) }), 'v1beta1*': fields({ subject: text }) },
    kind: 'storage-version-moved',
    ...breaking,
    reason: 'what is inside is pruned when it is written: a string has no fields',
    objects: [['v1', { note: 'as it was', subject: { a: 'x' } }]],
  },
  {
    name: 'storage moved to a version where a string is an integer',
    before: { 'v1*': fields({ subject: text }), v1beta1: fields({ subject: count }) },
    after: { v1: fields({ subject: text }), 'v1beta1*': fields({ subject: count }) },
    kind: 'storage-version-moved',
    ...safe,
    reason: 'objects are validated in the version of the request only, and a value without fields is kept as it is',
    objects: [['v1', { note: 'as it was', subject: 'red' }]],
  },
  {
    name: 'storage moved to a version with a default',
    before: { 'v1*': fields({ subject: text }), v1beta1: fields({ subject: { ...text, default: 'blue' } }) },
    after: { v1: fields({ subject: text }), 'v1beta1*': fields({ subject: { ...text, default: 'blue' } }) },
    kind: 'storage-version-moved',
    ...risky,
    reason: 'objects that do not set the field read as the default, in every version',
    objects: [['v1', { note: 'as it was' }]],
  },
  {
    name: 'storage moved to a version that prunes unknown fields',
    before: { 'v1*': fields({}, open), v1beta1: fields({}) },
    after: { v1: fields({}, open), 'v1beta1*': fields({}) },
    kind: 'storage-version-moved',
    ...breaking,
    reason: 'what is not named is pruned when it is written',
    objects: [['v1', { note: 'as it was', unheard: 'of' }]],
  },
  {
    name: 'storage moved to a version that lacks the field of a third one',
    before: { 'v1*': narrow, v1beta1: narrow, v1beta2: narrow },
    after: { v1: narrow, 'v1beta1*': narrow, v1beta2: narrow },
    kind: 'storage-version-moved',
    stored: ['safe', 'risky'],
    manifests: ['safe', 'risky'],
    reason: 'all versions have the same fields',
    objects: [['v1beta2', { note: 'as it was', size: 3 }]],
  },
  {
    name: 'storage moved away from the only version that keeps the fields of another',
    before: { 'v1*': fields({}, open), v1beta1: narrow, v1beta2: plain },
    after: { v1: fields({}, open), 'v1beta1*': narrow, v1beta2: plain },
    kind: ['storage-version-moved', 'field-not-stored'],
    ...breaking,
    reason: 'clients of the third version lose what the old storage version kept as unknown',
    objects: [['v1beta2', red]],
  },
  {
    name: 'unknown fields kept, then a field no longer named: nothing is lost',
    before: { 'v1*': fields({ colour: text }, open) },
    after: { 'v1*': fields({}, open) },
    kind: 'field-removed',
    ...safe,
    reason: 'the value is kept as unknown',
    objects: [['v1', red]],
  },
  {
    name: 'unknown fields kept, then a version that does not keep them',
    before: { 'v1*': fields({}, open) },
    after: { 'v1*': fields({}, open), v2: fields({}) },
    kind: preferred,
    ...breaking,
    reason: lost,
    objects: [['v1', red]],
  },
  {
    name: 'unknown fields kept, then stored in a version that does not keep them',
    before: { 'v1*': fields({}, open), v2: fields({}) },
    after: { v1: fields({}, open), 'v2*': fields({}) },
    kind: 'storage-version-moved',
    ...breaking,
    reason: 'what is not named is pruned when it is written',
    objects: [['v1', red]],
  },
  {
    name: 'new preferred version without the status that the old one has',
    before: { 'v1*': withStatus({ ready: text }) },
    after: { 'v1*': withStatus({ ready: text }), v2: withStatus({}) },
    kind: preferred,
    ...breaking,
    reason: 'a write of the object keeps the status as it is read in the version of the request',
    objects: [['v1', { note: 'as it was' }, { status: { ready: 'yes' } }]],
  },
  {
    name: 'new preferred version without a status subresource',
    before: { 'v1*': withStatus({ ready: text }) },
    after: { 'v1*': withStatus({ ready: text }), v2: { ...withStatus({ ready: text }), more: {} } },
    kind: preferred,
    stored: 'safe',
    manifests: ['breaking', 'risky'],
    reason:
      'kubectl edit --subresource=status uses it, and gets a 404; who names the version does not, so risky can be argued',
    objects: [],
  },
];

function object(properties: Fields): CrdSchema {
  return { type: 'object', properties };
}

function list(properties: Fields): CrdSchema {
  return { type: 'array', items: object(properties) };
}

function map(values: CrdSchema): CrdSchema {
  return { type: 'object', additionalProperties: values };
}

function keyed(key: string): CrdSchema {
  return {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [key],
    items: { type: 'object', required: ['a', 'b'], properties: { a: text, b: text } },
  };
}

function withStatus(properties: Fields): Version {
  return {
    fields: { note },
    root: { properties: { status: { type: 'object', properties } } },
    more: { subresources: { status: {} } },
  };
}

const versionsOf = (given: Row['before']): DefinitionVersion[] =>
  Object.entries(given).map(([mark, { fields: properties, spec = {}, root = {}, more = {} }]) => ({
    name: mark.replace(/[*-]/g, ''),
    served: !mark.includes('-'),
    storage: mark.includes('*'),
    schema: {
      openAPIV3Schema: {
        type: 'object',
        ...root,
        properties: { ...root.properties, spec: { type: 'object', ...spec, properties } },
      },
    },
    ...more,
  }));

const definitionOf = (given: Row['before']): Json =>
  definition({}, (spec) => Object.assign(spec, { versions: versionsOf(given) }));

export const versionPairs: readonly Pair[] = rows.map(({ before, after, objects, ...row }) => ({
  ...row,
  before: definitionOf(before),
  after: definitionOf(after),
  objects: objects.map(([version, spec, more], index) =>
    widget({ ...(spec === undefined ? {} : { spec }), ...more }, `object-${index}`, version),
  ),
}));
