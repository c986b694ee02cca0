/** The ownership gate as users meet it: every way to write to a real API server, with the real CRDs behind it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookConfigurations } from '../../../src/admission/configuration/apply.ts';
import { type Admission, startAdmission } from '../../../src/admission/index.ts';
import { database as databaseKind } from '../../../src/api/index.ts';
import {
  type Client,
  isNotFound,
  type KubernetesObject,
  type Logger,
  silentLogger,
} from '../../../src/runtime/index.ts';
import { issueAuthority } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { configurations, type Platform } from './platform.ts';

const { resource: databases } = databaseKind;
interface Configuration extends KubernetesObject {
  webhooks?: { clientConfig: { caBundle: string } }[];
}
const namespace = 'default';

export function ownershipTests(running: () => Platform): void {
  describe('the ownership gate', () => {
    let client: Client;
    let admission: Admission;
    const lines: Record<string, unknown>[] = [];
    const log: Logger = { ...silentLogger, info: (message, fields) => void lines.push({ message, ...fields }) };
    const kubectl = (flags: readonly string[], input?: object) => running().kubectl(['-n', namespace, ...flags], input);

    beforeAll(async () => {
      ({ client } = running());
      // The API server may still know of the webhook of those before.
      await eventually(() => client.create(databases, database('backend-team')));
      admission = await startAdmission({ client, log });
      await eventually(async () => (await patched('merge', { spec: { owner: { name: 'x' } } })).includes('ownership:'));
    });
    afterAll(async () => {
      await admission?.stop();
    });

    const database = (team: string, name = 'orders') => ({
      apiVersion: 'platform.company.com/v1',
      kind: 'Database',
      metadata: { name, namespace },
      spec: { engine: 'postgresql', owner: { kind: 'Team', name: team } },
    });

    /** What kubectl says to a patch. */
    async function patched(type: string, patch: object, flags: readonly string[] = []): Promise<string> {
      const { code, stderr, stdout } = await kubectl([
        'patch',
        'kdb',
        'orders',
        `--type=${type}`,
        '-p',
        JSON.stringify(patch),
        ...flags,
      ]);
      return code === 0 ? stdout : stderr;
    }

    test('the log has what joins who applied something to the deployment that follows', async () => {
      const { metadata } = await client.create<KubernetesObject>(databases, database('backend-team', 'traced'));
      const key = { namespace, name: 'traced' };
      await client.patch(databases, key, { type: 'merge', body: { metadata: { labels: { a: 'b' } } } });
      await client.patch(databases, key, { type: 'merge', body: { spec: { costTags: { a: 'b' } } } });
      const { generation } = (await client.get(databases, key)).metadata;
      expect(generation).toBe(2);
      const admitted = lines.filter(({ message, name }) => message === 'admitted' && name === 'traced');
      expect(admitted.map(({ correlationId }) => correlationId)).toEqual([
        `${metadata.uid}/1/1`,
        `${metadata.uid}/2/1`,
      ]);
      expect(admitted[0]).toMatchObject({
        operation: 'CREATE',
        kind: 'Database',
        namespace,
        review: expect.any(String),
      });
    });

    const ownerNow = async () =>
      (await client.get<ReturnType<typeof database>>(databases, { namespace, name: 'orders' })).spec.owner.name;

    const ways: { way: string; write: () => Promise<string> }[] = [
      { way: 'kubectl apply', write: async () => (await kubectl(['apply', '-f', '-'], database('other-team'))).stderr },
      {
        way: 'kubectl apply --server-side',
        write: async () =>
          (await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], database('other-team'))).stderr,
      },
      {
        way: 'kubectl replace',
        write: async () => (await kubectl(['replace', '-f', '-'], database('other-team'))).stderr,
      },
      {
        way: 'kubectl apply --dry-run=server',
        write: async () => (await kubectl(['apply', '--dry-run=server', '-f', '-'], database('other-team'))).stderr,
      },
      { way: 'a merge patch', write: () => patched('merge', { spec: { owner: { name: 'other-team' } } }) },
      {
        way: 'a JSON patch',
        write: () => patched('json', [{ op: 'replace', path: '/spec/owner/name', value: 'other-team' }]),
      },
    ];

    describe('a change of owner', () => {
      test.each(ways)('is refused by $way, with the reason', async ({ write }) => {
        const said = await write();
        expect(said).toContain('spec.owner cannot be changed after creation: Team backend-team → Team other-team');
        expect(said).toContain('Create a new object under the new owner and delete this one');
        expect(await ownerNow()).toBe('backend-team');
      });

      test('is refused when the owner is taken away', async () => {
        expect(await patched('json', [{ op: 'remove', path: '/spec/owner' }])).toContain(
          'Team backend-team → no owner',
        );
      });

      test('does not come about through the status subresource', async () => {
        await patched('merge', { spec: { owner: { name: 'other-team' } } }, ['--subresource=status']);
        expect(await ownerNow()).toBe('backend-team');
      });
    });

    describe('what does not change the owner', () => {
      test('is admitted', async () => {
        expect(
          await patched('merge', { metadata: { labels: { 'database.platform.company.com/type': 'postgresql' } } }),
        ).toContain('patched');
        expect((await kubectl(['apply', '--dry-run=server', '-f', '-'], database('any-team', 'another'))).code).toBe(0);
      });

      test('is admitted for an object that is being deleted and only loses its finalizer', async () => {
        const finalizers = ['kidp.test/hold'];
        await client.create(databases, {
          ...database('backend-team', 'leaving'),
          metadata: { name: 'leaving', namespace, finalizers },
        });
        await client.delete(databases, { namespace, name: 'leaving' });
        await client.patch(
          databases,
          { namespace, name: 'leaving' },
          { type: 'merge', body: { metadata: { finalizers: null } } },
        );
        await eventually(() =>
          client.get(databases, { namespace, name: 'leaving' }).then(
            () => false,
            (error) => isNotFound(error),
          ),
        );
      });
    });

    describe('stopping', () => {
      test('removes the webhook configurations, and the CRD still refuses', async () => {
        await admission.stop();
        for (const kind of ['Mutating', 'Validating'] as const) {
          await expect(client.get(configurations(kind), { name: 'kidp-admission' })).rejects.toSatisfy(isNotFound);
        }
        const said = await eventually(async () => {
          const words = await patched('merge', { spec: { owner: { name: 'other-team' } } });
          // An API server that is slow to notice calls where nobody is any more.
          return words.includes('failed calling webhook') ? false : words;
        });
        expect(said).toContain('spec.owner');
        expect(said).not.toContain('ownership:');
        expect(await ownerNow()).toBe('backend-team');
      });

      test('leaves alone a configuration that somebody else has made under the same name', async () => {
        const foreign = {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingWebhookConfiguration',
          metadata: { name: 'kidp-admission' },
        };
        await client.create(configurations('Validating'), foreign);
        await expect(startAdmission({ client })).rejects.toMatchObject({ code: 'config/webhook-configuration' });
        const kept = await client.get(configurations('Validating'), { name: 'kidp-admission' });
        expect(kept.webhooks).toBeUndefined();
        await expect(client.get(configurations('Mutating'), { name: 'kidp-admission' })).rejects.toSatisfy(isNotFound);
        await client.delete(configurations('Validating'), { name: 'kidp-admission' });
      });

      test('takes over what an earlier run has left behind, and removes it in the end', async () => {
        const crashed = await startAdmission({ client });
        const second = await startAdmission({ client });
        const { metadata } = await client.get(configurations('Validating'), { name: 'kidp-admission' });
        expect(metadata.labels?.['app.kubernetes.io/managed-by']).toBe('kidp');
        await second.stop();
        await expect(client.get(configurations('Validating'), { name: 'kidp-admission' })).rejects.toSatisfy(
          isNotFound,
        );
        await crashed.stop();
      });

      test('leaves alone what another run has taken over, its bundle too', async () => {
        const first = await startAdmission({ client, certificateLives: { resyncMilliseconds: 50 } });
        const second = await startAdmission({ client });
        // Long enough for the first to publish its own bundle many times over, if it would.
        await sleep(500);
        expect(await publishedBundles()).toEqual([second.caBundle, second.caBundle]);
        await first.stop();
        expect(await publishedBundles()).toEqual([second.caBundle, second.caBundle]);
        await second.stop();
        expect(await publishedBundles()).toEqual([]);
      });
    });

    describe('starting', () => {
      const authority = () =>
        issueAuthority({ now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 0 });
      test.each([
        { reason: 'its own where certificates are its own', sharesCertificates: false, wins: 'ours' },
        { reason: 'the later one where all replicas share them', sharesCertificates: true, wins: 'later' },
      ] as const)('publishes, of its bundle and a later one that it finds, $reason', async ({
        sharesCertificates,
        wins,
      }) => {
        const bundles = { ours: authority().certificate, later: authority().certificate };
        const installed = async (pem: string, generation: number, id: string) => {
          const configurations = webhookConfigurations({
            client,
            target: { url: 'https://127.0.0.1:1' },
            failurePolicy: 'Ignore',
            bundle: () => ({ pem, generation }),
            installer: { id, sharesCertificates },
            platformNamespace: 'kidp-system',
            breakGlassGroup: 'kidp:break-glass',
          });
          await configurations.apply([]);
          return configurations;
        };
        await installed(bundles.later, 2, 'killed');
        const { remove } = await installed(bundles.ours, 1, 'started');
        expect(await publishedBundles()).toEqual([bundles[wins], bundles[wins]]);
        await remove();
        expect(await publishedBundles()).toEqual([]);
      });

      test('publishes its own bundle, however late the one of a killed run claims to be', async () => {
        const killed = await startAdmission({ client });
        const stale = killed.caBundle;
        for (const kind of ['Mutating', 'Validating'] as const) {
          const annotations = { 'platform.company.com/certificate-generation': String(Number.MAX_SAFE_INTEGER - 1) };
          const patch = { type: 'merge', body: { metadata: { annotations } } } as const;
          await client.patch(configurations(kind), { name: 'kidp-admission' }, patch);
        }
        const started = await startAdmission({ client });
        expect(started.caBundle).not.toBe(stale);
        expect(await publishedBundles()).toEqual([started.caBundle, started.caBundle]);
        await eventually(async () =>
          (await patched('merge', { spec: { owner: { name: 'x' } } })).includes('ownership:'),
        );
        await started.stop();
        await killed.stop();
      });
    });

    /** What the API server trusts, by each configuration that is there: all webhooks in it alike. */
    async function publishedBundles(): Promise<string[]> {
      const all = await Promise.all(
        (['Mutating', 'Validating'] as const).map((kind) => client.list<Configuration>(configurations(kind))),
      );
      return all
        .flatMap(({ items }) => items)
        .flatMap(({ webhooks = [] }) => [...new Set(webhooks.map(({ clientConfig }) => clientConfig.caBundle))])
        .map((bundle) => Buffer.from(bundle, 'base64').toString());
    }
  });
}
