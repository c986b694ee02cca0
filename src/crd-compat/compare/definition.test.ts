/** Changes of a definition and its versions apart from schemas, with their effect in Kubernetes 1.36. */
import { describe, expect, test } from 'vitest';
import type { Crd, CrdSpec, CrdVersion } from '../crd.ts';
import { type CrdSchema, compareCrds } from '../index.ts';
import type { ChangeKind } from '../kinds.ts';
import type { ChangeClass } from '../verdict.ts';
import { crdOf, specOf, version } from './support/definitions.ts';

const schema = specOf({ type: 'integer', minimum: 0 });
const wider: CrdSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { value: { type: 'integer' }, other: { type: 'string' }, more: { type: 'string' } },
    },
  },
};
const v1 = (more: Partial<CrdVersion> = {}): CrdVersion => version(schema, more);
const v2 = (more: Partial<CrdVersion> = {}): CrdVersion => version(schema, { name: 'v2', storage: false, ...more });
const one = (more: Partial<CrdVersion> = {}, spec: Partial<CrdSpec> = {}): Crd => crdOf([v1(more)], spec);
const names = { plural: 'widgets', kind: 'Widget' };
const scale = { specReplicasPath: '.spec.value', statusReplicasPath: '.status.replicas' };
const webhook = (name: string) => ({
  strategy: 'Webhook',
  webhook: { clientConfig: { service: { name } }, conversionReviewVersions: ['v1'] },
});
const trusting = (caBundle: string, name = 'a') => ({
  strategy: 'Webhook',
  webhook: { clientConfig: { service: { name }, caBundle }, conversionReviewVersions: ['v1'] },
});

interface Row {
  readonly reason: string;
  readonly before: Crd;
  readonly after: Crd;
  readonly kinds: readonly ChangeKind[];
  readonly stored: ChangeClass;
  readonly manifests: ChangeClass;
}

const rows: readonly Row[] = [
  { reason: 'the same', before: one(), after: one(), kinds: [], stored: 'safe', manifests: 'safe' },
  {
    reason: 'the scope is immutable',
    before: one(),
    after: one({}, { scope: 'Cluster' }),
    kinds: ['scope-changed'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'the group is immutable',
    before: one(),
    after: one({}, { group: 'example.org' }),
    kinds: ['group-changed'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'the kind is immutable, and lists are named after it',
    before: one(),
    after: one({}, { names: { ...names, kind: 'Gadget' } }),
    kinds: ['kind-changed', 'list-kind-changed', 'singular-changed'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'the plural is immutable',
    before: one(),
    after: one({}, { names: { ...names, plural: 'gadgets' } }),
    kinds: ['plural-changed'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'what the API server fills in is no change',
    before: one(),
    after: one(
      {},
      { names: { ...names, singular: 'widget', listKind: 'WidgetList' }, conversion: { strategy: 'None' } },
    ),
    kinds: [],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'people type short names, manifests do not',
    before: one({}, { names: { ...names, shortNames: ['wd'] } }),
    after: one(),
    kinds: ['short-name-removed'],
    stored: 'safe',
    manifests: 'risky',
  },
  {
    reason: 'a short name more',
    before: one(),
    after: one({}, { names: { ...names, shortNames: ['wd'] } }),
    kinds: ['short-name-added'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'a category less',
    before: one({}, { names: { ...names, categories: ['all'] } }),
    after: one(),
    kinds: ['category-removed'],
    stored: 'safe',
    manifests: 'risky',
  },
  {
    reason: 'a version more',
    before: one(),
    after: crdOf([v1(), v2()]),
    kinds: ['preferred-version-changed', 'version-added'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'a served version less',
    before: crdOf([v1(), v2()]),
    after: one(),
    kinds: ['preferred-version-changed', 'version-removed'],
    stored: 'safe',
    manifests: 'breaking',
  },
  {
    reason: 'a version less that nobody had',
    before: crdOf([v1(), v2({ served: false })]),
    after: one(),
    kinds: ['version-removed'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'the stored version must stay',
    before: crdOf([v1(), v2()]),
    after: crdOf([v2({ storage: true })]),
    kinds: ['version-removed', 'storage-version-moved'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'a version is no longer served',
    before: crdOf([v1(), v2()]),
    after: crdOf([v1(), v2({ served: false })]),
    kinds: ['preferred-version-changed', 'version-unserved'],
    stored: 'safe',
    manifests: 'breaking',
  },
  {
    reason: 'a version is served',
    before: crdOf([v1(), v2({ served: false })]),
    after: crdOf([v1(), v2()]),
    kinds: ['preferred-version-changed', 'version-served'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'stored in a version with the same schema',
    before: crdOf([v1(), v2()]),
    after: crdOf([v1({ storage: false }), v2({ storage: true })]),
    kinds: ['storage-version-moved'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'stored in a version that lacks a field: it is pruned when an object is read, in whatever version',
    before: crdOf([version(wider), v2()]),
    after: crdOf([version(wider, { storage: false }), v2({ storage: true })]),
    kinds: ['storage-version-moved'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'a warning',
    before: one(),
    after: one({ deprecated: true }),
    kinds: ['version-deprecated'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'another warning',
    before: one({ deprecated: true }),
    after: one({ deprecated: true, deprecationWarning: 'use v2' }),
    kinds: ['deprecation-warning-changed'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'writes to /status fail',
    before: one({ subresources: { status: {} } }),
    after: one(),
    kinds: ['status-subresource-removed'],
    stored: 'safe',
    manifests: 'breaking',
  },
  {
    reason: 'status in a manifest is left out from now on',
    before: one(),
    after: one({ subresources: { status: {} } }),
    kinds: ['status-subresource-added'],
    stored: 'safe',
    manifests: 'risky',
  },
  {
    reason: 'the API server takes no replicas over 32 bits',
    before: one(),
    after: one({ subresources: { scale } }),
    kinds: ['scale-subresource-added'],
    stored: 'risky',
    manifests: 'risky',
  },
  {
    reason: 'nothing to scale',
    before: one({ subresources: { scale } }),
    after: one(),
    kinds: ['scale-subresource-removed'],
    stored: 'safe',
    manifests: 'breaking',
  },
  {
    reason: 'another field is scaled',
    before: one({ subresources: { scale } }),
    after: one({ subresources: { scale: { ...scale, specReplicasPath: '.spec.other' } } }),
    kinds: ['scale-subresource-changed'],
    stored: 'safe',
    manifests: 'breaking',
  },
  {
    reason: 'a selector more',
    before: one({ subresources: { scale } }),
    after: one({ subresources: { scale: { ...scale, labelSelectorPath: '.status.selector' } } }),
    kinds: ['scale-subresource-changed'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'lists by a field fail',
    before: one({ selectableFields: [{ jsonPath: '.spec.other' }] }),
    after: one(),
    kinds: ['selectable-field-removed'],
    stored: 'safe',
    manifests: 'breaking',
  },
  {
    reason: 'lists by a field',
    before: one(),
    after: one({ selectableFields: [{ jsonPath: '.spec.other' }] }),
    kinds: ['selectable-field-added'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'columns are for reading',
    before: one({
      additionalPrinterColumns: [
        { name: 'a', type: 'string', jsonPath: '.spec.other' },
        { name: 'b', type: 'string', jsonPath: '.spec.other' },
      ],
    }),
    after: one({
      additionalPrinterColumns: [
        { name: 'b', type: 'integer', jsonPath: '.spec.value' },
        { name: 'c', type: 'string', jsonPath: '.spec.other' },
      ],
    }),
    kinds: ['printer-column-removed', 'printer-column-changed', 'printer-column-added'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'with one version nothing is converted',
    before: one(),
    after: one({}, { conversion: webhook('a') }),
    kinds: ['conversion-strategy-changed'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'a webhook converts from now on',
    before: crdOf([v1(), v2()]),
    after: crdOf([v1(), v2()], { conversion: webhook('a') }),
    kinds: ['conversion-strategy-changed'],
    stored: 'risky',
    manifests: 'risky',
  },
  {
    reason: 'nothing converts any more between versions that differ',
    before: crdOf([v1(), version(wider, { name: 'v2', storage: false })], { conversion: webhook('a') }),
    after: crdOf([v1(), version(wider, { name: 'v2', storage: false })]),
    kinds: ['conversion-strategy-changed', 'field-not-stored', 'value-not-round-tripped'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'another webhook',
    before: crdOf([v1(), v2()], { conversion: webhook('a') }),
    after: crdOf([v1(), v2()], { conversion: webhook('b') }),
    kinds: ['conversion-webhook-changed'],
    stored: 'risky',
    manifests: 'risky',
  },
  {
    reason: 'the same webhook with a renewed certificate',
    before: crdOf([v1(), v2()], { conversion: trusting('before') }),
    after: crdOf([v1(), v2()], { conversion: trusting('after') }),
    kinds: ['conversion-webhook-changed'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'a certificate that is injected for the first time',
    before: crdOf([v1(), v2()], { conversion: webhook('a') }),
    after: crdOf([v1(), v2()], { conversion: trusting('after') }),
    kinds: ['conversion-webhook-changed'],
    stored: 'safe',
    manifests: 'safe',
  },
  {
    reason: 'another webhook, with another certificate',
    before: crdOf([v1(), v2()], { conversion: trusting('before', 'a') }),
    after: crdOf([v1(), v2()], { conversion: trusting('after', 'b') }),
    kinds: ['conversion-webhook-changed'],
    stored: 'risky',
    manifests: 'risky',
  },
  {
    reason: 'pruning begins',
    before: one({}, { preserveUnknownFields: true }),
    after: one(),
    kinds: ['definition-prunes-unknown-fields'],
    stored: 'breaking',
    manifests: 'breaking',
  },
  {
    reason: 'v1 does not allow it',
    before: one(),
    after: one({}, { preserveUnknownFields: true }),
    kinds: ['definition-preserves-unknown-fields'],
    stored: 'breaking',
    manifests: 'breaking',
  },
];

describe('a change of a definition', () => {
  test.each(rows)('$kinds: $reason', ({ before, after, kinds, stored, manifests }) => {
    const { changes } = compareCrds(before, after);
    expect(changes.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
    const rank: readonly ChangeClass[] = ['safe', 'risky', 'breaking'];
    const worst = (name: 'storedObjects' | 'manifests'): ChangeClass | undefined =>
      rank[Math.max(0, ...changes.map((change) => rank.indexOf(change[name])))];
    expect({ stored: worst('storedObjects'), manifests: worst('manifests') }).toEqual({ stored, manifests });
    for (const change of changes) {
      if (change.class === 'breaking') expect(change.witness?.because).toBeTruthy();
      else if (change.class === 'safe') expect(change.witness).toBeUndefined();
    }
  });

  test('nobody meets the schema of a version that is neither served nor stored', () => {
    const pair = (served: boolean, storage: boolean) => {
      const definition = (spec: CrdSchema): Crd =>
        crdOf([version(spec, { served, storage }), version(wider, { name: 'v2', storage: !storage })]);
      return compareCrds(definition(wider), definition(specOf({ type: 'integer', maximum: 5 })));
    };
    const classes = (served: boolean, storage: boolean) =>
      pair(served, storage).changes.map(({ kind, class: found }) => `${kind} ${found}`);
    const unstored = 'field-not-stored breaking';
    const refused = 'value-not-round-tripped risky';
    expect(classes(true, true)).toEqual(['field-removed breaking', 'maximum-added breaking', unstored, refused]);
    expect(classes(false, true)).toEqual(['field-removed breaking', 'maximum-added safe', unstored]);
    expect(classes(false, false)).toEqual(['field-removed safe', 'maximum-added safe']);
  });

  test('created and deleted', () => {
    expect(compareCrds(undefined, one())).toMatchObject({ verdict: 'safe', changes: [{ kind: 'crd-created' }] });
    expect(compareCrds(one(), undefined)).toMatchObject({ verdict: 'breaking', changes: [{ kind: 'crd-deleted' }] });
  });

  test('which versions are stored is taken from the options, the status, or the storage version, in this order', () => {
    const before = crdOf([v1(), v2({ served: false })]);
    const verdict = (
      storedVersions: readonly string[] | undefined,
      status: readonly string[] | undefined,
    ): ChangeClass =>
      compareCrds(
        { ...before, ...(status === undefined ? {} : { status: { storedVersions: status } }) },
        one(),
        storedVersions === undefined ? {} : { storedVersions },
      ).verdict;
    expect(verdict(undefined, undefined)).toBe('safe');
    expect(verdict(undefined, ['v1', 'v2'])).toBe('breaking');
    expect(verdict(['v1'], ['v1', 'v2'])).toBe('safe');
    expect(verdict(undefined, []), 'it is not known which: any may be').toBe('breaking');
    expect(verdict([], ['v1'])).toBe('breaking');
  });

  test('versions that share a schema are reported separately', () => {
    const after = crdOf([version(wider), version(wider, { name: 'v2', storage: false })]);
    const { changes } = compareCrds(after, crdOf([v1(), v2()]));
    const found = changes.filter(({ kind }) => kind === 'field-removed');
    expect(found.map(({ version: name, witness }) => [name, witness?.object?.apiVersion])).toEqual([
      ['v1', 'example.com/v1'],
      ['v2', 'example.com/v2'],
    ]);
  });

  test('status that is a subresource is written by a request of its own', () => {
    const withStatus = (replicas: CrdSchema): Crd =>
      crdOf([
        version(
          { type: 'object', properties: { status: { type: 'object', properties: { replicas } } } },
          { subresources: { status: {} } },
        ),
      ]);
    const { changes } = compareCrds(withStatus({ type: 'integer' }), withStatus({ type: 'integer', minimum: 0 }));
    expect(changes[0]?.witness).toMatchObject({
      outcome: 'request-fails',
      request: 'PUT /apis/example.com/v1/namespaces/default/widgets/example/status',
      object: { status: { replicas: -1 } },
    });
  });

  test.each<{ reason: string; more: CrdSchema; manifests: ChangeClass }>([
    { reason: 'it is silently dropped', more: {}, manifests: 'risky' },
    { reason: 'it must be there, and is left out on a create', more: { required: ['status'] }, manifests: 'breaking' },
    {
      reason: 'a rule wants it there',
      more: { 'x-kubernetes-validations': [{ rule: '!has(self.spec) || has(self.status)' }] },
      manifests: 'breaking',
    },
    {
      reason: 'a rule does without it',
      more: { 'x-kubernetes-validations': [{ rule: '!has(self.status) || has(self.spec)' }] },
      manifests: 'risky',
    },
  ])('status becomes a subresource: $reason', ({ more, manifests }) => {
    const whole: CrdSchema = {
      type: 'object',
      properties: { spec: { type: 'object' }, status: { type: 'object', properties: { ready: { type: 'boolean' } } } },
      ...more,
    };
    const { changes } = compareCrds(crdOf([version(whole)]), crdOf([version(whole, { subresources: { status: {} } })]));
    expect(changes).toMatchObject([{ kind: 'status-subresource-added', storedObjects: 'safe', manifests }]);
    expect(changes[0]?.witness?.object?.status !== undefined).toBe(manifests === 'breaking');
  });

  test('the same input has the same output, whatever the order of keys', () => {
    const before = crdOf(wider);
    const turned = (value: unknown): unknown =>
      typeof value !== 'object' || value === null || Array.isArray(value)
        ? value
        : Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, member]) => [key, turned(member)]),
          );
    const after = crdOf(schema);
    const text = JSON.stringify(compareCrds(before, after));
    expect(JSON.stringify(compareCrds(structuredClone(before), structuredClone(after)))).toBe(text);
    expect(JSON.stringify(compareCrds(turned(before) as Crd, turned(after) as Crd))).toBe(text);
  });
});
