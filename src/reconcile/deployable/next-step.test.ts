import { describe, expect, test } from 'vitest';
import { ABANDON_CLEANUP_ANNOTATION, CLEANUP_FINALIZER, RETRY_ANNOTATION } from '../../api/index.ts';
import { type Condition, getCondition } from '../../runtime/index.ts';
import { type BrokerFacts, type Deployable, type DeployableStatus, defaultSettings, type Facts } from './deployable.ts';
import { nextStep } from './next-step.ts';

const now = Date.parse('2026-02-01T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(now - minutes * 60_000).toISOString();

const here: BrokerFacts = {
  address: { name: 'here', channel: 'Kafka', kafka: { requestTopic: 'r', statusTopic: 's' } },
  paused: false,
};
const factsWith = (more: Partial<Facts> = {}): Facts => ({
  admission: { admitted: true },
  owner: { end: 'team', team: 'team-backend', path: ['Team backend'], costTags: {} },
  target: { request: { name: 'target', provider: 'test' }, broker: 'here', takesOver: [] },
  broker: (name) => (name === 'here' ? here : undefined),
  settings: defaultSettings,
  ...more,
});
const brokerWith = (more: Partial<BrokerFacts>): Partial<Facts> => ({ broker: () => ({ ...here, ...more }) });

interface Given {
  readonly kind?: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: DeployableStatus;
}
const objectWith = ({ kind = 'Database', metadata, spec, status }: Given = {}): Deployable => ({
  apiVersion: 'platform.company.com/v1',
  kind,
  metadata: {
    name: 'users',
    namespace: 'team-backend',
    uid: 'u',
    generation: 1,
    resourceVersion: '1',
    finalizers: [CLEANUP_FINALIZER],
    ...metadata,
  },
  spec: { targetRef: { name: 'target' }, owner: { kind: 'Team', name: 'backend' }, engine: 'postgresql', ...spec },
  ...(status === undefined ? {} : { status }),
});

const owner = { kind: 'Team', name: 'backend' } as const;
const dispatched: DeployableStatus = {
  owner,
  deploymentId: 'u/1/1',
  attempt: 1,
  requested: 'Deploy',
  targetRef: { name: 'target', broker: 'here' },
  outbox: [],
};
const unacknowledged = {
  id: 'u/1/1/Deploy',
  action: 'Deploy',
  deploymentId: 'u/1/1',
  createdAt: minutesAgo(1),
} as const;
type Phase = NonNullable<NonNullable<DeployableStatus['lastReport']>['phase']>;
const heard = (phase: Phase, more: object = {}) => ({
  lastReport: { broker: 'here', deploymentId: 'u/1/1', sequence: 3, time: minutesAgo(1), phase, ...more },
});
const ready: DeployableStatus = { ...dispatched, deployedGeneration: 1, ...heard('ready') };
const failed = (kind: 'transient' | 'permanent' | 'quota') =>
  heard('failed', { error: { class: kind, code: 'Broken', message: 'it broke' } });
const denied: Partial<Facts> = { admission: { admitted: false, reasons: ['no backup'] } };
const unknown: Partial<Facts> = { admission: { admitted: 'unknown', reasons: ['not read'] } };
const deleting = { deletionTimestamp: '2026-02-01T11:00:00Z', generation: 2 };

const conditionOf = (status: DeployableStatus, type: string) => getCondition(status.conditions as Condition[], type);

/** The status of an object of which two dependencies have the same variable. */
const conflictWith = (bindings: object[]) => ({
  bindings,
  conditions: [
    {
      type: 'DependenciesBound',
      status: 'False',
      reason: 'VariableConflict',
      message: 'both are X',
      lastTransitionTime: minutesAgo(1),
      observedGeneration: 1,
    },
  ],
});

describe('a new deployment', () => {
  test.each([
    { reason: 'of an object that was never deployed', given: {}, facts: {}, id: 'u/1/1', cause: 'first' },
    {
      reason: 'of another generation',
      given: { metadata: { generation: 2 }, status: ready },
      facts: {},
      id: 'u/2/1',
      cause: 'generation',
    },
    {
      reason: 'of another generation replaces an unsent message',
      given: {
        metadata: { generation: 2 },
        status: {
          ...dispatched,
          outbox: [{ id: 'u/1/1/Deploy', action: 'Deploy', deploymentId: 'u/1/1', createdAt: minutesAgo(1) }],
        },
      },
      facts: {},
      id: 'u/2/1',
      cause: 'generation',
    },
    {
      reason: 'though one of two resources with the same variable was left out',
      given: {
        spec: { dependencies: { cacheSelector: {}, topicSelector: { expect: 'Any' } } },
        status: conflictWith([{ kind: 'Cache', namespace: 'n', name: 'c', revision: '2' }]),
      },
      facts: {},
      id: 'u/1/1',
      cause: 'first',
    },
    {
      reason: 'after drift',
      given: { status: { ...ready, ...heard('drifted') } },
      facts: {},
      id: 'u/1/2',
      cause: 'drift',
    },
    {
      reason: 'after drift, though policy would deny it now',
      given: { status: { ...ready, ...heard('drifted') } },
      facts: denied,
      id: 'u/1/2',
      cause: 'drift',
    },
    {
      reason: 'after drift, though its owner is gone',
      given: { status: { ...ready, ...heard('drifted') } },
      facts: { owner: { end: 'missing', path: ['Team backend'], costTags: {} } },
      id: 'u/1/2',
      cause: 'drift',
    },
    {
      reason: 'after an external deletion',
      given: { status: { ...ready, ...heard('deleted') } },
      facts: {},
      id: 'u/1/2',
      cause: 'drift',
    },
    {
      reason: 'if the broker does not know it',
      given: { status: { ...dispatched, ...heard('absent') } },
      facts: {},
      id: 'u/1/2',
      cause: 'lost',
    },
    {
      reason: 'after a transient failure, when the backoff is over',
      given: { status: { ...dispatched, ...failed('transient'), failures: 1, nextAttemptAt: minutesAgo(0) } },
      facts: {},
      id: 'u/1/2',
      cause: 'transient',
    },
    {
      reason: 'on the retry annotation',
      given: {
        metadata: { annotations: { [RETRY_ANNOTATION]: 'b' } },
        status: { ...ready, ...failed('quota'), retried: 'a' },
      },
      facts: {},
      id: 'u/1/2',
      cause: 'retry',
    },
    {
      reason: 'on changed bindings',
      given: {
        status: {
          ...ready,
          bindings: [{ kind: 'Cache', namespace: 'n', name: 'c', revision: '2' }],
          dispatchedBindings: 'x',
        },
      },
      facts: {},
      id: 'u/1/2',
      cause: 'bindings',
    },
    {
      reason: 'on removed bindings',
      given: { status: { ...ready, bindings: [], dispatchedBindings: 'x' } },
      facts: {},
      id: 'u/1/2',
      cause: 'bindings',
    },
    {
      reason: 'on a takeover',
      given: { status: { ...ready, targetRef: { name: 'target', broker: 'old' } } },
      facts: { target: { request: { name: 'target', provider: 'test' }, broker: 'here', takesOver: ['old'] } },
      id: 'u/1/2',
      cause: 'take-over',
    },
  ] as const)('$reason', ({ given, facts, id, cause }) => {
    const object = objectWith(given as unknown as Given);
    const { status, send, cause: found } = nextStep(object, factsWith(facts as Partial<Facts>), now);
    expect({ id: status.deploymentId, cause: found }).toEqual({ id, cause });
    expect(status.outbox).toMatchObject([{ id: `${id}/Deploy`, action: 'Deploy', deploymentId: id }]);
    expect(send).toEqual(status.outbox);
    expect(status).toMatchObject({ requested: 'Deploy', targetRef: { name: 'target', broker: 'here' }, owner });
    expect(conditionOf(status, 'StatusReported')).toMatchObject({ status: 'False', reason: 'PendingWebhookRetry' });
  });

  test.each([
    { reason: 'that has reported', status: ready, former: ['old'] },
    {
      reason: 'that may have received an unacknowledged message',
      status: { ...dispatched, outbox: [{ ...unacknowledged, attempts: 0 }] },
      former: ['old'],
    },
    {
      reason: 'that was never reached',
      status: { ...dispatched, outbox: [{ ...unacknowledged, attempts: 3 }] },
      former: undefined,
    },
    {
      reason: 'that had taken it over itself',
      status: { ...ready, targetRef: { formerBrokers: ['older'] } },
      former: ['older', 'old'],
    },
    {
      reason: 'that had taken it over from the new broker',
      status: { ...ready, targetRef: { formerBrokers: ['here'] } },
      former: ['old'],
    },
  ] as const)('remembers the broker $reason on a takeover', ({ status, former }) => {
    const targetRef = { name: 'target', broker: 'old', ...('targetRef' in status ? status.targetRef : {}) };
    const lastReport = 'lastReport' in status ? { lastReport: { ...status.lastReport, broker: 'old' } } : {};
    const given = {
      ...status,
      ...lastReport,
      targetRef: { ...targetRef, broker: 'old' },
    } as unknown as DeployableStatus;
    const target = { request: { name: 'target', provider: 'test' }, broker: 'here', takesOver: ['old'] };
    for (const metadata of [{}, deleting]) {
      const step = nextStep(objectWith({ metadata, status: given }), factsWith({ target }), now);
      expect(step.status.targetRef).toEqual({
        name: 'target',
        broker: 'here',
        ...(former === undefined ? {} : { formerBrokers: former }),
      });
    }
    // It keeps remembering it.
    const taken = { ...ready, targetRef: { name: 'target', broker: 'here', formerBrokers: ['old'] } };
    const later = nextStep(objectWith({ metadata: deleting, status: taken }), factsWith({ target: undefined }), now);
    expect(later.status.targetRef).toEqual(taken.targetRef);
  });

  test('needs the finalizer first', () => {
    const step = nextStep(objectWith({ metadata: { finalizers: [] } }), factsWith(), now);
    expect(step).toMatchObject({ finalizer: 'add', send: [] });
    expect(step.status.deploymentId).toBeUndefined();
  });

  test.each([
    { reason: 'nothing else is to be done', status: ready, facts: {} },
    { reason: 'the broker is at work', status: { ...dispatched, ...heard('deploying') }, facts: {} },
    { reason: 'a policy denies it now', status: ready, facts: denied },
    { reason: 'its target is gone', status: ready, facts: { target: undefined } },
  ])('gets a removed finalizer back although $reason', ({ status, facts }) => {
    const stripped = objectWith({ metadata: { finalizers: [] }, status });
    expect(nextStep(stripped, factsWith(facts), now)).toMatchObject({ finalizer: 'add', send: [] });
  });

  test('gets no finalizer while a policy denies it and nothing was ever sent', () => {
    expect(nextStep(objectWith({ metadata: { finalizers: [] } }), factsWith(denied), now).finalizer).toBeUndefined();
  });
});

describe('nothing is sent', () => {
  test.each([
    { reason: 'policy denies it', given: {}, facts: denied, type: 'Admitted', why: 'PolicyDenied', phase: 'failed' },
    {
      reason: 'policies are not synced',
      given: {},
      facts: unknown,
      type: 'Admitted',
      why: 'PoliciesNotSynced',
      phase: 'pending',
    },
    {
      reason: 'policies are not synced, not even for a repair',
      given: { status: { ...ready, ...heard('drifted') } },
      facts: unknown,
      type: 'Admitted',
      why: 'PoliciesNotSynced',
      phase: 'deploying',
    },
    {
      reason: 'policy denies another generation of what is ready',
      given: { metadata: { generation: 2 }, status: ready },
      facts: denied,
      type: 'Admitted',
      why: 'PolicyDenied',
      phase: 'failed',
    },
    {
      reason: 'policy denies an object that was never ready, after a transient failure',
      given: { status: { ...dispatched, ...failed('transient'), nextAttemptAt: minutesAgo(1) } },
      facts: denied,
      type: 'Admitted',
      why: 'PolicyDenied',
      phase: 'deploying',
    },
    {
      reason: 'its owner is not the recorded one, not even for a repair',
      given: { status: { ...ready, ...heard('drifted'), owner: { kind: 'Team', name: 'other' } } },
      facts: {},
      type: 'Admitted',
      why: 'OwnerChanged',
      phase: 'deploying',
    },
    {
      reason: 'it was deployed without an owner and has one now',
      given: { metadata: { generation: 2 }, status: { ...ready, owner: undefined } },
      facts: {},
      type: 'Admitted',
      why: 'OwnerChanged',
      phase: 'failed',
    },
    {
      reason: 'its owner does not exist',
      given: {},
      facts: { owner: { end: 'missing', path: ['Team backend'], costTags: {} } },
      type: 'OwnerResolved',
      why: 'OwnerMissing',
      phase: 'pending',
    },
    {
      reason: 'it names no target',
      given: { spec: { targetRef: undefined } },
      facts: {},
      type: 'TargetResolved',
      why: 'NoTarget',
      phase: 'pending',
    },
    {
      reason: 'the target does not exist',
      given: {},
      facts: { target: undefined },
      type: 'TargetResolved',
      why: 'TargetMissing',
      phase: 'pending',
    },
    {
      reason: 'the target has no broker',
      given: {},
      facts: { target: { request: { name: 'target', provider: 'test' }, takesOver: [] } },
      type: 'TargetResolved',
      why: 'NoBroker',
      phase: 'pending',
    },
    {
      reason: 'the broker does not exist',
      given: {},
      facts: { broker: () => undefined },
      type: 'TargetResolved',
      why: 'BrokerMissing',
      phase: 'pending',
    },
    {
      reason: 'the broker is paused',
      given: {},
      facts: brokerWith({ paused: true }),
      type: 'TargetResolved',
      why: 'BrokerPaused',
      phase: 'pending',
    },
    {
      reason: 'the broker lacks the capability',
      given: {},
      facts: brokerWith({ capabilities: ['Database/mysql', 'Cache'] }),
      type: 'TargetResolved',
      why: 'CapabilityMissing',
      phase: 'pending',
    },
    {
      reason: 'a Service has no image',
      given: { kind: 'Service' },
      facts: {},
      type: 'Deployed',
      why: 'NoImage',
      phase: 'pending',
    },
    {
      reason: 'dependencies are not resolved',
      given: { spec: { dependencies: { cacheSelector: {} } } },
      facts: {},
      type: 'Deployed',
      why: 'DependenciesPending',
      phase: 'pending',
    },
    {
      reason: 'dependencies are not bound',
      given: {
        spec: { dependencies: { cacheSelector: {} } },
        status: {
          conditions: [
            {
              type: 'DependenciesBound',
              status: 'False',
              reason: 'NoneFound',
              message: 'no Cache',
              lastTransitionTime: minutesAgo(1),
              observedGeneration: 1,
            },
          ],
        },
      },
      facts: {},
      type: 'Deployed',
      why: 'DependenciesUnbound',
      phase: 'pending',
    },
    {
      reason: 'a conflict of variables left nothing to bind',
      given: { spec: { dependencies: { cacheSelector: {} } }, status: conflictWith([]) },
      facts: {},
      type: 'Deployed',
      why: 'DependenciesUnbound',
      phase: 'pending',
    },
    {
      reason: 'the failure is permanent',
      given: { status: { ...dispatched, ...failed('permanent') } },
      facts: {},
      type: 'Deployed',
      why: 'PermanentError',
      phase: 'failed',
    },
    {
      reason: 'the quota is exceeded',
      given: { status: { ...dispatched, ...failed('quota') } },
      facts: {},
      type: 'Deployed',
      why: 'QuotaExceeded',
      phase: 'failed',
    },
    {
      reason: 'the backoff is not over',
      given: { status: { ...dispatched, ...failed('transient'), nextAttemptAt: minutesAgo(-1) } },
      facts: {},
      type: 'Deployed',
      why: 'TransientError',
      phase: 'deploying',
    },
  ])('because $reason', ({ given, facts, type, why, phase }) => {
    const object = objectWith(given as unknown as Given);
    const { status, send, cause } = nextStep(object, factsWith(facts as Partial<Facts>), now);
    expect(send).toEqual([]);
    expect(cause).toBeUndefined();
    expect(status.deploymentId).toBe(object.status?.deploymentId);
    expect(conditionOf(status, type)?.reason).toBe(why);
    expect(conditionOf(status, type)?.message).not.toBe('');
    expect(conditionOf(status, 'Ready')?.status).not.toBe('True');
    expect(status.phase).toBe(phase);
  });

  test('and a ready object stays ready if only policy changed', () => {
    const { status, send } = nextStep(objectWith({ status: ready }), factsWith(denied), now);
    expect(send).toEqual([]);
    expect(status.phase).toBe('ready');
    expect(conditionOf(status, 'Ready')).toMatchObject({ status: 'True', reason: 'ResourceReady' });
    expect(conditionOf(status, 'Admitted')).toMatchObject({ status: 'False', reason: 'PolicyDenied' });
  });

  test('and nothing is written if nothing changed', () => {
    const once = nextStep(objectWith({ status: ready }), factsWith(), now);
    const object = objectWith({ status: once.status });
    const again = nextStep(object, factsWith(), now + 3_600_000);
    expect(again.status).toBe(object.status);
    expect(again).toMatchObject({ send: [], notes: [] });
    expect(again.wakeAt).toBeUndefined();
  });
});

describe('capabilities', () => {
  test.each([
    { reason: 'a kind covers its engines', kind: 'Database', capabilities: ['Database'], able: true },
    { reason: 'an engine covers itself', kind: 'Database', capabilities: ['Database/postgresql'], able: true },
    { reason: 'an engine covers no other', kind: 'Database', capabilities: ['Database/mysql'], able: false },
    {
      reason: 'a kind without engines is covered by any of it',
      kind: 'Secret',
      capabilities: ['Secret/vault'],
      able: true,
    },
    { reason: 'none covers nothing', kind: 'Secret', capabilities: [], able: false },
    { reason: 'none are reported', kind: 'Secret', capabilities: undefined, able: true },
  ])('$reason', ({ kind, capabilities, able }) => {
    const facts = factsWith(brokerWith(capabilities === undefined ? {} : { capabilities }));
    expect(nextStep(objectWith({ kind }), facts, now).send.length).toBe(able ? 1 : 0);
  });
});

describe('a broker that does not answer', () => {
  const awaiting = (minutes: number, more: object = {}): DeployableStatus => ({
    ...dispatched,
    awaiting: { since: minutesAgo(minutes), ...more },
  });

  test('is waited for', () => {
    const { status, send, wakeAt } = nextStep(objectWith({ status: awaiting(9) }), factsWith(), now);
    expect({ phase: status.phase, send, wakeAt }).toEqual({ phase: 'deploying', send: [], wakeAt: now + 60_000 });
  });

  test('is queried after the timeout, and again', () => {
    const { status, send, notes } = nextStep(objectWith({ status: awaiting(10) }), factsWith(), now);
    expect(status).toMatchObject({ phase: 'unknown', awaiting: { queries: 1, overdue: true } });
    expect(send).toMatchObject([{ id: 'u/1/1/Query/1', action: 'Query', deploymentId: 'u/1/1' }]);
    expect(notes).toMatchObject([{ type: 'Warning', reason: 'NoAnswer' }]);
    expect(conditionOf(status, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'NoAnswer' });
    const later = nextStep(objectWith({ status }), factsWith(), now + 10 * 60_000);
    expect(later.status.outbox).toMatchObject([{ id: 'u/1/1/Query/2' }]);
    expect(later.notes).toEqual([]);
  });
});

describe('a report that may have been lost', () => {
  const missed = (minutes: number, more: object = {}): DeployableStatus => ({
    ...ready,
    ...more,
    awaiting: { since: minutesAgo(minutes), queries: 0 },
  });
  const heardAt = (minutes: number) => brokerWith({ heardAt: now - minutes * 60_000 });
  test.each([
    { reason: 'is queried', status: missed(10), facts: heardAt(1), asks: true },
    { reason: 'is queried if the broker sends no heartbeats', status: missed(10), facts: {}, asks: true },
    { reason: 'is waited for first', status: missed(4.9), facts: heardAt(1), asks: false },
    { reason: 'waits until the broker is verified', status: missed(60), facts: heardAt(61), asks: false },
    {
      reason: 'waits while the broker is paused',
      status: missed(10),
      facts: brokerWith({ paused: true }),
      asks: false,
    },
    {
      reason: 'may concern a failed deployment',
      status: missed(10, failed('permanent')),
      facts: heardAt(1),
      asks: true,
    },
    {
      reason: 'is not queried before a redeployment',
      status: missed(10, heard('drifted')),
      facts: heardAt(1),
      asks: false,
      sends: 'u/1/2/Deploy',
    },
  ])('$reason', ({ status: before, facts, asks, sends }) => {
    const { status, send, wakeAt, notes } = nextStep(objectWith({ status: before }), factsWith(facts), now);
    const ids = asks ? [`u/1/1/Query/${now}`] : sends === undefined ? [] : [sends];
    expect(send.map(({ id }) => id)).toEqual(ids);
    if (sends !== undefined) return;
    expect(wakeAt).toBeGreaterThan(now);
    expect(notes.filter(({ reason }) => reason === 'NoAnswer')).toEqual([]);
    expect(status.phase).toBe(before.lastReport?.phase);
    if (asks) expect(status.awaiting).toEqual({ since: new Date(now).toISOString(), queries: 1 });
  });

  test('is queried again with a new id if the answer is lost too', () => {
    const { status } = nextStep(objectWith({ status: missed(10) }), factsWith(heardAt(1)), now);
    const later = now + 10 * 60_000;
    const again = nextStep(objectWith({ status }), factsWith(brokerWith({ heardAt: later })), later);
    expect(again.status.outbox).toMatchObject([{ id: `u/1/1/Query/${later}` }]);
    expect(again.status.phase).toBe('ready');
  });

  test('is not queried for all objects at the same moment', () => {
    const moments = Array.from({ length: 100 }, (_, index) => {
      const object = objectWith({
        metadata: { uid: `u${index}` },
        status: { ...missed(0), deploymentId: `u${index}/1/1` },
      });
      const lastReport = { ...ready.lastReport, deploymentId: `u${index}/1/1` };
      return (
        nextStep({ ...object, status: { ...object.status, lastReport } as DeployableStatus }, factsWith(), now)
          .wakeAt ?? 0
      );
    });
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(now + 5 * 60_000);
    expect(Math.max(...moments)).toBeLessThanOrEqual(now + 10 * 60_000);
    expect(Math.max(...moments) - Math.min(...moments)).toBeGreaterThan(4 * 60_000);
  });
});

describe('a deletion', () => {
  const asked: DeployableStatus = { ...ready, deploymentId: 'u/2/1', requested: 'Delete' };
  const said = (phase: Phase, deploymentId = 'u/2/1', more: object = {}) => ({
    lastReport: { broker: 'here', deploymentId, sequence: 9, time: minutesAgo(1), phase, ...more },
  });

  test.each([
    { reason: 'nothing was ever sent', status: { owner } },
    { reason: 'it is confirmed', status: { ...asked, ...said('deleted') } },
    { reason: 'a user abandons the cleanup', status: asked, annotations: { [ABANDON_CLEANUP_ANNOTATION]: 'u' } },
  ])('ends if $reason', ({ status, annotations }) => {
    const step = nextStep(objectWith({ metadata: { ...deleting, annotations }, status }), factsWith(denied), now);
    expect(step).toMatchObject({ finalizer: 'remove', send: [] });
    expect(step.notes.map(({ reason }) => reason)).toEqual(annotations === undefined ? [] : ['CleanupAbandoned']);
  });

  test.each([
    { reason: 'is queried', status: ready, id: 'u/2/1', cause: 'deletion' },
    {
      reason: 'has its own id if the generation did not change',
      status: ready,
      id: 'u/1/2',
      cause: 'deletion',
      generation: 1,
    },
    {
      reason: 'replaces an unsent deployment',
      status: {
        ...dispatched,
        outbox: [{ id: 'u/1/1/Deploy', action: 'Deploy' as const, deploymentId: 'u/1/1', createdAt: minutesAgo(1) }],
      },
      id: 'u/2/1',
      cause: 'deletion',
    },
    {
      reason: 'is sent again if the broker does not know it',
      status: { ...asked, ...said('absent') },
      id: 'u/2/2',
      cause: 'lost',
    },
    {
      reason: 'is sent again after a transient failure',
      status: { ...asked, ...said('failed', 'u/2/1', { error: { class: 'transient', code: 'x' } }) },
      id: 'u/2/2',
      cause: 'transient',
    },
  ])('$reason, whatever policy, owner and target say', ({ status, id, cause, generation = 2 }) => {
    const facts = factsWith({ ...unknown, owner: { end: 'missing', path: ['x'], costTags: {} }, target: undefined });
    const object = objectWith({ metadata: { ...deleting, generation }, status });
    const step = nextStep(object, facts, now);
    expect(step).toMatchObject({ cause, status: { deploymentId: id, requested: 'Delete' } });
    expect(step.send).toMatchObject([{ id: `${id}/Delete`, action: 'Delete' }]);
    expect(step.finalizer).toBeUndefined();
  });

  test.each([
    { reason: 'the confirmation is of an earlier deployment', status: { ...asked, ...said('deleted', 'u/1/1') } },
    { reason: 'it was deleted before the request', status: { ...ready, ...heard('deleted') } },
    { reason: 'the broker does not know it', status: { ...asked, ...said('absent') } },
    {
      reason: 'the failure is permanent',
      status: { ...asked, ...said('failed', 'u/2/1', { error: { class: 'permanent', code: 'x' } }) },
    },
    { reason: 'the annotation names another', status: asked, annotations: { [ABANDON_CLEANUP_ANNOTATION]: 'v' } },
  ])('does not end if $reason', ({ status, annotations }) => {
    const step = nextStep(objectWith({ metadata: { ...deleting, annotations }, status }), factsWith(), now);
    expect(step.finalizer).toBeUndefined();
  });

  test.each([
    { reason: 'is gone', facts: { broker: () => undefined }, why: 'BrokerMissing' },
    { reason: 'is paused', facts: brokerWith({ paused: true }), why: 'BrokerPaused' },
  ])('waits if its broker $reason, and says what to do', ({ facts, why }) => {
    const { status, send } = nextStep(objectWith({ metadata: deleting, status: ready }), factsWith(facts), now);
    expect(send).toEqual([]);
    expect(conditionOf(status, 'Ready')?.reason).toBe(why);
    expect(conditionOf(status, 'Ready')?.message).toContain('abandon-cleanup');
  });

  test('that takes too long is reported', () => {
    const status = { ...asked, awaiting: { since: minutesAgo(11) } };
    const step = nextStep(objectWith({ metadata: deleting, status }), factsWith(), now);
    expect(step.status.phase).toBe('unknown');
    expect(conditionOf(step.status, 'Ready')).toMatchObject({ reason: 'DeletionStuck' });
    expect(step.send).toMatchObject([{ action: 'Query', deploymentId: 'u/2/1' }]);
  });
});
