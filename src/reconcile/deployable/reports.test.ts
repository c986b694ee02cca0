import { describe, expect, test } from 'vitest';
import { ChannelError, type ReportedPhase, type StatusReport } from '../../broker/index.ts';
import { type Deployable, type DeployableStatus, defaultSettings } from './deployable.ts';
import { acknowledged, notAcknowledged } from './outbox.ts';
import { applyReport, markReportMissed } from './reports.ts';

const now = Date.parse('2026-02-01T12:00:00Z');
const entry = {
  id: 'u/2/1/Deploy',
  action: 'Deploy',
  deploymentId: 'u/2/1',
  createdAt: '2026-02-01T11:59:59Z',
} as const;
const dispatched: DeployableStatus = {
  deploymentId: 'u/2/1',
  requested: 'Deploy',
  targetRef: { name: 'target', broker: 'here' },
  outbox: [],
  awaiting: { since: '2026-02-01T11:59:00Z', queries: 2 },
};
const said = (phase: ReportedPhase, sequence: number) => ({
  lastReport: { broker: 'here', deploymentId: 'u/2/1', sequence, time: '2026-02-01T11:59:30Z', phase },
});
const objectWith = (status: DeployableStatus, kind = 'Database'): Deployable => ({
  apiVersion: 'platform.company.com/v1',
  kind,
  metadata: { name: 'users', namespace: 'team', uid: 'u', generation: 2, resourceVersion: '1' },
  spec: {},
  status,
});
const reportWith = (more: Partial<StatusReport> = {}): StatusReport => ({
  broker: 'here',
  deploymentId: 'u/2/1',
  resource: { apiVersion: 'platform.company.com/v1', kind: 'Database', namespace: 'team', name: 'users', uid: 'u' },
  sequence: 5,
  phase: 'ready',
  ...more,
});
const context = { from: 'here', time: '2026-02-01T12:00:00Z', now, settings: defaultSettings };

describe('a report that changes nothing', () => {
  test.each([
    {
      reason: 'is of an earlier deployment',
      status: dispatched,
      report: { deploymentId: 'u/1/7' },
      outcome: { result: 'stale' },
    },
    {
      reason: 'reports the deletion of an earlier deployment',
      status: { ...dispatched, requested: 'Delete' as const },
      report: { deploymentId: 'u/1/7', phase: 'deleted' as const },
      outcome: { result: 'stale' },
    },
    {
      reason: 'was applied before',
      status: { ...dispatched, ...said('deploying', 5) },
      report: {},
      outcome: { result: 'duplicate' },
    },
    {
      reason: 'was overtaken',
      status: { ...dispatched, ...said('ready', 6) },
      report: {},
      outcome: { result: 'stale' },
    },
    {
      reason: 'is of an unknown deployment',
      status: dispatched,
      report: { deploymentId: 'u/2/2' },
      outcome: { code: 'unknown-deployment' },
    },
    { reason: 'comes before anything was dispatched', status: {}, report: {}, outcome: { code: 'unknown-deployment' } },
    {
      reason: 'is about another object of that name',
      status: dispatched,
      report: { deploymentId: 'v/2/1' },
      outcome: { code: 'unknown-object' },
    },
    {
      reason: 'has no identity',
      status: dispatched,
      report: { deploymentId: 'none' },
      outcome: { code: 'unknown-object' },
    },
    {
      reason: 'is of a broker that it was not dispatched to',
      status: { ...dispatched, targetRef: { name: 'target', broker: 'other' } },
      report: {},
      outcome: { code: 'wrong-broker' },
    },
    {
      reason: 'is in the name of another broker',
      status: dispatched,
      report: { broker: 'other' },
      outcome: { code: 'wrong-broker' },
    },
    {
      reason: 'only repeats the acknowledgement',
      status: dispatched,
      report: { phase: 'accepted' as const },
      outcome: { result: 'applied' },
    },
  ])('$reason', ({ status, report, outcome }) => {
    const taken = applyReport(objectWith(status), reportWith(report), context);
    expect(taken.outcome).toMatchObject(outcome);
    expect(taken.status).toBeUndefined();
  });
});

describe('a report', () => {
  test.each([
    { phase: 'ready' as const, wanted: { phase: 'ready', deployedGeneration: 2 } },
    {
      phase: 'deploying' as const,
      wanted: { phase: 'deploying', awaiting: { since: '2026-02-01T12:00:00.000Z', queries: 2 } },
    },
    {
      phase: 'drifted' as const,
      wanted: { phase: 'deploying', failures: 1, nextAttemptAt: '2026-02-01T12:00:00.000Z' },
    },
    { phase: 'deleted' as const, wanted: { phase: 'deploying', failures: 1 } },
    { phase: 'absent' as const, wanted: { phase: 'deploying', failures: 1 } },
  ])('of $phase', ({ phase, wanted }) => {
    const { status } = applyReport(objectWith(dispatched), reportWith({ phase }), context);
    expect(status).toMatchObject({ ...wanted, lastReport: { phase, sequence: 5, deploymentId: 'u/2/1' } });
    if (phase !== 'deploying') expect(status?.awaiting).toBeUndefined();
  });

  test.each([
    { kind: 'transient' as const, phase: 'deploying', again: true },
    { kind: 'permanent' as const, phase: 'failed', again: false },
    { kind: 'quota' as const, phase: 'failed', again: false },
  ])('of a failure that is $kind', ({ kind, phase, again }) => {
    const error = { class: kind, code: 'Broken', message: 'x' };
    const { status } = applyReport(objectWith(dispatched), reportWith({ phase: 'failed', error }), context);
    expect(status?.phase).toBe(phase);
    expect(status?.nextAttemptAt !== undefined).toBe(again);
  });

  test('implies the acknowledgement before it is written', () => {
    const { status } = applyReport(objectWith({ ...dispatched, outbox: [entry] }), reportWith(), context);
    expect(status).toMatchObject({ outbox: [], dispatchedGeneration: 2, phase: 'ready' });
  });

  test('of ready after a delete request does not end the deletion', () => {
    const { status } = applyReport(objectWith({ ...dispatched, requested: 'Delete' }), reportWith(), context);
    expect(status?.deployedGeneration).toBeUndefined();
    expect(status?.awaiting).toBeDefined();
  });

  test.each([
    { reason: 'the newest generation', generation: 3, deletionTimestamp: undefined },
    { reason: 'the deletion', generation: 3, deletionTimestamp: '2026-02-01T11:58:00Z' },
  ])('on an earlier deployment keeps the blocker of $reason', ({ generation, deletionTimestamp }) => {
    const held = (type: string) => ({
      type,
      status: 'False' as const,
      reason: 'BrokerPaused',
      message: 'Broker here is paused',
      lastTransitionTime: '2026-02-01T11:58:00Z',
      observedGeneration: 3,
    });
    const conditions = [held('Deployed'), held('Ready')];
    const object = objectWith({ ...dispatched, phase: 'pending', observedGeneration: 3, conditions });
    const metadata = {
      ...object.metadata,
      generation,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    };
    for (const phase of ['ready', 'deploying', 'drifted'] as const) {
      const { status } = applyReport({ ...object, metadata }, reportWith({ phase }), context);
      expect(status).toMatchObject({ phase: 'pending', observedGeneration: 3, lastReport: { phase } });
      expect(status?.conditions).toEqual(expect.arrayContaining(conditions));
    }
  });

  test('of a Service has its copies, and of nothing else', () => {
    const report = reportWith({ replicas: 3, readyReplicas: 2, selector: 'a=b', url: 'https://a' });
    const copies = { replicas: 3, readyReplicas: 2, selector: 'a=b', url: 'https://a' };
    expect(applyReport(objectWith(dispatched, 'Service'), report, context).status).toMatchObject(copies);
    expect(applyReport(objectWith(dispatched, 'Cache'), report, context).status).not.toMatchObject(copies);
  });

  test('of repeated drift backs off, and is repaired at once after a quiet time', () => {
    const ready = (minutes: number) => ({
      ...dispatched,
      ...said('ready', 4),
      failures: 3,
      conditions: [
        {
          type: 'Deployed',
          status: 'True' as const,
          reason: 'Deployed',
          message: '',
          lastTransitionTime: new Date(now - minutes * 60_000).toISOString(),
        },
      ],
    });
    const drifted = (minutes: number) =>
      applyReport(objectWith(ready(minutes)), reportWith({ phase: 'drifted' }), context).status;
    expect(drifted(11)).toMatchObject({ failures: 1, nextAttemptAt: new Date(now).toISOString() });
    expect(drifted(1)?.failures).toBe(4);
    expect(Date.parse(drifted(1)?.nextAttemptAt ?? '')).toBeGreaterThanOrEqual(now + 4_000);
    expect(Date.parse(drifted(1)?.nextAttemptAt ?? '')).toBeLessThanOrEqual(now + 8_000);
  });
});

describe('a report that failed verification', () => {
  const { awaiting, ...settled } = { ...dispatched, ...said('ready', 4) };
  test.each([
    { reason: 'is missed if it would have been news', status: settled, report: {}, missed: true },
    { reason: 'is not missed if it is known', status: settled, report: { sequence: 4 }, missed: false },
    {
      reason: 'is not missed of an earlier deployment',
      status: settled,
      report: { deploymentId: 'u/1/7' },
      missed: false,
    },
    {
      reason: 'is not missed for an unknown deployment',
      status: settled,
      report: { deploymentId: 'u/2/2' },
      missed: false,
    },
    {
      reason: 'is not missed from another broker',
      status: settled,
      report: { broker: 'there' },
      missed: false,
    },
    {
      reason: 'is not missed of another object of that name',
      status: settled,
      report: { resource: { ...reportWith().resource, uid: 'v' } },
      missed: false,
    },
    {
      reason: 'changes nothing if an answer is expected: many forged reports cause one write',
      status: { ...settled, awaiting },
      report: {},
      missed: false,
    },
    {
      reason: 'is not missed before the first report',
      status: { ...settled, lastReport: undefined },
      report: {},
      missed: false,
    },
  ])('$reason', ({ status, report, missed }) => {
    const before = objectWith(status as DeployableStatus);
    const after = markReportMissed(before, reportWith(report), now);
    expect(after).toEqual(
      missed ? { ...before.status, awaiting: { since: '2026-02-01T12:00:00.000Z', queries: 0 } } : undefined,
    );
  });

  test('is cleared by the next verified report', () => {
    const status = markReportMissed(objectWith(settled), reportWith({ phase: 'drifted' }), now);
    const taken = applyReport(objectWith(status ?? {}), reportWith({ sequence: 6 }), context);
    expect(taken.status?.phase).toBe('ready');
    expect(taken.status?.awaiting).toBeUndefined();
  });
});

describe('a message', () => {
  const { awaiting, ...unanswered } = dispatched;
  const waiting = objectWith({ ...unanswered, outbox: [entry] });

  test('that was acknowledged leaves the outbox, and its answer is expected', () => {
    const status = acknowledged(waiting, entry.id, now);
    expect(status).toMatchObject({ phase: 'deploying', outbox: [], dispatchedGeneration: 2 });
    expect(status.awaiting?.since).toBe('2026-02-01T12:00:00.000Z');
  });

  test('that was replaced changes nothing', () => {
    expect(acknowledged(waiting, 'u/1/1/Deploy', now)).toBe(waiting.status);
  });

  test.each([
    { reason: 'soon', failure: 'unavailable' as const, least: 500, most: 1_000 },
    {
      reason: 'after the requested delay',
      failure: 'throttled' as const,
      retryAfterMilliseconds: 7_000,
      least: 7_000,
      most: 7_000,
    },
    { reason: 'much later if it was rejected', failure: 'refused' as const, least: 32_000, most: 64_000 },
  ])('that was not acknowledged is sent again $reason', ({ failure, least, most, ...more }) => {
    const error = new ChannelError({ channel: 'HTTP', failure, message: 'nobody there', ...more });
    const { outbox, phase } = notAcknowledged(waiting, entry.id, { error, now, settings: defaultSettings });
    expect(phase).toBe('pending');
    expect(outbox).toMatchObject([{ attempts: 1, channel: 'HTTP', error: 'nobody there' }]);
    const wait = Date.parse(outbox?.[0]?.nextAttemptAt ?? '') - now;
    expect(wait).toBeGreaterThanOrEqual(least);
    expect(wait).toBeLessThanOrEqual(most);
  });
});

test('the error of a broker is stored without control characters', () => {
  const error = { class: 'permanent' as const, code: 'No\u001b[2JRoom', message: 'full\u202e\nsee the log' };
  const { status } = applyReport(objectWith(dispatched), reportWith({ phase: 'failed', error }), context) as {
    status?: DeployableStatus;
  };
  expect(status?.lastReport?.error).toEqual({ class: 'permanent', code: 'No [2JRoom', message: 'full \nsee the log' });
});
