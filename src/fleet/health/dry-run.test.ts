/** A webhook is judged by its own response time, without delays on our side. */
import { describe, expect, it } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import { type Client, ConnectionError, type WriteOptions } from '../../runtime/index.ts';
import { FakeClock, settle } from '../../runtime/testing/index.ts';
import type { HealthState } from '../contract.ts';
import { healthChecker } from './checker.ts';
import { ClusterMirror } from './mirror.ts';
import type { HealthProfile } from './profile.ts';
import { webhookResources } from './resources.ts';
import { Semaphore, WatchBudget } from './semaphore.ts';
import { thresholdsOf } from './thresholds.ts';

const kind = 'ValidatingWebhookConfiguration';
const widgets = { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: false };
const profile: HealthProfile = {
  namespace: 'operators',
  workloads: [],
  webhooks: [{ kind, name: 'widgets' }],
  kinds: [
    {
      definition: 'widgets.test',
      resource: widgets,
      countsGenerations: true,
      reportsGeneration: true,
      example: { apiVersion: 'test/v1', kind: 'Widget', metadata: { name: 'probe' } },
    },
  ],
};
const rules = [{ apiGroups: ['test'], apiVersions: ['*'], resources: ['widgets'], operations: ['CREATE'] }];
const timeout = new ConnectionError({ doing: 'create', failure: 'timeout', message: 'late', hint: '' });
const cutOff = new ConnectionError({ doing: 'create', failure: 'aborted', message: 'the caller gave up', hint: '' });

interface DryRunUnderWay {
  send(): void;
  answer(): void;
  fail(error: Error): void;
}

/** A check of an operator whose webhook may take a second, through a semaphore with one slot. */
function stage() {
  const clock = new FakeClock();
  const cluster = memoryCluster([webhookResources[kind], widgets]);
  cluster.put(webhookResources[kind], {
    metadata: { name: 'widgets' },
    webhooks: [{ name: 'widgets.test', sideEffects: 'None', rules }],
  });
  const gate = new Semaphore(1);
  const mirror = new ClusterMirror({
    gate,
    watches: new WatchBudget(0),
    clock,
    requestMilliseconds: 1_000,
    watchFrom: 100,
  });
  const dryRuns: DryRunUnderWay[] = [];
  const client: Client = {
    ...cluster.client,
    create: (_resource, object, { onSent, signal }: WriteOptions = {}) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(cutOff));
        dryRuns.push({ send: () => onSent?.(), answer: () => resolve(object), fail: reject });
      }),
  };
  const health = healthChecker({ clock });
  /** The objects of the webhook are cached, so only the dry run waits at the semaphore. */
  const beginRound = async () => {
    await mirror.beginRound(client, 1);
    await mirror.get(webhookResources[kind], { name: 'widgets' });
  };
  const look = () =>
    health.look({
      cluster: 'here',
      objects: mirror,
      client: mirror.writer,
      profile,
      thresholds: thresholdsOf({ spec: {} } as never),
    });
  const nextDryRun = async () => {
    await settle();
    const dryRun = dryRuns.shift();
    if (dryRun === undefined) throw new Error('nothing was asked');
    return dryRun;
  };
  return { clock, gate, beginRound, look, nextDryRun, dryRuns };
}

describe('a webhook', () => {
  it('that answers at once is Healthy, however long the semaphore was full', async () => {
    const { clock, gate, beginRound, look, nextDryRun, dryRuns } = stage();
    await beginRound();
    const others = Promise.withResolvers<void>();
    const full = gate.run(() => others.promise);
    const report = look();
    await clock.advance(20_000);
    expect(dryRuns).toHaveLength(0);
    others.resolve();
    await full;
    const dryRun = await nextDryRun();
    dryRun.send();
    await clock.advance(200);
    dryRun.answer();
    expect(await report).toMatchObject({ state: 'Healthy', webhook: { state: 'Healthy' } });
  });

  it('that is slow is Unhealthy, even if the semaphore was full before', async () => {
    const { clock, gate, beginRound, look, nextDryRun } = stage();
    await beginRound();
    const others = Promise.withResolvers<void>();
    const full = gate.run(() => others.promise);
    const report = look();
    await clock.advance(20_000);
    others.resolve();
    await full;
    const dryRun = await nextDryRun();
    dryRun.send();
    await clock.advance(1_100);
    dryRun.answer();
    expect(await report).toMatchObject({ state: 'Unhealthy', webhook: { state: 'Unhealthy' } });
  });

  const rows: {
    reason: string;
    state: HealthState;
    says?: RegExp;
    goes(dryRun: DryRunUnderWay, clock: FakeClock): Promise<void>;
  }[] = [
    {
      reason: 'its dry run waited for a connection, and was answered at once',
      state: 'Healthy',
      async goes(dryRun, clock) {
        await clock.advance(10_000);
        dryRun.send();
        await clock.advance(200);
        dryRun.answer();
      },
    },
    {
      reason: 'it took longer than a second',
      state: 'Unhealthy',
      says: /took 1000 ms or longer/,
      async goes(dryRun, clock) {
        dryRun.send();
        await clock.advance(1_100);
        dryRun.answer();
      },
    },
    {
      reason: 'it was resent and then took longer than a second',
      state: 'Unhealthy',
      says: /took 1000 ms or longer/,
      async goes(dryRun, clock) {
        dryRun.send();
        await clock.advance(900);
        dryRun.send();
        await clock.advance(1_100);
        dryRun.answer();
      },
    },
    {
      reason: 'it was resent and then answered at once',
      state: 'Healthy',
      async goes(dryRun, clock) {
        dryRun.send();
        await clock.advance(900);
        dryRun.send();
        await clock.advance(900);
        dryRun.answer();
      },
    },
    {
      reason: 'it has not answered long after that',
      state: 'Unhealthy',
      says: /a dry run timed out/,
      async goes(dryRun, clock) {
        dryRun.send();
        await clock.advance(3_000);
      },
    },
    {
      reason: 'the platform did not get round to reading the answer',
      state: 'Healthy',
      async goes(dryRun, clock) {
        dryRun.send();
        await clock.advance(500);
        clock.jump(2_000);
        dryRun.answer();
      },
    },
    {
      reason: 'it took longer than a second before the platform was held up',
      state: 'Unhealthy',
      says: /took 1000 ms or longer/,
      async goes(dryRun, clock) {
        dryRun.send();
        await clock.advance(1_100);
        clock.jump(1_000);
        dryRun.answer();
      },
    },
    {
      reason: 'the platform was held up until it was time to give up',
      state: 'Unknown',
      says: /too busy/,
      async goes(dryRun, clock) {
        dryRun.send();
        clock.jump(5_000);
        dryRun.fail(timeout);
      },
    },
    {
      reason: 'no connection was available',
      state: 'Unknown',
      says: /is unreachable: timeout/,
      async goes(dryRun, clock) {
        await clock.advance(18_000);
        dryRun.fail(timeout);
      },
    },
  ];
  for (const { reason, state, says = /^/, goes } of rows) {
    it(`is ${state} where ${reason}`, async () => {
      const { clock, beginRound, look, nextDryRun } = stage();
      await beginRound();
      const report = look();
      await goes(await nextDryRun(), clock);
      const { webhook } = await report;
      expect(webhook.state).toBe(state);
      expect(webhook.message ?? '').toMatch(says);
    });
  }

  it('is called again only in the next round if a dry run could not be sent', async () => {
    const { beginRound, look, nextDryRun, dryRuns } = stage();
    await beginRound();
    const report = look();
    (await nextDryRun()).fail(timeout);
    await report;
    expect((await look()).webhook.state).toBe('Unknown');
    expect(dryRuns).toHaveLength(0);
    await beginRound();
    const next = look();
    const dryRun = await nextDryRun();
    dryRun.send();
    dryRun.answer();
    expect((await next).webhook.state).toBe('Healthy');
  });
});
