/** Objects that were written while the webhook was not called: they are evaluated before they are dispatched. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_VERSION, policy, team } from '../../../src/api/index.ts';
import { customResourceDefinitions, installDefinitions } from '../../../src/cli/up/definitions.ts';
import type { Client, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { conditionOf, ledgerOf, Objects, patient, type Stage } from './stage.ts';

const policyName = 'nothing-forbidden';

export function aroundTests(running: () => Stage): void {
  describe('around the webhook', () => {
    let stage: Stage;
    let objects: Objects;
    beforeAll(async () => {
      stage = running();
      objects = new Objects(stage);
      await stage.client.create(policy.resource, {
        apiVersion: API_VERSION,
        kind: 'Policy',
        metadata: { name: policyName },
        spec: {
          selector: { resourceTypes: ['platform.company.com/v1/Secret'] },
          rules: [
            {
              name: 'forbidden',
              expression: "!has(object.metadata.labels) || !('forbidden' in object.metadata.labels)",
              message: 'Nothing forbidden here',
            },
          ],
        },
      } as UnknownObject);
      await eventually(
        () =>
          objects.create('Secret', 'tried', {}, { forbidden: 'yes' }).then(
            () => objects.remove('Secret', 'tried').then(() => false as const),
            ({ message }: Error) => message.includes('Nothing forbidden here'),
          ),
        patient,
      );
      await objects.create('Secret', 'ready-before');
      await objects.create('Cache', 'stolen');
      await Promise.all([objects.ready('Secret', 'ready-before'), objects.ready('Cache', 'stolen')]);
      await stage.client.create(team.resource, {
        apiVersion: API_VERSION,
        kind: 'Team',
        metadata: { name: 'thieves' },
        spec: { namespace: 'team-thieves' },
      } as UnknownObject);

      await stage.stopPlatform();
      await eventually(() => objects.create('Secret', 'smuggled', {}, { forbidden: 'yes' }), patient);
      await objects.patch('Secret', 'ready-before', {
        metadata: { labels: { forbidden: 'yes' } },
        spec: { keys: [{ name: 'other', generate: {} }] },
      });
      await changeOwner(stage.client, objects);
      await stage.startPlatform();
    });
    afterAll(() => stage.client.delete(policy.resource, { name: policyName }));

    test('an object that policy denies is not dispatched, reports why, and is admitted once it is fixed', async () => {
      const denied = await objects.reason('Secret', 'smuggled', 'Admitted', 'PolicyDenied');
      expect(conditionOf(denied, 'Admitted')).toMatchObject({ status: 'False' });
      expect(conditionOf(denied, 'Admitted')?.message).toContain('Nothing forbidden here');
      expect(denied.status?.phase).toBe('failed');
      expect(denied.status?.deploymentId).toBeUndefined();
      expect(denied.metadata.finalizers ?? []).toEqual([]);
      expect(ledgerOf(stage.cluster, denied.metadata.uid)).toEqual([]);
      await objects.patch('Secret', 'smuggled', { metadata: { labels: { forbidden: null } } });
      const ready = await objects.ready('Secret', 'smuggled');
      expect(conditionOf(ready, 'Admitted')).toMatchObject({ status: 'True' });
      expect(ledgerOf(stage.cluster, ready.metadata.uid)).toHaveLength(1);
    });

    test('a ready deployment is kept: the new generation is not dispatched', async () => {
      const denied = await objects.reason('Secret', 'ready-before', 'Admitted', 'PolicyDenied');
      expect(denied.metadata.generation).toBe(2);
      expect(conditionOf(denied, 'Ready')?.message).toContain('Generation 1 stays deployed');
      expect(ledgerOf(stage.cluster, denied.metadata.uid)).toHaveLength(1);
      expect(Object.keys((await objects.secret('ready-before')) ?? {})).toEqual(['token']);
      await objects.patch('Secret', 'ready-before', { metadata: { labels: { forbidden: null } } });
      await objects.ready('Secret', 'ready-before');
      await eventually(
        async () => expect(Object.keys((await objects.secret('ready-before')) ?? {})).toEqual(['other']),
        patient,
      );
    });

    test('an object with a changed owner is left alone, and can be deleted', async () => {
      const stolen = await objects.reason('Cache', 'stolen', 'Admitted', 'OwnerChanged');
      expect(conditionOf(stolen, 'Admitted')?.message).toContain('the recorded owner is Team backend');
      expect(stolen.metadata.generation).toBe(2);
      expect(ledgerOf(stage.cluster, stolen.metadata.uid)).toHaveLength(1);
      await objects.remove('Cache', 'stolen');
      await objects.gone('Cache', 'stolen');
      expect(ledgerOf(stage.cluster, stolen.metadata.uid).map(({ action }) => action)).toEqual(['Deploy', 'Delete']);
    });
  });
}

/** The CRD has a validation rule for the owner too: only a malicious administrator can bypass both. */
async function changeOwner(client: Client, objects: Objects): Promise<void> {
  const name = 'caches.platform.company.com';
  const definition = await client.get<UnknownObject>(customResourceDefinitions, { name });
  const lenient = JSON.parse(
    JSON.stringify(definition, (key, value) => (key === 'x-kubernetes-validations' ? undefined : value)),
  ) as UnknownObject;
  await client.update(customResourceDefinitions, lenient);
  await eventually(() => objects.change('Cache', 'stolen', { owner: { kind: 'Team', name: 'thieves' } }), patient);
  await installDefinitions(client);
}
