/** Bind, rotate, unbind: connections reach the running Service, and follow every change. */
import { describe, expect, test } from 'vitest';
import { RETRY_ANNOTATION } from '../../../src/api/index.ts';
import { parseDeploymentId } from '../../../src/broker/index.ts';
import type { Deployable } from '../../../src/reconcile/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { conditionOf, deployments, isReady, ledgerFaults, namespace, Objects, patient, type Stage } from './stage.ts';

const attemptOf = ({ status }: Deployable): number => parseDeploymentId(status?.deploymentId ?? '')?.attempt ?? 0;
/** The environment variables of its containers. */
const environment = 'api-bindings';

export function relationshipTests(running: () => Stage): void {
  describe('relationships', () => {
    test('a Service waits for its Database, gets its connection, follows its rotation, and is unbound when it is deleted', async () => {
      const stage = running();
      const objects = new Objects(stage);
      const labels = { app: 'users' };
      await objects.create('Service', 'api', {
        dependencies: { databaseSelector: { matchLabels: labels, expect: 'One' } },
      });
      const waiting = await objects.reason('Service', 'api', 'Ready', 'DependenciesUnbound');
      expect(conditionOf(waiting, 'DependenciesBound')?.message).toContain('databaseSelector matches no Database');
      expect(waiting.status?.deploymentId).toBeUndefined();

      await objects.create('Database', 'users', {}, labels);
      const bound = await objects.ready('Service', 'api');
      const [binding] = bound.status?.bindings ?? [];
      expect(binding).toMatchObject({ kind: 'Database', name: 'users' });
      expect(conditionOf(bound, 'DependenciesBound')).toMatchObject({ status: 'True' });
      const credentials = await objects.secret('users-connection');
      expect(await objects.secret(binding?.connectionSecret ?? '')).toEqual(credentials);
      expect((await objects.secret(environment))?.DATABASE_USERS_PASSWORD).toBe(credentials?.password);

      // Another value of the label requests new credentials from the broker.
      await objects.patch('Database', 'users', {
        metadata: {
          labels: { 'broker.platform.company.com/rotate': '1' },
          annotations: { [RETRY_ANNOTATION]: 'rotate' },
        },
      });
      const followed = await objects.until(
        'Service',
        'api',
        (object) =>
          isReady(object) && object.status?.bindings?.[0]?.revision !== binding?.revision && attemptOf(object) > 1,
      );
      expect(followed.metadata.generation).toBe(bound.metadata.generation);
      await eventually(async () => {
        const rotated = await objects.secret('users-connection');
        expect(rotated?.password).not.toBe(credentials?.password);
        expect(await objects.secret(binding?.connectionSecret ?? '')).toEqual(rotated);
        expect((await objects.secret(environment))?.DATABASE_USERS_PASSWORD).toBe(rotated?.password);
      }, patient);

      // A second match makes it ambiguous; the existing binding is kept.
      await objects.create('Database', 'users-too', {}, labels);
      const ambiguous = await objects.reason('Service', 'api', 'DependenciesBound', 'AmbiguousSelector');
      expect(conditionOf(ambiguous, 'DependenciesBound')?.message).toContain('add a label to the selector');
      expect(ambiguous.status?.bindings).toHaveLength(1);
      expect(isReady(await objects.ready('Service', 'api'))).toBe(true);
      await objects.remove('Database', 'users-too');
      await objects.gone('Database', 'users-too');
      await objects.reason('Service', 'api', 'DependenciesBound', 'AllBound');

      // Its matching label is removed: the Service is unbound, and both sides report it.
      await objects.patch('Database', 'users', { metadata: { labels: { app: null } } });
      const lost = await objects.reason('Service', 'api', 'DependenciesBound', 'BindingLost');
      expect(lost.status?.bindings ?? []).toEqual([]);
      await eventually(async () => (await objects.secret(binding?.connectionSecret ?? '')) === undefined, patient);
      await eventually(
        async () => (await objects.events('api')).some(({ reason }) => reason === 'BindingLost'),
        patient,
      );
      const without = await objects.until('Service', 'api', (o) => isReady(o) && attemptOf(o) > attemptOf(followed));
      expect(conditionOf(without, 'Ready')?.status).toBe('True');

      await objects.patch('Database', 'users', { metadata: { labels } });
      await objects.reason('Service', 'api', 'DependenciesBound', 'AllBound');
      await objects.remove('Database', 'users');
      await objects.reason('Service', 'api', 'DependenciesBound', 'BindingLost');
      await objects.gone('Database', 'users');
      await objects.remove('Service', 'api');
      await objects.gone('Service', 'api');
      expect(ledgerFaults(stage.cluster)).toEqual([]);
    });

    test('a second Database restarts no consumer, and changes in quick succession deploy it once', async () => {
      const stage = running();
      const objects = new Objects(stage);
      const labels = { app: 'second-match' };
      await objects.create('Database', 'first', {}, labels);
      await objects.create('Service', 'reader', { dependencies: { databaseSelector: { matchLabels: labels } } });
      const before = await objects.ready('Service', 'reader');
      const workload = () => stage.client.get(deployments, { namespace, name: 'reader' });
      const { generation } = (await workload()).metadata;
      const variables = await objects.secret('reader-bindings');

      await objects.create('Database', 'second', {}, labels);
      await objects.ready('Database', 'second');
      const warned = await objects.reason('Service', 'reader', 'DependenciesBound', 'MatchesPending');
      expect(conditionOf(warned, 'DependenciesBound')?.message).toContain(
        'second will be bound with the next deployment',
      );
      expect(warned.status?.bindings).toEqual(before.status?.bindings);
      expect(warned.status?.deploymentId).toBe(before.status?.deploymentId);
      expect((await workload()).metadata.generation).toBe(generation);

      await objects.change('Service', 'reader', { image: 'app:2' });
      const both = await objects.until('Service', 'reader', (o) => isReady(o) && o.status?.bindings?.length === 2);
      expect(attemptOf(both)).toBe(1);
      expect(await objects.secret('reader-bindings')).toMatchObject({
        ...variables,
        DATABASE_SECOND_PASSWORD: expect.any(String),
      });

      for (const name of ['first', 'second'])
        await objects.patch('Database', name, { metadata: { labels: { app: null } } });
      const neither = await objects.until(
        'Service',
        'reader',
        (o) => isReady(o) && (o.status?.bindings ?? []).length === 0 && o.status?.dispatchedBindings === undefined,
      );
      expect(attemptOf(neither)).toBe(2);
      for (const [kind, name] of [
        ['Service', 'reader'],
        ['Database', 'first'],
        ['Database', 'second'],
      ] as const) {
        await objects.remove(kind, name);
        await objects.gone(kind, name);
      }
    });
  });
}
