/** The result for each verdict, with a simulated comparison. test/crd-gate runs on a real API server. */
import { describe, expect, test } from 'vitest';
import type { Change, CrdIssue, Verdict } from '../../../crd-compat/index.ts';
import type { Client } from '../../../runtime/index.ts';
import { deadlineIn } from '../../review/deadline.ts';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { type Compared, startComparison } from './comparison.ts';
import { type Comparer, type Comparers, ComparisonFailed } from './comparison-pool.ts';
import { type CrdGateOptions, crdGate } from './gate.ts';

const definition = (maximum?: number, over: { metadata?: object; status?: object; served?: boolean } = {}): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com', uid: 'uid-1', ...over.metadata },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [{ name: 'v1', served: over.served ?? true, storage: true, maximum }],
  },
  status: over.status ?? { conditions: [{ type: 'Established', status: 'True' }] },
});

const requestOf = (operation: 'CREATE' | 'UPDATE' | 'DELETE', object?: Json, oldObject?: Json): AdmissionRequest =>
  ({
    uid: 'u',
    name: 'widgets.example.com',
    kind: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
    operation,
    userInfo: { username: 'ada' },
    ...(object === undefined ? {} : { object }),
    ...(oldObject === undefined ? {} : { oldObject }),
  }) as AdmissionRequest;

const narrowed: Change = {
  version: 'v1',
  path: '.spec.size',
  kind: 'maximum-added' as Change['kind'],
  class: 'breaking',
  storedObjects: 'breaking',
  manifests: 'breaking',
  message: 'A maximum of 10 was added.',
  hits: 'objects with .spec.size over 10',
  advice: 'Keep it as it is.',
  decidedBy: 'acceptance',
  witness: {
    outcome: 'refused',
    object: { spec: { size: 11 } },
    because: '.spec.size: 11 is more than the maximum 10',
  },
};
const digest = `sha256:${'a'.repeat(64)}`;
const verdictOf = (...changes: Change[]): Verdict => ({
  name: 'widgets.example.com',
  verdict: changes.some((change) => change.class === 'breaking') ? 'breaking' : changes.length > 0 ? 'risky' : 'safe',
  changes,
  digest,
});
const breaking = verdictOf(narrowed);
const { witness: _, ...maybe } = narrowed;
const riskyChange: Change = { ...maybe, class: 'risky', storedObjects: 'risky', manifests: 'risky' };
const risky = verdictOf(riskyChange);

interface World {
  compared?: Compared | Error;
  /** The number of stored objects, and of those that break. */
  objects?: number;
  broken?: number;
  /** The response of the API server to a list. */
  status?: number;
  client?: boolean;
  allowed?: boolean;
  /** Whether the user may read the objects. */
  reader?: boolean;
  /** The definition in the cluster, if it is not the one of the review. */
  live?: Json;
  /** Collects the paths of requests. */
  asked?: string[];
}

async function judged(request: AdmissionRequest, world: World = {}, options: CrdGateOptions = {}) {
  const { compared = { verdict: breaking }, objects = 0, broken = 0, status = 200 } = world;
  const comparer: Comparer = {
    async compare() {
      if (compared instanceof Error) throw compared;
      return compared;
    },
    async add() {
      const first = Array.from({ length: Math.min(broken, 1) }, () => ({
        namespace: 'default',
        name: 'one',
        reasons: ['.spec.size: 11 is more than 10'],
        paths: ['.spec.size'],
      }));
      return { next: undefined, remaining: undefined, objects, count: { checked: objects, broken, first } };
    },
    release() {},
  };
  const items = Array.from({ length: Math.min(1, objects) }, () => ({
    metadata: { namespace: 'default', name: 'one' },
  }));
  const metadata = { remainingItemCount: Math.max(0, objects - 1) };
  const client = {
    request: async ({ path }: { path: string }) => ({
      path: world.asked?.push(path),
      status,
      headers: {},
      warnings: [],
      text: JSON.stringify({ items, metadata, message: 'why' }),
    }),
    get: async () => world.live ?? request.oldObject,
    list: async () => ({ items: [], metadata: {} }),
  } as unknown as Client;
  const gate = crdGate({
    ...options,
    client: world.client === false ? undefined : client,
    comparers: { take: async () => comparer, stop: async () => {} },
    ask: () => async (questions) =>
      questions.map((question) => ({
        allowed: (question.kind === 'resource' && question.verb === 'get' ? world.reader : world.allowed) === true,
      })),
  });
  expect(gate.matches(request)).toBe(true);
  const { violations, warnings, auditAnnotations } = await gate.evaluate(request, deadlineIn(30_000));
  return { codes: violations.map(({ code }) => code), violations, warnings, auditAnnotations };
}

const update = (after: Json = definition(10), before: Json = definition()) => requestOf('UPDATE', after, before);

describe('a change', () => {
  test('of labels alone is not even compared', async () => {
    const found = await judged(update(definition(1, { metadata: { labels: { a: 'b' } } }), definition(1)), {
      compared: new Error('asked'),
    });
    expect(found).toEqual({ codes: [], violations: [], warnings: [], auditAnnotations: undefined });
  });

  test('that is safe is admitted and recorded in the audit log', async () => {
    const { codes, warnings, auditAnnotations } = await judged(update(), { compared: { verdict: verdictOf() } });
    expect({ codes, warnings }).toEqual({ codes: [], warnings: [] });
    expect(auditAnnotations).toMatchObject({ 'crd-verdict': 'safe', 'crd-digest': digest });
  });

  test('that breaks is denied with all there is to know', async () => {
    const { violations } = await judged(update(), { objects: 3, broken: 2, reader: true });
    expect(violations.map(({ message }) => message)).toEqual([
      'widgets.example.com: 1 breaking change; 2 of 3 stored objects would break, first: default/one: .spec.size: 11 is more than 10',
      'v1 .spec.size (maximum-added): A maximum of 10 was added; hits objects with .spec.size over 10; for example {"spec":{"size":11}}: .spec.size: 11 is more than the maximum 10',
    ]);
    expect(violations[0]?.next).toContain(`uid: uid-1, digest: "${digest}"`);
    expect(violations[1]).toMatchObject({ code: 'maximum-added', field: 'v1 .spec.size', next: 'Keep it as it is.' });
  });

  test('names the objects that the user must not read, and their paths, without values', async () => {
    const { violations } = await judged(update(), { objects: 3, broken: 2 });
    expect(violations[0]?.message).toContain('2 of 3 stored objects would break, first: default/one: .spec.size (');
    expect(violations[0]?.message).not.toContain('11');
  });

  test('reads objects by the definition in the cluster, not by the one in the review', async () => {
    const asked: string[] = [];
    const claim = { ...(definition().spec as Json), group: '', names: { plural: 'secrets', kind: 'Secret' } };
    const request = requestOf('UPDATE', definition(10), { ...definition(), spec: claim });
    await judged(request, { objects: 1, live: definition(), asked });
    expect(asked).toEqual(['/apis/example.com/v1/widgets']);
  });

  test('reports nothing about objects to a caller that is not the API server', async () => {
    const forged = { ...update(), caller: { trusted: false } } as AdmissionRequest;
    const { violations } = await judged(forged, { objects: 3, broken: 2, reader: true });
    expect(violations[0]?.message).toContain('stored objects could not be checked: the webhook cannot authenticate');
    const { warnings, codes } = await judged(forged, { objects: 3, broken: 2, compared: { verdict: risky } });
    expect({ codes, warnings: warnings.join() }).toMatchObject({
      codes: [],
      warnings: expect.stringContaining('could not be checked'),
    });
    const deleted = { ...requestOf('DELETE', undefined, definition()), caller: { trusted: false } } as AdmissionRequest;
    const refusal = await judged(deleted, { objects: 3 });
    expect(refusal.codes).toEqual(['StoredObjectsExist']);
    expect(refusal.violations[0]?.message).not.toMatch(/one|3/);
  });

  test.each([
    '',
    '..',
    '../secrets',
    'a/../b',
    'widgets%2e',
    'widgets?x=y',
    'widgets#x',
    'WIDGETS',
    `${'a'.repeat(254)}`,
  ])('of a definition called %j reads nothing', async (name) => {
    const named = (maximum?: number) => definition(maximum, { metadata: { name } });
    const request = { ...requestOf('UPDATE', named(10), named()), name };
    const { violations } = await judged(request, { objects: 3, broken: 2, reader: true });
    expect(violations[0]?.message).toContain('no CustomResourceDefinition of this name');
  });

  test.each([
    { reason: 'no object breaks', world: { objects: 3 }, codes: [], says: 'none of 3 stored objects would break' },
    {
      reason: 'an object breaks',
      world: { objects: 3, broken: 1 },
      codes: ['BreakingChange', 'maximum-added'],
      says: '',
    },
    { reason: 'objects cannot be read', world: { status: 500 }, codes: ['StoredObjectsUnknown'], says: '' },
    {
      reason: 'it is not established, and has none',
      world: { status: 404 },
      before: { status: {} },
      codes: [],
      says: 'A maximum',
    },
    {
      reason: 'it is established, and there are none to be found',
      world: { status: 404 },
      codes: ['StoredObjectsUnknown'],
      says: '',
    },
    { reason: 'no version is served', world: {}, before: { served: false }, codes: ['StoredObjectsUnknown'], says: '' },
    { reason: 'there is no cluster to read from', world: { client: false }, codes: [], says: 'could not be checked' },
  ])('that is risky: $reason', async ({ world, codes, says, before }) => {
    const found = await judged(update(definition(10), definition(undefined, before)), {
      compared: { verdict: risky },
      ...world,
    });
    expect(found.codes).toEqual(codes);
    expect(found.warnings.join('\n')).toContain(says);
  });

  describe('that is risky, while objects cannot be read', () => {
    const whole = { ...riskyChange, version: '' };
    const renamed = { ...whole, path: 'spec.names.shortNames', storedObjects: 'safe' } as const;
    const webhook = { ...whole, path: 'spec.conversion.webhook.clientConfig' };

    test.each([
      {
        reason: 'a short name is of no object',
        changes: [{ ...renamed, kind: 'short-name-removed' as const }],
        denied: false,
      },
      {
        reason: 'how versions are converted is not to be seen in what is stored',
        changes: [{ ...webhook, kind: 'conversion-webhook-changed' as const }],
        denied: false,
      },
      {
        reason: 'both',
        changes: [
          { ...renamed, kind: 'short-name-removed' as const },
          { ...webhook, kind: 'conversion-strategy-changed' as const },
        ],
        denied: false,
      },
      {
        reason: 'one that is safe for all that is stored',
        changes: [{ ...riskyChange, kind: 'list-type-changed' as const, storedObjects: 'safe' as const }],
        denied: false,
      },
      {
        reason: 'one of several that depend on objects',
        changes: [{ ...webhook, kind: 'conversion-webhook-changed' as const }, riskyChange],
        denied: true,
      },
    ])('$reason, denied: $denied', async ({ changes, denied }) => {
      const found = await judged(update(), { compared: { verdict: verdictOf(...changes) }, status: 500 });
      expect(found.codes).toEqual(denied ? ['StoredObjectsUnknown'] : []);
      if (!denied) expect(found.warnings.join('\n')).toContain('A maximum of 10 was added');
    });

    test('objects that cannot affect the result are not read', async () => {
      const compared = { verdict: verdictOf({ ...renamed, kind: 'short-name-removed' }) };
      const { codes, auditAnnotations } = await judged(update(), { compared, objects: 3, broken: 1 });
      expect(codes).toEqual([]);
      expect(auditAnnotations).not.toHaveProperty('crd-stored-objects');
    });
  });

  test('that is risky and whose objects cannot be read is admitted with a warning, if so configured', async () => {
    const found = await judged(update(), { compared: { verdict: risky }, status: 500 }, { whenIncomplete: 'warn' });
    expect(found.codes).toEqual([]);
    expect(found.warnings.at(-1)).toContain('GET /apis/example.com/v1/widgets returned 500: why');
  });

  test.each([
    { reason: 'nothing is stored', world: {}, change: narrowed, denied: false },
    { reason: 'something is stored, and manifests break', world: { objects: 1 }, change: narrowed, denied: true },
    {
      reason: 'something is stored, and only objects could break',
      world: { objects: 1 },
      change: { ...narrowed, manifests: 'safe' as const },
      denied: false,
    },
    {
      reason: 'a version breaks that is not served',
      world: { objects: 1 },
      change: { ...narrowed, version: 'v1alpha1' },
      denied: false,
    },
    {
      reason: 'the whole definition breaks',
      world: { objects: 1 },
      change: { ...narrowed, version: '' },
      denied: true,
    },
    {
      reason: 'an object breaks',
      world: { objects: 1, broken: 1 },
      change: { ...narrowed, manifests: 'safe' as const },
      denied: true,
    },
    { reason: 'objects cannot be read', world: { status: 500 }, change: narrowed, denied: true },
  ])('that breaks what nobody uses, where that is allowed: $reason, denied: $denied', async ({
    world,
    change,
    denied,
  }) => {
    const found = await judged(update(), { compared: { verdict: verdictOf(change) }, ...world }, { allowUnused: true });
    expect(found.codes.length > 0).toBe(denied);
    if (!denied) expect(found.warnings[0]).toContain('nothing uses what it breaks');
  });
});

describe('what cannot be compared', () => {
  const issues: CrdIssue[] = [
    { code: 'not-structural', path: 'spec.versions[0]', message: 'It has no type.', next: 'Give it one.' },
  ];

  test.each([
    { side: 'before' as const, says: 'the stored definition cannot be compared' },
    { side: 'after' as const, says: 'the new definition cannot be compared' },
  ])('is denied: $side', async ({ side, says }) => {
    const { violations } = await judged(update(), { compared: { unreadable: side, issues } });
    expect(violations[0]?.message).toContain(says);
    expect(violations[0]?.next).toMatch(/sha256:[0-9a-f]{64}/);
    expect(violations[1]).toMatchObject({
      code: 'not-structural',
      message: 'spec.versions[0]: It has no type',
      next: 'Give it one.',
    });
  });

  test('is allowed by the annotation of exactly this change, and by no other', async () => {
    const world = { compared: { unreadable: 'before' as const, issues }, allowed: true };
    const options = { environment: 'dev' as const };
    const first = await judged(update(), world, options);
    const printed = /sha256:[0-9a-f]{64}/.exec(first.violations[0]?.next ?? '')?.[0] ?? '';
    const annotations = { 'platform.company.com/allow-breaking': printed };
    expect((await judged(update(definition(10, { metadata: { annotations } })), world, options)).codes).toEqual([]);
    expect((await judged(update(definition(9, { metadata: { annotations } })), world, options)).codes).toContain(
      'Unreadable',
    );
  });

  test.each([
    { reason: 'because its thread has ended', error: new ComparisonFailed('out of memory'), says: 'out of memory' },
    {
      reason: 'because of a mistake of ours',
      error: new TypeError('x is not a function'),
      says: 'see the log of kidp',
    },
  ])('is denied: $reason', async ({ error, says }) => {
    const { codes, violations } = await judged(update(), { compared: error });
    expect(codes).toEqual(['ComparisonFailed']);
    expect(violations[0]?.message).toContain(says);
  });

  test.each([
    { code: 'too-deep' as const, codes: ['too-deep'], warnings: 0 },
    { code: 'too-large' as const, codes: ['too-large'], warnings: 0 },
    { code: 'not-structural' as const, codes: [], warnings: 1 },
  ])('and is new is denied only where it is too much: $code', async ({ code, codes, warnings }) => {
    const compared = { unreadable: 'after' as const, issues: [{ ...issues[0], code }] as CrdIssue[] };
    const found = await judged(requestOf('CREATE', definition()), { compared });
    expect(found.codes).toEqual(codes);
    expect(found.warnings).toHaveLength(warnings);
  });
});

describe('what no API server would send', () => {
  /** The comparison without a thread. */
  const inline: Comparers = {
    async take() {
      const comparison = startComparison();
      return {
        compare: async (before, after) => comparison.compare(before, after),
        add: async (list) => comparison.add(list),
        release() {},
      };
    },
    async stop() {},
  };
  const spec = definition().spec as Json;

  test.each([
    { reason: 'no spec', after: {} },
    { reason: 'a spec that is a text', after: { spec: 'all' } },
    { reason: 'a spec that is a list', after: { spec: [] } },
    { reason: 'versions that are none', after: { spec: { ...spec, versions: null } } },
    { reason: 'versions that are texts', after: { spec: { ...spec, versions: ['v1'] } } },
    { reason: 'a schema that is a number', after: { spec: { ...spec, versions: [{ name: 'v1', schema: 7 }] } } },
    { reason: 'names that are missing', after: { spec: { ...spec, names: undefined } } },
    { reason: 'metadata that is a text', after: { ...definition(7), metadata: 'none' } },
  ])('is denied as a change, and answered as anything else: $reason', async ({ after }) => {
    const gate = crdGate({ comparers: inline });
    const object = after as Json;
    const changed = await gate.evaluate(update(object), deadlineIn(30_000));
    expect(changed.violations).not.toEqual([]);
    const undone = await gate.evaluate(update(definition(10), object), deadlineIn(30_000));
    expect(undone.violations).not.toEqual([]);
    const created = await gate.evaluate(requestOf('CREATE', object), deadlineIn(30_000));
    expect([...created.violations, ...created.warnings]).not.toEqual([]);
    const deleted = await gate.evaluate(requestOf('DELETE', undefined, object), deadlineIn(30_000));
    expect(deleted.violations).not.toEqual([]);
  });
});

describe('the annotation', () => {
  const annotations = { 'platform.company.com/allow-breaking': digest };
  const annotated = update(definition(10, { metadata: { annotations } }));

  test.each([
    {
      reason: 'by who may',
      allowed: true,
      environment: 'staging' as const,
      denied: false,
      says: 'allowed by the annotation',
    },
    {
      reason: 'by a user without the verb',
      allowed: false,
      environment: 'dev' as const,
      denied: true,
      says: 'does not hold the verb',
    },
    {
      reason: 'in production',
      allowed: true,
      environment: 'production' as const,
      denied: true,
      says: '--environment production',
    },
  ])('$reason, denied: $denied', async ({ allowed, environment, denied, says }) => {
    const found = await judged(annotated, { allowed }, { environment });
    expect(found.codes.length > 0).toBe(denied);
    expect(denied ? found.violations[0]?.next : found.warnings[0]).toContain(says);
  });
});

describe('a deletion', () => {
  const remove = (over: object = {}) => requestOf('DELETE', undefined, definition(1, over));

  test.each([
    { reason: 'there are no objects', world: {}, codes: [] },
    { reason: 'there are some', world: { objects: 2 }, codes: ['StoredObjectsExist'] },
    { reason: 'nobody knows whether there are', world: { status: 403 }, codes: ['StoredObjectsExist'] },
    { reason: 'there is no cluster to ask', world: { client: false }, codes: ['StoredObjectsExist'] },
    { reason: 'it never came to be', world: { status: 404 }, over: { status: {} }, codes: [] },
    { reason: 'no version is served', world: {}, over: { served: false }, codes: ['StoredObjectsExist'] },
    {
      reason: 'it is being deleted already',
      world: { objects: 2 },
      over: { metadata: { deletionTimestamp: '2026-01-31T12:00:00Z' } },
      codes: [],
    },
    {
      reason: 'the annotation confirms it',
      world: { objects: 2 },
      over: { metadata: { annotations: { 'platform.company.com/confirm-delete': 'uid-1' } } },
      codes: [],
    },
    {
      reason: 'the annotation is of another definition',
      world: { objects: 2 },
      over: { metadata: { annotations: { 'platform.company.com/confirm-delete': 'uid-0' } } },
      codes: ['StoredObjectsExist'],
    },
  ])('$reason: $codes', async ({ world, over, codes }) => {
    expect((await judged(remove(over), world)).codes).toEqual(codes);
  });
});

test.each([
  { reason: 'status', over: { subResource: 'status' } },
  { reason: 'another kind', over: { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } } },
])('$reason is none of its business', ({ over }) => {
  const gate = crdGate({ comparers: { take: async () => ({}) as Comparer, stop: async () => {} } });
  expect(gate.matches({ ...update(), ...over })).toBe(false);
});
