import { describe, expect, test } from 'vitest';
import { ApiError, type ListOptions, type Resource, type UnknownObject } from '../../../runtime/index.ts';
import { deadlineIn } from '../../review/deadline.ts';
import type { AdmissionRequest } from '../../review/decode.ts';
import { HttpError } from '../../review/http-error.ts';
import { namespaceGate } from './gate.ts';

const annotation = 'platform.company.com/confirm-delete';
const deleting = { deletionTimestamp: '2026-01-31T12:00:00Z' };

const requestOf = (metadata: object = {}, over: object = {}): AdmissionRequest =>
  ({
    uid: 'r',
    name: 'team-backend',
    namespace: 'team-backend',
    kind: { group: '', version: 'v1', kind: 'Namespace' },
    operation: 'DELETE',
    userInfo: { username: 'ada' },
    oldObject: { metadata: { name: 'team-backend', uid: 'u-1', ...metadata } },
    ...over,
  }) as AdmissionRequest;

/** Objects by plural: each a name, or a name that is being deleted; or an error. */
type World = Readonly<Record<string, readonly string[] | Error>>;

const named = (name: string): UnknownObject =>
  ({ metadata: { name: name.replace('†', ''), ...(name.endsWith('†') ? deleting : {}) } }) as UnknownObject;

function gateOver(world: World) {
  const asked: string[] = [];
  const list = async ({ plural }: Resource, { namespace, limit = 0, continue: next = '0' }: ListOptions = {}) => {
    asked.push(`${namespace}/${plural} ${limit}`);
    const there = world[plural] ?? [];
    if (there instanceof Error) throw there;
    const end = Number(next) + limit;
    const rest = there.length - end;
    return {
      items: there.slice(Number(next), end).map(named),
      metadata: { resourceVersion: '1', ...(rest > 0 ? { continue: String(end), remainingItemCount: rest } : {}) },
    };
  };
  return { asked, gate: namespaceGate({ list } as Parameters<typeof namespaceGate>[0]) };
}

const answering = (status: number, reason: string) =>
  new ApiError({ doing: 'list', status, reason, message: reason } as never);
const many = (count: number, mark = '') => Array.from({ length: count }, (_, index) => `n${index}${mark}`);

describe('a Namespace that is deleted', () => {
  const denials: { reason: string; world: World; metadata?: object; says: string[] }[] = [
    {
      reason: 'holds one object',
      world: { databases: ['users'] },
      says: [
        'team-backend: deleting a Namespace deletes everything in it, including data, and it contains 1 Database (users) of the platform',
      ],
    },
    {
      reason: 'holds several of several kinds',
      world: { applications: ['shop'], databases: many(5), secrets: ['key'] },
      says: ['it contains 1 Application (shop), 5 Databases (n0, n1, n2, …) and 1 Secret (key) of the platform'],
    },
    {
      reason: 'holds very many',
      world: { topics: many(1000) },
      says: ['it contains about 1000 Topics (n0, n1, n2, …) of the platform'],
    },
    {
      reason: 'holds one that stays behind many that go',
      world: { services: [...many(700, '†'), 'last'] },
      says: ['it contains 1 Service (last) of the platform'],
    },
    {
      reason: 'holds something, and not every kind can be looked at',
      world: { caches: ['sessions'], topics: answering(403, 'Forbidden') },
      says: ['1 Cache (sessions) of the platform (not all could be counted: '],
    },
    {
      reason: 'was confirmed under another uid, which was that of an earlier Namespace',
      world: { databases: ['users'] },
      metadata: { annotations: { [annotation]: 'u-0' } },
      says: ['The present annotation is for an earlier Namespace with this name'],
    },
    {
      reason: 'was confirmed without saying which',
      world: { databases: ['users'] },
      metadata: { annotations: { [annotation]: 'true' } },
      says: ['1 Database (users)'],
    },
  ];
  test.each(denials)('is kept where it $reason', async ({ world, metadata, says }) => {
    const { violations } = await gateOver(world).gate.evaluate(requestOf(metadata), deadlineIn(60_000));
    expect(violations).toMatchObject([{ gate: 'namespaces', code: 'NamespaceNotEmpty' }]);
    const said = violations.map(({ message, next }) => `${message}. ${next}`).join();
    for (const words of [...says, `kubectl annotate namespace team-backend --overwrite ${annotation}=u-1`])
      expect(said).toContain(words);
  });

  const gone: { reason: string; world: World; metadata?: object; lists?: number }[] = [
    { reason: 'holds nothing of the platform', world: {} },
    { reason: 'holds only what is being deleted', world: { databases: ['users†'], applications: ['shop†'] } },
    { reason: 'holds much that is being deleted', world: { databases: many(700, '†') }, lists: 6 + 2 },
    { reason: 'is in a cluster without the kinds', world: { databases: answering(404, 'NotFound') } },
    { reason: 'is being deleted already', world: { databases: ['users'] }, metadata: deleting, lists: 0 },
    { reason: 'is empty and was confirmed', world: {}, metadata: { annotations: { [annotation]: 'u-1' } } },
  ];
  test.each(gone)('goes without a word where it $reason', async ({ world, metadata, lists = 6 }) => {
    const { gate, asked } = gateOver(world);
    const found = await gate.evaluate(requestOf(metadata), deadlineIn(60_000));
    expect(found).toEqual({ violations: [], warnings: [], patches: [] });
    expect(asked).toHaveLength(lists);
    expect(asked.every((each) => each.startsWith('team-backend/'))).toBe(true);
  });

  const confirmed: { reason: string; world: World; says: string }[] = [
    { reason: 'with what it holds', world: { databases: ['users'] }, says: '1 Database (users) of the platform' },
    {
      reason: 'although nobody knows what it holds',
      world: { databases: answering(500, 'InternalError') },
      says: 'platform objects (not all could be counted: ',
    },
  ];
  test.each(confirmed)('goes where it was confirmed: $reason', async ({ world, says }) => {
    const request = requestOf({ annotations: { [annotation]: 'u-1' } });
    const found = await gateOver(world).gate.evaluate(request, deadlineIn(60_000));
    expect(found.violations).toEqual([]);
    expect(found.warnings).toHaveLength(1);
    expect(found.warnings[0]).toContain(`namespaces: team-backend is deleted with ${says}`);
    expect(found.auditAnnotations).toMatchObject({ 'namespace-confirmed-by': 'ada' });
  });

  test('is left to the failurePolicy where the API server does not say what it holds', async () => {
    const { gate } = gateOver({ databases: answering(500, 'InternalError') });
    await expect(gate.evaluate(requestOf(), deadlineIn(60_000))).rejects.toThrow(HttpError);
  });

  test('is left to the failurePolicy where time is up', async () => {
    const list = (_: Resource, { signal }: ListOptions = {}) =>
      new Promise<never>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    const gate = namespaceGate({ list } as Parameters<typeof namespaceGate>[0]);
    await expect(gate.evaluate(requestOf(), deadlineIn(1))).rejects.toThrow('the time limit was reached');
  });
});

test.each([
  { reason: 'deletion', over: {}, concerned: true },
  { reason: 'creation', over: { operation: 'CREATE' }, concerned: false },
  { reason: 'change', over: { operation: 'UPDATE' }, concerned: false },
  { reason: 'finalization', over: { operation: 'UPDATE', subResource: 'finalize' }, concerned: false },
  {
    reason: 'namesake in another group',
    over: { kind: { group: 'example.com', version: 'v1', kind: 'Namespace' } },
    concerned: false,
  },
])('its $reason is the gate’s to evaluate: $concerned', ({ over, concerned }) => {
  expect(gateOver({}).gate.matches(requestOf({}, over))).toBe(concerned);
});
