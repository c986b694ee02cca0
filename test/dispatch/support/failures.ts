/** Failures before and during a deployment: each is reported with a remedy, and retried only if a retry can help. */
import { describe, expect, test } from 'vitest';
import { API_VERSION, application, broker, deploymentTarget, RETRY_ANNOTATION } from '../../../src/api/index.ts';
import { loadKubeconfig, type UnknownObject } from '../../../src/runtime/index.ts';
import { startTcpProxy } from '../../runtime/support/fault-proxy.ts';
import { untilQuotaRefuses } from '../../support/quota.ts';
import {
  conditionOf,
  cronJobs,
  deployments,
  isReady,
  ledgerFaults,
  ledgerOf,
  namespace,
  Objects,
  quotas,
  type Stage,
} from './stage.ts';

export function obstacleTests(running: () => Stage): void {
  describe('a missing precondition is a condition with a remedy, and is removed once it is met', () => {
    test.concurrent('a target without a broker', async () => {
      const { client } = running();
      const objects = new Objects(running());
      const target = (spec: object) =>
        client.apply(
          deploymentTarget.resource,
          { apiVersion: API_VERSION, kind: 'DeploymentTarget', metadata: { name: 'bare' }, spec } as UnknownObject,
          { fieldManager: 'test', force: true },
        );
      await objects.create('Secret', 'aimless', { targetRef: { name: 'bare' } });
      await objects.reason('Secret', 'aimless', 'TargetResolved', 'TargetMissing');
      await target({ provider: 'test' });
      const held = await objects.reason('Secret', 'aimless', 'TargetResolved', 'NoBroker');
      expect(conditionOf(held, 'TargetResolved')?.message).toContain('set its spec.brokerRef');
      expect(held.status).toMatchObject({ phase: 'pending' });
      await target({ provider: 'test', brokerRef: { name: 'nobody' } });
      const missing = await objects.reason('Secret', 'aimless', 'TargetResolved', 'BrokerMissing');
      expect(missing.status?.deploymentId).toBeUndefined();
      await target({ provider: 'test', brokerRef: { name: running().cluster.name } });
      await objects.ready('Secret', 'aimless');
    });

    test.concurrent('an owner that is not there, until it is', async () => {
      const { client } = running();
      const objects = new Objects(running());
      await objects.create('Secret', 'orphan', { owner: { kind: 'Application', name: 'later' } });
      const held = await objects.reason('Secret', 'orphan', 'OwnerResolved', 'OwnerMissing');
      expect(conditionOf(held, 'OwnerResolved')?.message).toContain('create it');
      expect(held.status?.deploymentId).toBeUndefined();
      await client.create(application.resource, {
        apiVersion: API_VERSION,
        kind: 'Application',
        metadata: { name: 'later', namespace },
        spec: { owner: { kind: 'Team', name: 'backend' } },
      } as UnknownObject);
      await objects.ready('Secret', 'orphan');
    });
  });

  describe('errors of brokers', () => {
    test.concurrent('quota is surfaced and not tried again, until somebody has made room and says so', async () => {
      const { client, cluster } = running();
      const objects = new Objects(running());
      const quota = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'full', namespace },
        spec: { hard: { 'count/cronjobs.batch': '0' } },
      } as UnknownObject;
      await client.create(quotas, quota);
      await untilQuotaRefuses(client, cronJobs, {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { name: 'probe', namespace },
        spec: {
          schedule: '0 0 1 1 *',
          jobTemplate: {
            spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'app:1' }] } } },
          },
        },
      } as UnknownObject);
      await objects.create('Database', 'greedy', { backup: { enabled: true } });
      const failed = await objects.reason('Database', 'greedy', 'Ready', 'QuotaExceeded');
      expect(failed.status?.phase).toBe('failed');
      expect(conditionOf(failed, 'Ready')?.message).toContain('raise the quota');
      await client.delete(quotas, { namespace, name: 'full' });
      await stays(async () => ledgerOf(cluster, failed.metadata.uid).length === 1);
      await objects.patch('Database', 'greedy', { metadata: { annotations: { [RETRY_ANNOTATION]: '1' } } });
      const ready = await objects.ready('Database', 'greedy');
      expect(ready.status?.deploymentId).toBe(`${ready.metadata.uid}/1/2`);
      await objects.remove('Database', 'greedy');
      await objects.gone('Database', 'greedy');
    });

    test.concurrent('a permanent one is not tried again, until the spec changes', async () => {
      const { cluster } = running();
      const objects = new Objects(running());
      await objects.create('Secret', 'wrong', { keys: [{ name: 'key', remoteRef: { path: 'nowhere' } }] });
      const failed = await objects.reason('Secret', 'wrong', 'Ready', 'PermanentError');
      expect(failed.status?.phase).toBe('failed');
      expect(conditionOf(failed, 'Ready')?.message).toMatch(/no-secret-store.*change the spec/s);
      await stays(async () => ledgerOf(cluster, failed.metadata.uid).length === 1);
      await objects.change('Secret', 'wrong', { keys: [{ name: 'key', generate: {} }] });
      const ready = await objects.ready('Secret', 'wrong');
      expect(ready.status?.deploymentId).toBe(`${ready.metadata.uid}/2/1`);
    });

    test.concurrent('an API server of the target that is away for a while: what is under way waits, and is then done once', async () => {
      const stage = running();
      const objects = new Objects(stage);
      const config = loadKubeconfig({ file: stage.plane.kubeconfig });
      const proxy = await startTcpProxy(() => config.server);
      const far = await stage.addBroker('far', proxy.config(config));
      proxy.open = false;
      proxy.cut();
      await objects.create('Secret', 'shaky', { targetRef: { name: far.target } });
      // The broker stores a record before it accepts a request. It cannot, so it accepts nothing.
      const waiting = await objects.until('Secret', 'shaky', ({ status }) => (status?.outbox?.[0]?.attempts ?? 0) > 0);
      expect(isReady(waiting)).toBe(false);
      expect(conditionOf(waiting, 'StatusReported')).toMatchObject({
        status: 'False',
        reason: 'PendingWebhookRetry',
      });
      expect(ledgerOf(far, waiting.metadata.uid)).toEqual([]);
      proxy.open = true;
      const ready = await objects.ready('Secret', 'shaky');
      expect(ready.status?.deploymentId).toBe(`${ready.metadata.uid}/1/1`);
      expect(ledgerOf(far, ready.metadata.uid)).toHaveLength(1);
      await objects.remove('Secret', 'shaky');
      await objects.gone('Secret', 'shaky');
      await far.stop();
      await stage.client.delete(deploymentTarget.resource, { name: 'far' });
      await stage.client.delete(broker.resource, { name: 'far' });
      await proxy.close();
    });
  });

  describe('drift', () => {
    test.concurrent('what somebody changes or deletes in the target is put back, each time as a new attempt', async () => {
      const stage = running();
      const { client, cluster } = stage;
      const objects = new Objects(stage);
      await objects.create('Service', 'watched');
      const ready = await objects.ready('Service', 'watched');
      const { uid } = ready.metadata;
      const key = { namespace, name: 'watched' };
      await client.patch(deployments, key, {
        type: 'json',
        body: [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'evil:1' }],
      });
      const attempt = (wanted: number) =>
        objects.until('Service', 'watched', (o) => isReady(o) && o.status?.deploymentId === `${uid}/1/${wanted}`);
      await attempt(2);
      expect(JSON.stringify((await client.get<UnknownObject>(deployments, key)).spec)).not.toContain('evil:1');
      await client.delete(deployments, key);
      await attempt(3);
      await client.get(deployments, key);
      expect(ledgerOf(cluster, uid)).toHaveLength(3);
      expect(ledgerFaults(cluster)).toEqual([]);
    });
  });
}

/** Waits as long as an automatic change would take. */
async function stays(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 3_000;
  while (performance.now() < end) {
    expect(await holds()).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
