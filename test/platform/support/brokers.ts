/** Brokers, targets, Applications and costs on a real API server, as brokers report and other reconcilers write. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { HeartbeatEvent, UsageEvent, VerifiedBroker } from '../../../src/broker/index.ts';
import type { OwnedObject } from '../../../src/reconcile/index.ts';
import type { Client, KubernetesObject, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import {
  create,
  createTeam,
  eventsOf,
  isGone,
  patient,
  type RunningPlatform,
  resourceOf,
  whenCondition,
  writeStatus,
} from './setup.ts';

export function brokerTests(running: () => RunningPlatform): void {
  describe('brokers, targets, Applications and costs', () => {
    let platform: RunningPlatform;
    let client: Client;
    beforeAll(async () => {
      platform = running();
      ({ client } = platform);
    });

    const from = (name: string): VerifiedBroker => ({ name, channel: 'Kafka' });
    const envelope = {
      specversion: '1.0',
      id: 'x',
      source: '/brokers/x',
      subject: 'x',
      datacontenttype: 'application/json',
    } as const;
    const beat = (broker: string, time = new Date().toISOString()): HeartbeatEvent => ({
      ...envelope,
      type: 'com.company.platform.broker.heartbeat.v1',
      time,
      data: { broker, version: '1.2.3', capabilities: ['Database/postgresql', 'Topic'] },
    });

    describe('a Broker and its target', () => {
      test('are ready once it is heard of, gone when it is not, and back when it is', async () => {
        const name = 'heard';
        const target = await create(client, {
          kind: 'DeploymentTarget',
          name,
          spec: { provider: 'onprem', brokerRef: { name } },
        });
        const lost = await whenCondition(client, target, { status: 'False', reason: 'BrokerNotFound' });
        expect(JSON.stringify(lost.status)).toContain('Broker heard does not exist');
        const heartbeat = { intervalSeconds: 1, timeoutSeconds: 4 };
        const broker = await create(client, { kind: 'Broker', name, spec: { channel: 'Kafka', heartbeat } });
        // On a slow machine a beat may be over before anybody has looked.
        const beating = setInterval(
          () => void platform.reconcilers.events.heartbeat(beat(name), from(name)).catch(() => {}),
          500,
        );
        const well = await whenCondition(client, broker, { status: 'True', reason: 'ResourceReady' });
        await whenCondition(client, target, { status: 'True' });
        clearInterval(beating);
        expect(well.status).toMatchObject({
          phase: 'ready',
          version: '1.2.3',
          capabilities: ['Database/postgresql', 'Topic'],
          channel: 'Kafka',
          targets: 1,
        });
        // Nothing is said for longer than its timeout.
        await whenCondition(client, broker, { status: 'False', reason: 'HeartbeatMissed' });
        await whenCondition(client, target, { status: 'False', reason: 'BrokerNotReady' });
        await eventually(async () => (await eventsOf(client, name)).includes('HeartbeatMissed'), patient);
        const again = setInterval(
          () => void platform.reconcilers.events.heartbeat(beat(name), from(name)).catch(() => {}),
          500,
        );
        await whenCondition(client, broker, { status: 'True' });
        await whenCondition(client, target, { status: 'True' });
        clearInterval(again);
      });

      test('a heartbeat that says nothing new is not written, an old one says nothing, another broker’s is refused', async () => {
        const name = 'quiet';
        const broker = await create(client, { kind: 'Broker', name, spec: { channel: 'Kafka' } });
        const { heartbeat } = platform.reconcilers.events;
        const now = new Date();
        expect(await heartbeat(beat(name, now.toISOString()), from(name))).toEqual({ result: 'applied' });
        await whenCondition(client, broker, { status: 'True' });
        const soon = new Date(now.getTime() + 1_000).toISOString();
        await eventually(
          async () => expect(await heartbeat(beat(name, soon), from(name))).toEqual({ result: 'duplicate' }),
          patient,
        );
        const old = new Date(now.getTime() - 3_600_000).toISOString();
        expect(await heartbeat(beat(name, old), from(name))).toEqual({ result: 'stale' });
        expect(await heartbeat(beat(name), from('other'))).toMatchObject({ result: 'refused', code: 'wrong-broker' });
        expect(await heartbeat(beat('nobody'), from('nobody'))).toMatchObject({
          result: 'refused',
          code: 'unknown-object',
        });
        await client.patch(resourceOf('Broker'), { name }, { type: 'merge', body: { spec: { paused: true } } });
        await whenCondition(client, broker, { status: 'False', reason: 'Paused' });
      });

      test('a target without a broker says so', async () => {
        const target = await create(client, { kind: 'DeploymentTarget', name: 'bare', spec: { provider: 'aws' } });
        const { status } = await whenCondition(client, target, { status: 'False', reason: 'NoBroker' });
        expect(JSON.stringify(status)).toContain('set spec.brokerRef');
      });
    });

    describe('an Application', () => {
      test('whose Team comes later belongs to it then, and sums up what it owns by environment', async () => {
        const namespace = 'team-later';
        await client.create(
          { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false },
          { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
        );
        const environments = [
          { name: 'staging', targetRef: { name: 'later-staging' } },
          { name: 'production' },
          { name: 'empty' },
        ];
        const shop = await create(client, {
          kind: 'Application',
          name: 'shop',
          namespace,
          spec: { owner: { kind: 'Team', name: 'later' }, environments },
        });
        await whenCondition(client, shop, { status: 'False', reason: 'OwnerNotFound' });
        const early = { kind: 'Topic', name: 'early', namespace: 'team-later' };
        await create(client, {
          ...early,
          spec: { owner: { kind: 'Application', name: 'shop' } },
          status: { phase: 'ready' },
        });
        await create(client, {
          kind: 'DeploymentTarget',
          name: 'later-prod',
          spec: { provider: 'aws', environment: 'production' },
        });
        await createTeam(client, 'later', { namespace });
        await whenCondition(client, shop, { status: 'True', reason: 'ResourceReady' });
        await eventually(async () => {
          const { labels } = (await client.get(resourceOf('Topic'), early)).metadata;
          expect(labels?.['platform.company.com/team']).toBe(namespace);
        }, patient);
        const owner = { kind: 'Application', name: 'shop' };
        const at = (target: string) => ({ owner, targetRef: { name: target } });
        const web = await create(client, {
          kind: 'Service',
          name: 'web',
          namespace,
          spec: at('later-prod'),
          status: { phase: 'ready' },
        });
        await create(client, {
          kind: 'Service',
          name: 'api',
          namespace,
          spec: at('later-staging'),
          status: { phase: 'deploying' },
        });
        await create(client, {
          kind: 'Database',
          name: 'db',
          namespace,
          spec: at('later-prod'),
          status: { phase: 'failed' },
        });
        await whenCondition(client, shop, { status: 'False', reason: 'ResourcesFailed' });
        // Each kind has its own watch, so events of different kinds are not ordered.
        await eventually(async () => {
          const { status, metadata } = await client.get(resourceOf('Application'), { namespace, name: 'shop' });
          expect(metadata.labels).toMatchObject({ 'platform.company.com/team': namespace });
          expect(status).toMatchObject({
            phase: 'failed',
            owner: { kind: 'Team', name: 'later' },
            services: { total: 2, ready: 1 },
            environments: [
              { name: 'staging', phase: 'deploying', total: 1, ready: 0 },
              { name: 'production', phase: 'failed', total: 2, ready: 1 },
              { name: 'empty', phase: 'pending', total: 0, ready: 0 },
            ],
          });
        }, patient);
        for (const [kind, name] of [
          ['Service', 'api'],
          ['Database', 'db'],
        ] as const) {
          await writeStatus(client, { apiVersion: '', kind, metadata: { name, namespace } }, { phase: 'ready' });
        }
        await whenCondition(client, shop, { status: 'True', reason: 'ResourceReady' });
        await eventually(async () => expect(await statusOf('Team', 'later')).toMatchObject({ resources: 5 }), patient);
        await eventually(
          async () => expect(await statusOf('DeploymentTarget', 'later-prod')).toMatchObject({ resources: 2 }),
          patient,
        );
        expect(web.kind).toBe('Service');
      });
    });

    describe('costs', () => {
      const namespace = 'team-costs';
      const month = '2026-01';
      beforeAll(async () => {
        await whenCondition(
          client,
          await createTeam(client, 'costs', { namespace, costTags: { 'cost-center': '1' } }),
          {
            status: 'True',
          },
        );
        await create(client, {
          kind: 'Application',
          name: 'app',
          namespace,
          spec: { owner: { kind: 'Team', name: 'costs' } },
        });
        await create(client, {
          kind: 'DeploymentTarget',
          name: 'costs',
          spec: { provider: 'aws', brokerRef: { name: 'billing' } },
        });
      });

      const make = (kind: string, name: string, owner: object) =>
        create(client, {
          kind,
          name,
          namespace,
          spec: { owner, targetRef: { name: 'costs' } },
          status: { targetRef: { name: 'costs', broker: 'billing' } },
        });
      const usage = (object: KubernetesObject, amount: string, asOf: string, over: object = {}): UsageEvent => ({
        ...envelope,
        type: 'com.company.platform.usage.reported.v1',
        time: asOf,
        data: {
          broker: 'billing',
          resource: {
            apiVersion: object.apiVersion,
            kind: object.kind as 'Database',
            namespace,
            name: object.metadata.name,
            uid: object.metadata.uid ?? '',
          },
          month,
          currency: 'EUR',
          amount,
          asOf,
          ...over,
        },
      });
      const take = (event: UsageEvent, broker = 'billing') => platform.reconcilers.events.usage(event, from(broker));

      test('accumulate to Application and Team, exactly, whatever order and how often they are reported; what goes is kept', async () => {
        const database = await make('Database', 'db', { kind: 'Application', name: 'app' });
        const cache = await make('Cache', 'cache', { kind: 'Team', name: 'costs' });
        expect(await take(usage(database, '0.10', '2026-01-10T00:00:00Z'))).toEqual({ result: 'applied' });
        expect(await take(usage(database, '0.20', '2026-01-20T00:00:00Z'))).toEqual({ result: 'applied' });
        // Which of the two it is hangs on how fast the cache is; neither changes anything.
        const nothing = { result: expect.stringMatching(/^(stale|duplicate)$/) };
        expect(await take(usage(database, '0.10', '2026-01-10T00:00:00Z'))).toEqual(nothing);
        expect(await take(usage(database, '0.20', '2026-01-20T00:00:00Z'))).toEqual(nothing);
        expect(await take(usage(cache, '0.1', '2026-01-20T00:00:00Z'))).toEqual({ result: 'applied' });
        expect(await take(usage(cache, '7', '2026-01-20T00:00:00Z', { currency: 'USD' }))).toEqual({
          result: 'applied',
        });
        const eur = (amount: string) => ({ month, currency: 'EUR', amount });
        await totals([eur('0.20')], [eur('0.30'), { month, currency: 'USD', amount: '7' }]);

        const doomed = (await client.get(resourceOf('Database'), { namespace, name: 'db' })) as unknown as OwnedObject;
        await platform.reconcilers.settleCosts(doomed);
        await platform.reconcilers.settleCosts(doomed);
        await client.delete(resourceOf('Database'), { namespace, name: 'db' });
        await eventually(() => isGone(client, resourceOf('Database'), { namespace, name: 'db' }), patient);
        await totals([eur('0.20')], [eur('0.30'), { month, currency: 'USD', amount: '7' }]);
        // The last invoice comes when it is gone.
        expect(await take(usage(database, '0.25', '2026-02-01T00:00:00Z'))).toEqual({ result: 'applied' });
        expect(await take(usage(database, '0.22', '2026-01-25T00:00:00Z'))).toEqual({ result: 'stale' });
        await totals([eur('0.25')], [eur('0.35'), { month, currency: 'USD', amount: '7' }]);
      });

      test('of a resource that is gone count once, also in a month in which nothing was reported', async () => {
        const database = await make('Database', 'brief', { kind: 'Team', name: 'costs' });
        const doomed = (await client.get(resourceOf('Database'), { namespace, name: 'brief' })) as never;
        await platform.reconcilers.settleCosts(doomed);
        await platform.reconcilers.settleCosts(doomed);
        await client.delete(resourceOf('Database'), { namespace, name: 'brief' });
        await eventually(() => isGone(client, resourceOf('Database'), { namespace, name: 'brief' }), patient);
        const of = (over: object) => usage(database, '0.5', '2026-04-10T10:45:00Z', { month: '2026-04', ...over });
        const all = [
          of({}),
          of({}),
          of({ amount: '0.4', asOf: '2026-04-10T10:30:00Z' }),
          of({ month: '2026-06', amount: '3', asOf: '2026-06-01T00:10:00Z' }),
        ];
        // At once, as from several partitions of Kafka.
        await Promise.all(all.map((event) => take(event)));
        await eventually(async () => {
          const { costs } = (await statusOf('Team', 'costs')) as { costs: UnknownObject[] };
          expect(costs).toContainEqual({ month: '2026-04', currency: 'EUR', amount: '0.5' });
          expect(costs).toContainEqual({ month: '2026-06', currency: 'EUR', amount: '3' });
        }, patient);
        const late = of({ broker: 'former', final: true });
        expect(await take(late, 'former')).toMatchObject({ code: 'wrong-broker' });
      });

      test('of two brokers add up where the one took over from the other, in whichever order they come', async () => {
        const july = (object: KubernetesObject, amount: string, asOf: string, over: object = {}) =>
          usage(object, amount, asOf, { month: '2026-07', ...over });
        const cache = await make('Cache', 'moved', { kind: 'Team', name: 'costs' });
        expect(await take(july(cache, '240', '2026-07-20T00:00:00Z'))).toEqual({ result: 'applied' });
        const targetRef = { name: 'costs', broker: 'next', formerBrokers: ['billing'] };
        await writeStatus(client, cache, { targetRef });
        const next = july(cache, '0.5', '2026-07-20T02:00:00Z', { broker: 'next' });
        expect(await take(next, 'next')).toEqual({ result: 'applied' });
        // It might not know about the takeover.
        const counting = july(cache, '241', '2026-07-20T03:00:00Z');
        expect(await take(counting)).toMatchObject({ code: 'wrong-broker' });
        const last = july(cache, '240.25', '2026-07-20T01:00:00Z', { final: true });
        expect(await take(last)).toEqual({ result: 'applied' });
        const costsOf = async () => (await statusOf('Cache', 'moved', namespace)) as { costs: unknown[] };
        expect((await costsOf()).costs).toEqual([
          {
            month: '2026-07',
            currency: 'EUR',
            amount: '240.75',
            asOf: '2026-07-20T02:00:00Z',
            reports: [
              { broker: 'billing', amount: '240.25', asOf: '2026-07-20T01:00:00Z' },
              { broker: 'next', amount: '0.5', asOf: '2026-07-20T02:00:00Z' },
            ],
          },
        ]);
        const doomed = (await client.get(resourceOf('Cache'), { namespace, name: 'moved' })) as never;
        await platform.reconcilers.settleCosts(doomed);
        await client.delete(resourceOf('Cache'), { namespace, name: 'moved' });
        await eventually(() => isGone(client, resourceOf('Cache'), { namespace, name: 'moved' }), patient);
        expect(await take(last)).toEqual({ result: 'duplicate' });
        const end = july(cache, '0.75', '2026-07-20T05:00:00Z', { broker: 'next', final: true });
        expect(await take(end, 'next')).toEqual({ result: 'applied' });
        expect(await take(counting)).toMatchObject({ code: 'wrong-broker' });
        await eventually(async () => {
          const { costs } = (await statusOf('Team', 'costs')) as { costs: UnknownObject[] };
          expect(costs).toContainEqual({ month: '2026-07', currency: 'EUR', amount: '241.00' });
        }, patient);
      });

      test('of an object that nobody knows, of another broker’s, or that are no amount, are refused', async () => {
        const topic = await make('Topic', 'topic', { kind: 'Team', name: 'costs' });
        const stranger = { ...topic, metadata: { ...topic.metadata, uid: 'another' } };
        expect(await take(usage(stranger, '1', '2026-01-10T00:00:00Z'))).toMatchObject({ code: 'unknown-object' });
        expect(await take(usage(topic, '1', '2026-01-10T00:00:00Z'), 'other')).toMatchObject({ code: 'wrong-broker' });
        const forged = usage(topic, '1', '2026-01-10T00:00:00Z', { broker: 'other' });
        expect(await take(forged, 'other')).toMatchObject({ code: 'wrong-broker' });
        expect(await take(usage(topic, '=1+1', '2026-01-10T00:00:00Z'))).toMatchObject({ code: 'invalid' });
        expect(await take(usage(topic, '1', 'yesterday'))).toMatchObject({ code: 'invalid' });
      });

      async function totals(application: object[], team: object[]): Promise<void> {
        await eventually(async () => {
          expect(await statusOf('Application', 'app', namespace)).toMatchObject({ costs: application });
          expect(await statusOf('Team', 'costs')).toMatchObject({ costs: team });
        }, patient);
      }

      test('many that go at once are all kept', async () => {
        const base = { kind: 'Service', metadata: { namespace, name: 'many', uid: '' }, spec: {}, apiVersion: '' };
        const objects = Array.from({ length: 40 }, (_, index) => ({
          ...base,
          metadata: { ...base.metadata, name: `many-${index}`, uid: `many-${index}` },
          spec: { owner: { kind: 'Team', name: 'costs' } },
          status: { costs: [{ month: '2026-03', currency: 'EUR', amount: '0.01' }] },
        })) as unknown as OwnedObject[];
        await Promise.all(objects.map((object) => platform.reconcilers.settleCosts(object)));
        await eventually(async () => {
          const { costs } = (await statusOf('Team', 'costs')) as { costs: UnknownObject[] };
          expect(costs).toContainEqual({ month: '2026-03', currency: 'EUR', amount: '0.40' });
        }, patient);
      });
    });

    const statusOf = async (kind: string, name: string, namespace?: string) =>
      (await client.get(resourceOf(kind), { name, ...(namespace === undefined ? {} : { namespace }) })).status;
  });
}
