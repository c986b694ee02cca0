/** What only Kubernetes has: kinds of lists and maps, resources within resources, CEL rules; and what combines schemas. */
import type { CrdSchema, ValidationRule } from '../../../../src/crd-compat/index.ts';
import { noted, objectWith, rewritten, tightened } from './rows.ts';
import type { SchemaExpectation, SchemaRow } from './shape.ts';

const integer = { type: 'integer' } as const;
const string = { type: 'string' } as const;
const strings = { type: 'array', items: string } as const;
const withRules = (schema: CrdSchema, ...rules: readonly ValidationRule[]): CrdSchema => ({
  ...schema,
  'x-kubernetes-validations': rules,
});

const entries = (keys: readonly string[] | undefined): CrdSchema => ({
  type: 'array',
  ...(keys === undefined ? {} : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }),
  items: {
    type: 'object',
    required: ['name', 'protocol'],
    properties: { name: string, protocol: string },
  },
});

const ports = (protocol: CrdSchema, required: readonly string[] = ['name']): CrdSchema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name', 'protocol'],
  items: { type: 'object', required, properties: { name: string, protocol } },
});

const keyDefaultChanged = (): SchemaExpectation => ({
  kind: 'default-changed',
  at: '[].protocol',
  stored: ['safe', 'risky', 'breaking'],
  manifests: 'breaking',
  reason: 'the same manifest has another key. Stored objects keep what was written when they were created',
  values: [[{ name: 'a' }], [{ name: 'a', protocol: 'SCTP' }]],
});

const merge =
  'objects are accepted and kept as before; server-side apply merges them in another way, so owners of parts of them may lose or keep what they did not expect';

const mergedOtherwise = { stored: 'safe', manifests: ['safe', 'risky'], reason: merge } as const;

const lists: readonly SchemaRow[] = [
  tightened({
    name: 'list made a set',
    kind: 'list-type-changed',
    loose: strings,
    tight: { ...strings, 'x-kubernetes-list-type': 'set' },
    lost: [['a', 'a']],
    kept: [['a', 'b']],
    back: mergedOtherwise,
    reason:
      'a list with an item twice is refused; a stored one that has it may be updated (uniqueness ratchets by the object)',
  }),
  tightened({
    name: 'list made one with keys',
    kind: 'list-type-changed',
    loose: entries(undefined),
    tight: entries(['name']),
    lost: [
      [
        { name: 'a', protocol: 'TCP' },
        { name: 'a', protocol: 'UDP' },
      ],
    ],
    kept: [[{ name: 'a', protocol: 'TCP' }]],
    back: mergedOtherwise,
    reason: 'items with the same key are refused; a stored object that has them may be updated',
  }),
  tightened({
    name: 'key of a list taken away',
    kind: 'list-map-keys-changed',
    loose: entries(['name', 'protocol']),
    tight: entries(['name']),
    lost: [
      [
        { name: 'a', protocol: 'TCP' },
        { name: 'a', protocol: 'UDP' },
      ],
    ],
    kept: [[{ name: 'a', protocol: 'TCP' }]],
    back: mergedOtherwise,
    reason: 'items that only differed in that key are refused; a stored object that has them may be updated',
  }),
  {
    name: 'default of a key changed',
    before: ports({ ...string, default: 'TCP' }),
    after: ports({ ...string, default: 'UDP' }),
    forth: keyDefaultChanged(),
    back: keyDefaultChanged(),
  },
  {
    name: 'default of a key removed, and the key required',
    before: ports({ ...string, default: 'TCP' }),
    after: ports(string, ['name', 'protocol']),
    forth: {
      kind: ['default-removed', 'required-added'],
      at: '[].protocol',
      stored: ['safe', 'risky', 'breaking'],
      manifests: 'breaking',
      reason: 'a manifest without the key is refused. Stored objects keep what was written when they were created',
      values: [[{ name: 'a' }], [{ name: 'a', protocol: 'UDP' }]],
    },
    back: {
      kind: ['default-added', 'required-removed'],
      at: '[].protocol',
      stored: 'safe',
      manifests: 'safe',
      reason: 'every object had to have the key, and keeps it',
      values: [[{ name: 'a', protocol: 'UDP' }]],
    },
  },
  rewritten(
    'key with a default required',
    ['required-added', 'required-removed'],
    [ports({ ...string, default: 'TCP' }), ports({ ...string, default: 'TCP' }, ['name', 'protocol'])],
    [[{ name: 'a' }], [{ name: 'a', protocol: 'UDP' }]],
    'the default is there before the object is validated, so that it cannot be missing',
    '[].protocol',
  ),
  {
    name: 'map made atomic',
    before: { type: 'object', additionalProperties: string },
    after: { type: 'object', additionalProperties: string, 'x-kubernetes-map-type': 'atomic' },
    forth: {
      kind: 'map-type-changed',
      stored: ['risky', 'safe'],
      manifests: ['risky', 'safe'],
      reason: merge,
      values: [{ a: 'one' }],
    },
    back: {
      kind: 'map-type-changed',
      stored: ['risky', 'safe'],
      manifests: ['risky', 'safe'],
      reason: merge,
      values: [{ a: 'one' }],
    },
  },
  {
    name: 'object made a resource of its own',
    before: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    after: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-embedded-resource': true,
    },
    forth: {
      kind: 'embedded-resource-added',
      stored: 'breaking',
      manifests: 'breaking',
      reason:
        'it must have an apiVersion and a kind now, and its metadata must be valid; that is checked on every update, too',
      values: [{ note: 'no kind' }],
    },
    back: {
      kind: 'embedded-resource-removed',
      stored: 'safe',
      manifests: ['safe', 'risky'],
      reason: 'a resource is an object as good as any; its metadata is no longer checked',
      values: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } }],
    },
  },
];

const sized = objectWith({ size: integer, limit: integer });

const combined: readonly SchemaRow[] = [
  tightened({
    name: 'anyOf added',
    kind: 'any-of-added',
    kindBack: 'any-of-removed',
    loose: sized,
    tight: { ...sized, anyOf: [{ required: ['size'] }, { required: ['limit'] }] },
    lost: [noted({})],
    kept: [noted({ size: 1 }), noted({ size: 1, limit: 2 })],
    stored: 'breaking',
    reason: 'an object with neither is refused; an update of anything else in it meets it too',
  }),
  tightened({
    name: 'branch of anyOf taken away',
    kind: 'any-of-changed',
    loose: { ...string, anyOf: [{ pattern: '^a' }, { pattern: '^b' }] },
    tight: { ...string, anyOf: [{ pattern: '^a' }] },
    lost: ['b'],
    kept: ['a'],
    reason: 'a string that only matched that branch is refused',
  }),
  tightened({
    name: 'oneOf added',
    kind: 'one-of-added',
    kindBack: 'one-of-removed',
    loose: sized,
    tight: { ...sized, oneOf: [{ required: ['size'] }, { required: ['limit'] }] },
    lost: [noted({ size: 1, limit: 2 }), noted({})],
    kept: [noted({ size: 1 })],
    stored: 'breaking',
    reason: 'an object with both or neither is refused; an update of anything else in it meets it too',
  }),
  {
    name: 'branch of oneOf taken away',
    before: { ...sized, oneOf: [{ required: ['size'] }, { required: ['limit'] }] },
    after: { ...sized, oneOf: [{ required: ['size'] }] },
    forth: {
      kind: 'one-of-changed',
      stored: 'breaking',
      manifests: 'breaking',
      reason:
        'an object that only had what the branch asked for is refused; an update of anything else in it meets it too',
      values: [noted({ limit: 2 }), noted({ size: 1 })],
    },
    back: {
      kind: 'one-of-changed',
      stored: 'breaking',
      manifests: 'breaking',
      reason: 'an object with both matches both branches, which oneOf refuses',
      values: [noted({ size: 1, limit: 2 }), noted({ size: 1 })],
    },
  },
  {
    name: 'branch added to oneOf',
    before: { ...integer, oneOf: [{ minimum: 10 }, { maximum: 0 }] },
    after: { ...integer, oneOf: [{ minimum: 10 }, { maximum: 0 }, { minimum: 20 }] },
    forth: {
      kind: 'one-of-changed',
      stored: 'safe',
      manifests: 'breaking',
      reason: 'more is less: from 20 on two branches match, which oneOf refuses; stored, it ratchets while it stays',
      values: [25, 10, 0],
    },
    back: {
      kind: 'one-of-changed',
      stored: 'safe',
      manifests: 'safe',
      reason: 'the branch only took away from what the first accepts',
      values: [10, 0],
    },
  },
  tightened({
    name: 'allOf with a bound added',
    kind: 'all-of-added',
    kindBack: 'all-of-removed',
    loose: integer,
    tight: { ...integer, allOf: [{ minimum: 2 }, { maximum: 5 }] },
    lost: [1, 6],
    kept: [2, 5],
    reason: 'what is outside is refused',
  }),
  tightened({
    name: 'bound in allOf tightened',
    kind: 'all-of-changed',
    loose: { ...integer, allOf: [{ minimum: 2 }, { maximum: 5 }] },
    tight: { ...integer, allOf: [{ minimum: 2 }, { maximum: 4 }] },
    lost: [5],
    kept: [2, 4],
    reason: 'what is between the bounds is refused',
  }),
  rewritten(
    'bounds moved into allOf',
    ['all-of-added', 'all-of-removed', 'minimum-removed', 'minimum-added'],
    [
      { ...integer, minimum: 2 },
      { ...integer, allOf: [{ minimum: 2 }] },
    ],
    [2, 5],
    'both accept the same',
  ),
  tightened({
    name: 'not added',
    kind: 'not-added',
    kindBack: 'not-removed',
    loose: string,
    tight: { ...string, not: { enum: ['root'] } },
    lost: ['root'],
    kept: ['ada', ''],
    reason: 'the value is refused',
  }),
  tightened({
    name: 'not made to refuse more',
    kind: 'not-changed',
    loose: { ...string, not: { enum: ['root'] } },
    tight: { ...string, not: { enum: ['root', 'admin'] } },
    lost: ['admin'],
    kept: ['ada', ''],
    reason: 'one value more is refused',
  }),
];

const atMost = (bound: number): ValidationRule => ({ rule: `self <= ${bound}` });

const rules: readonly SchemaRow[] = [
  tightened({
    name: 'rule added to a value',
    kind: 'rule-added',
    kindBack: 'rule-removed',
    loose: integer,
    tight: withRules(integer, atMost(10)),
    lost: [11],
    kept: [10],
    reason: 'a value that breaks the rule is refused',
  }),
  tightened({
    name: 'rule added to an object',
    kind: 'rule-added',
    kindBack: 'rule-removed',
    loose: sized,
    tight: withRules(sized, { rule: '!has(self.size) || !has(self.limit) || self.size <= self.limit' }),
    lost: [noted({ size: 2, limit: 1 })],
    kept: [noted({ size: 1, limit: 2 }), noted({})],
    stored: 'breaking',
    reason: 'an object that breaks the rule is refused; an update of anything else in the object runs the rule again',
  }),
  tightened({
    name: 'bound in a rule tightened',
    kind: ['rule-changed', 'rule-added', 'rule-removed'],
    loose: withRules(integer, atMost(20)),
    tight: withRules(integer, atMost(10)),
    lost: [20, 11],
    kept: [10],
    reason: 'what is between the bounds is refused',
  }),
  rewritten(
    'rule added that the bounds imply',
    ['rule-added', 'rule-removed'],
    [{ ...integer, maximum: 10 }, withRules({ ...integer, maximum: 10 }, atMost(20))],
    [10, 0],
    'what the maximum lets through cannot break the rule',
  ),
  rewritten(
    'message of a rule changed',
    'rule-message-changed',
    [
      withRules(integer, { ...atMost(10), message: 'too large' }),
      withRules(integer, { ...atMost(10), message: 'must be 10 or less' }),
    ],
    [10],
    'the same is refused, with other words',
  ),
  rewritten(
    'rule written otherwise',
    ['rule-changed', 'rule-added', 'rule-removed'],
    [withRules(integer, atMost(10)), withRules(integer, { rule: '!(self > 10)' })],
    [10, 3],
    'both rules hold for the same integers',
  ),
  {
    name: 'value made immutable by a rule',
    before: string,
    after: withRules(string, { rule: 'self == oldSelf' }),
    forth: {
      kind: ['rule-added', 'transition-rule-added'],
      stored: ['risky', 'breaking'],
      manifests: ['risky', 'breaking'],
      reason:
        'an update that changes the value is refused. Where the API server cannot match the value with an old one (items of a list without keys) it rejects the rule itself; a manifest that changes the value of an object that exists is refused now',
      values: ['any'],
    },
    back: {
      kind: ['rule-removed', 'transition-rule-removed'],
      stored: 'safe',
      manifests: 'safe',
      reason: 'only more updates are let through',
      values: ['any'],
    },
  },
];

const transitions: readonly SchemaRow[] = [
  {
    name: 'number that had to stay may grow',
    before: withRules(integer, { rule: 'self == oldSelf' }),
    after: withRules(integer, { rule: 'self >= oldSelf' }),
    forth: {
      kind: 'transition-rule-changed',
      stored: 'safe',
      manifests: 'safe',
      reason: 'whatever may follow a number still may, and others too',
      values: [3],
    },
    back: {
      kind: 'transition-rule-changed',
      stored: ['risky', 'breaking'],
      manifests: ['risky', 'breaking'],
      reason:
        'an update that raises the value is refused. Where the API server cannot match the value with an old one (items of a list without keys) it rejects the rule itself; a manifest that raises the value of an object that exists is refused now',
      values: [3],
    },
  },
];

export const extensions: readonly SchemaRow[] = [...lists, ...combined, ...rules, ...transitions];
