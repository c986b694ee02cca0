/**
 * Namespaces that are deleted, on a real API server with its controllers: one that holds objects of the platform stays, unless it was
 * confirmed that all of it shall go; everything else about Namespaces goes on as without us.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Admission,
  type LivePolicySource,
  startAdmission,
  startPolicySource,
} from '../../../src/admission/index.ts';
import { API_VERSION, CLEANUP_FINALIZER, database, TEAM_LABEL } from '../../../src/api/index.ts';
import { type Client, isNotFound, type UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import {
  applyPolicy,
  configMap,
  configMaps,
  configurations,
  deletePolicy,
  namespaces,
  type Platform,
  platformNamespace,
  policy,
} from './platform.ts';

const patient = { within: 180_000, every: 100 };
const annotation = 'platform.company.com/confirm-delete';
export function namespaceTests(running: () => Platform): void {
  describe('namespaces that are deleted', () => {
    let platform: Platform;
    let client: Client;
    let source: LivePolicySource;
    let admission: Admission;
    /** The uid that a deletion was confirmed by. */
    let confirmed = '';

    beforeAll(async () => {
      platform = running();
      client = platform.client;
      // The API server may still know of the webhook of those before.
      await eventually(() => addNamespace('asked'), patient);
      await eventually(() => addDatabase('asked', 'kept'), patient);
      source = startPolicySource({ client, platformNamespace, exceptionNamespaces: [] });
      admission = await startAdmission({ client, policies: source, mapping: () => source.mapping, platformNamespace });
      await eventually(async () => (await refusal('asked', '--dry-run=server')).includes('namespaces: asked'), patient);
    });
    afterAll(async () => {
      await admission?.stop();
      await source?.stop();
    });

    const addNamespace = (name: string, labels: Record<string, string> = {}) =>
      client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });

    const addDatabase = (namespace: string, name: string, finalizers: string[] = []) =>
      client.create(database.resource, {
        apiVersion: API_VERSION,
        kind: 'Database',
        metadata: { name, namespace, finalizers },
        spec: { engine: 'postgresql', owner: { kind: 'Team', name: 'backend-team' } },
      } as UnknownObject);

    /** Returns the standard error of kubectl, which is empty for a deletion that is admitted without warnings. */
    const refusal = async (name: string, ...flags: string[]) =>
      (await platform.kubectl(['delete', 'namespace', name, '--wait=false', ...flags])).stderr;

    const phaseOf = async (name: string) =>
      ((await client.get(namespaces, { name })).status as { phase?: string } | undefined)?.phase;

    const isGone = (name: string) =>
      eventually(
        () =>
          client.get(namespaces, { name }).then(
            () => false,
            (error: unknown) => isNotFound(error),
          ),
        patient,
      );

    test('the namespace of a Team stays while something of the platform is in it, and says what to do', async () => {
      await addNamespace('team-shop', { [TEAM_LABEL]: 'team-shop' });
      await addDatabase('team-shop', 'orders');
      await addDatabase('team-shop', 'users');
      const { metadata } = await client.get(namespaces, { name: 'team-shop' });
      for (const flags of [[], ['--dry-run=server'], ['--force', '--grace-period=0']]) {
        const said = await refusal('team-shop', ...flags);
        expect(said).toContain(
          '"validate-team-namespaces.kidp.platform.company.com" denied the request: namespaces: team-shop',
        );
        expect(said).toContain('it contains 2 Databases (orders, users) of the platform');
        expect(said).toContain(`kubectl annotate namespace team-shop --overwrite ${annotation}=${metadata.uid}`);
      }
      expect(await phaseOf('team-shop')).toBe('Active');
    });

    /** As the platform does once a broker has confirmed that the thing is gone. */
    const letGo = (namespace: string, name: string) =>
      client.patch(database.resource, { namespace, name }, { type: 'merge', body: { metadata: { finalizers: null } } });

    test('a confirmed one goes with all that is in it, and the cluster is not kept from clearing it', async () => {
      await platform.kubectl(['annotate', 'namespace', 'team-shop', `${annotation}=another-uid`]);
      expect(await refusal('team-shop')).toContain('The present annotation is for an earlier Namespace with this name');
      await client.create(configMaps, configMap('settings', { any: 'thing' }, { namespace: 'team-shop' }));
      confirmed = (await client.get(namespaces, { name: 'team-shop' })).metadata.uid ?? '';
      await platform.kubectl(['annotate', 'namespace', 'team-shop', '--overwrite', `${annotation}=${confirmed}`]);
      const said = await refusal('team-shop');
      expect(said).toContain(
        'Warning: namespaces: team-shop is deleted with 2 Databases (orders, users) of the platform',
      );
      expect(said).not.toContain('denied');
      await eventually(async () => {
        const { items } = await client.list(database.resource, { namespace: 'team-shop' });
        return items.every((each) => each.metadata.deletionTimestamp !== undefined);
      }, patient);
      for (const name of ['orders', 'users']) await letGo('team-shop', name);
    });

    test('one whose objects are being deleted goes after them, as Flux prunes: what is inside first, without waiting', async () => {
      await addNamespace('pruned');
      await addDatabase('pruned', 'slow', [CLEANUP_FINALIZER]);
      await client.delete(database.resource, { namespace: 'pruned', name: 'slow' });
      expect(await refusal('pruned')).toBe('');
      expect(await phaseOf('pruned')).toBe('Terminating');
      // Asked once more, as whoever waits for it does.
      expect(await refusal('pruned')).not.toContain('denied');
      await letGo('pruned', 'slow');
    });

    test('one without anything of the platform goes as ever, whatever else is in it', async () => {
      await addNamespace('plain');
      await addNamespace('team-empty', { [TEAM_LABEL]: 'team-empty' });
      await client.create(configMaps, configMap('settings', { any: 'thing' }, { namespace: 'plain' }));
      for (const name of ['plain', 'team-empty']) expect(await refusal(name)).toBe('');
    });

    test('the platform’s own is nobody’s to hold up, and one denial lists what the gate and every policy have found', async () => {
      await addDatabase(platformNamespace, 'any');
      expect(await refusal(platformNamespace, '--dry-run=server')).toBe('');
      const rule = { message: 'Not on a Friday' };
      const operations = { spec: { failurePolicy: 'Ignore' }, selector: { operations: ['DELETE'] }, rule };
      await applyPolicy(
        client,
        policy('friday', ['core/v1/Namespace'], "oldObject.metadata.name != 'asked'", operations),
      );
      await eventually(async () => (await refusal('asked', '--dry-run=server')).includes('policy friday'), patient);
      const said = await refusal('asked', '--dry-run=server');
      expect(said).toContain('"validate-namespaces.kidp.platform.company.com" denied the request');
      expect(said).toContain('namespaces: asked: deleting a Namespace');
      expect(said).toContain(
        'policy friday, rule only: oldObject.metadata.name is "asked", want anything but "asked". Not on a Friday',
      );
    });

    test('a confirmed deletion completes, and a re-created namespace is protected again', async () => {
      await Promise.all(['team-shop', 'pruned', 'plain', 'team-empty'].map(isGone));
      await addNamespace('team-shop');
      await addDatabase('team-shop', 'orders');
      // From a manifest that somebody has kept.
      await platform.kubectl(['annotate', 'namespace', 'team-shop', `${annotation}=${confirmed}`]);
      expect(await refusal('team-shop')).toContain('1 Database (orders)');
    });

    test('while nobody answers, only the namespaces of Teams wait', async () => {
      await addNamespace('nobodys');
      await addNamespace('team-waiting', { [TEAM_LABEL]: 'team-waiting' });
      const stored = await client.get(configurations('Validating'), { name: 'kidp-admission' });
      await admission.stop();
      const { uid, resourceVersion, ...metadata } = stored.metadata;
      await client.create(configurations('Validating'), { ...stored, metadata });
      await eventually(
        async () => (await refusal('team-waiting', '--dry-run=server')).includes('failed calling webhook'),
        patient,
      );
      expect(await refusal('nobodys')).toBe('');
      expect(await phaseOf('team-waiting')).toBe('Active');
      expect(await phaseOf('nobodys')).toBe('Terminating');
      await client.delete(configurations('Validating'), { name: 'kidp-admission' });
      await deletePolicy(client, 'friday');
    });
  });
}
