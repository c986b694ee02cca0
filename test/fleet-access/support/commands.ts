/** `kidp clusters` against a real platform: what leaves the machine is sealed, and nothing is left half done. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Command } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { type Cluster, cluster as clusterKind } from '../../../src/api/index.ts';
import { declareClusters } from '../../../src/cli/clusters/command.ts';
import { keysFromFile, type SecretObject } from '../../../src/fleet/index.ts';
import { connect, isForbidden, isNotFound, loadKubeconfig } from '../../../src/runtime/index.ts';
import { coreSecrets } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { sharedCluster } from '../../support/cluster.ts';
import { type Management, patient, says, systemNamespace, whenCluster } from './setup.ts';

export function commandTests(of: () => { readonly management: Management }): void {
  const directory = mkdtempSync(join(tmpdir(), 'kidp-clusters-test-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };

  const kidp = async (words: readonly string[], input = '') => {
    const output = { out: '', err: '' };
    const sink = (to: 'out' | 'err') => ({
      write(text: string) {
        output[to] += text;
      },
    });
    let code = 0;
    const command = new Command('clusters').exitOverride();
    declareClusters(
      command,
      (result) => {
        code = result;
      },
      { in: Readable.from([input]), out: sink('out'), err: sink('err') },
    );
    try {
      await command.parseAsync(words, { from: 'user' });
    } catch (error) {
      return { ...output, code: 2, failure: String(error) };
    }
    return { ...output, code, failure: '' };
  };
  const management = () => ['--kubeconfig', of().management.plane.kubeconfig];
  /** Those that were made for a Cluster of that name. */
  const secretsOf = async (name: string): Promise<SecretObject[]> => {
    const { items } = await of().management.client.list<SecretObject>(coreSecrets, { namespace: systemNamespace });
    return items.filter(({ metadata }) => metadata.name.startsWith(`cluster-${name}-`));
  };
  const gone = (work: Promise<unknown>) => expect(work).rejects.toSatisfy(isNotFound);

  describe('kidp clusters', () => {
    test('add tries the kubeconfig, seals it here and registers the cluster; list, status, pause and resume work with it', async () => {
      const { client, plane, kubeconfig } = of().management;
      const added = await kidp([
        'add',
        'by-hand',
        '--from',
        plane.kubeconfig,
        '--environment',
        'Staging',
        '--label',
        'region=eu',
        '--contact',
        'ops@example.com',
        ...management(),
      ]);
      expect(added).toMatchObject({ code: 0, failure: '' });
      expect(added.err).toMatch(/^by-hand runs Kubernetes v1\./);
      expect(added.out).toContain('cluster by-hand added');
      const [secret] = await secretsOf('by-hand');
      const sealed = Buffer.from(secret?.data?.['kubeconfig.jwe'] ?? '', 'base64').toString();
      expect(sealed.split('.')).toHaveLength(5);
      const { 'client-key-data': key } = JSON.parse(kubeconfig).users[0].user;
      expect(sealed).not.toContain(key);
      const cluster = await whenCluster(client, 'by-hand', says('Ready', 'True', 'ResourceReady'));
      expect(cluster.metadata.labels).toMatchObject({ region: 'eu' });
      const list = await kidp(['list', '--environment', 'Staging', ...management()]);
      expect(list.out).toMatch(/^NAME +ENVIRONMENT +HEALTH +VERSION +CHECKED +REASON\nby-hand +Staging +Healthy +v1\./);
      expect(list.out.trim().split('\n')).toHaveLength(2);
      expect((await kidp(['pause', 'by-hand', ...management()])).code).toBe(0);
      const paused = await client.get<Cluster>(clusterKind.resource, { name: 'by-hand' });
      expect(paused.spec.paused).toBe(true);
      const status = await kidp(['status', 'by-hand', ...management()]);
      expect(status.out).toMatch(/Health +\w+ \(paused/);
      expect(status.out).toMatch(/Contact +ops@example.com/);
      expect((await kidp(['resume', 'by-hand', ...management()])).code).toBe(0);
      expect(JSON.parse((await kidp(['status', 'by-hand', '-o', 'json', ...management()])).out)).toMatchObject({
        name: 'by-hand',
        paused: false,
      });
    });

    test('add --replace seals another kubeconfig, and without it one that is there is left alone', async () => {
      const { plane } = of().management;
      const before = await secretsOf('by-hand');
      const again = await kidp(['add', 'by-hand', '--from', plane.kubeconfig, '--environment', 'Dev', ...management()]);
      expect(again.failure).toContain('--replace');
      expect(await secretsOf('by-hand')).toEqual(before);
      const replaced = await kidp(
        ['add', 'by-hand', '--replace', '--from', '-', ...management()],
        readFileSync(plane.kubeconfig, 'utf8'),
      );
      expect(replaced).toMatchObject({ code: 0, failure: '' });
      // The one of before goes when the platform next looks, which may be at once or a moment later.
      const after = await eventually(async () => {
        const found = await secretsOf('by-hand');
        return found.length === 1 && found;
      }, patient);
      expect(after[0]?.data).not.toEqual(before[0]?.data);
      await whenCluster(
        of().management.client,
        'by-hand',
        (cluster) =>
          cluster.status?.observedGeneration === cluster.metadata.generation &&
          says('Ready', 'True', 'ResourceReady')(cluster),
      );
    });

    test('add --dry-run prints what would be made, sealed, and makes nothing', async () => {
      const { plane, client } = of().management;
      const dry = await kidp([
        'add',
        'thought-of',
        '--dry-run',
        '--from',
        plane.kubeconfig,
        '--environment',
        'Dev',
        ...management(),
      ]);
      expect(dry.out).toContain('type: platform.company.com/sealed-kubeconfig');
      expect(await secretsOf('thought-of')).toEqual([]);
      await gone(client.get(clusterKind.resource, { name: 'thought-of' }));
    });

    test('what is refused leaves nothing behind, and the message says what to do', async () => {
      const { plane, kubeconfig, client } = of().management;
      const parsed = JSON.parse(kubeconfig);
      const withUser = (user: object) => JSON.stringify({ ...parsed, users: [{ name: parsed.users[0].name, user }] });
      const rows = [
        {
          from: file('exec', withUser({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'true' } })),
          words: [],
          says: 'exec plugin',
          reason: 'it would run a program on the platform',
        },
        {
          from: file('nobody', withUser({})),
          words: [],
          says: 'neither a token nor a client certificate',
          reason: 'there are no credentials',
        },
        {
          from: file('away', kubeconfig.replaceAll(plane.url, 'https://127.0.0.1:1')),
          words: [],
          says: 'is unreachable',
          reason: 'nothing answers',
        },
        {
          from: file('stranger', withUser({ token: 'not-one-of-yours' })),
          words: [],
          says: 'rejects the credentials',
          reason: 'nobody knows the token',
        },
        { from: join(directory, 'missing'), words: [], says: 'no kubeconfig at', reason: 'there is no file' },
        {
          from: plane.kubeconfig,
          words: ['--sealing-key', file('public', '{}')],
          says: 'does not contain a public key',
          reason: 'the key is none',
        },
        {
          from: plane.kubeconfig,
          words: ['--namespace', 'default'],
          says: 'publishes no key',
          reason: 'the platform is elsewhere',
        },
        {
          from: plane.kubeconfig,
          words: ['--label', 'a b=c'],
          says: 'labels',
          reason: 'admission refuses the Cluster',
        },
      ];
      for (const { from, words, says: expected, reason } of rows) {
        const { code, failure } = await kidp([
          'add',
          'refused',
          '--environment',
          'Dev',
          '--from',
          from,
          ...words,
          ...management(),
        ]);
        expect(code, reason).not.toBe(0);
        expect(failure, reason).toContain(expected);
      }
      expect(await secretsOf('refused')).toEqual([]);
      await gone(client.get(clusterKind.resource, { name: 'refused' }));
    });

    test('an administrator of the platform adds one, who may read no Secret', async () => {
      const { plane, client } = of().management;
      const rights = join(import.meta.dirname, '..', '..', '..', 'manifests', 'rbac');
      const applied = await sharedCluster().kubectl(['apply', '-k', rights], { kubeconfig: plane.kubeconfig });
      expect(applied).toMatchObject({ code: 0 });
      const ann = await plane.kubeconfigFor({ name: 'ann', groups: ['kidp:admin'] });
      // An API server knows of a role a moment after it was written.
      await eventually(async () => (await kidp(['list', '--kubeconfig', ann])).code === 0, patient);
      const added = await eventually(async () => {
        const answer = await kidp([
          'add',
          'by-ann',
          '--from',
          plane.kubeconfig,
          '--environment',
          'Dev',
          '--kubeconfig',
          ann,
        ]);
        return answer.failure.includes('forbidden') ? false : answer;
      }, patient);
      expect(added).toMatchObject({ code: 0, failure: '' });
      await whenCluster(client, 'by-ann', says('Ready', 'True', 'ResourceReady'));
      const her = connect(loadKubeconfig({ file: ann }));
      await expect(her.list(coreSecrets, { namespace: systemNamespace })).rejects.toSatisfy(isForbidden);
      await her.close();
    });

    test('remove waits until its credentials are erased', async () => {
      const removed = await kidp(['remove', 'by-hand', ...management()]);
      expect(removed).toMatchObject({ code: 0, out: 'cluster by-hand removed, its credentials are erased\n' });
      expect(await secretsOf('by-hand')).toEqual([]);
      expect((await kidp(['remove', 'by-hand', ...management()])).failure).toContain('there is no Cluster by-hand');
      await eventually(async () => (await kidp(['list', ...management()])).code === 0, patient);
    });

    test('keygen makes a file that only its owner reads, and keeps the keys of before behind the new one', async () => {
      const out = join(directory, 'keys.json');
      expect((await kidp(['keygen', '--out', out])).code).toBe(0);
      expect(statSync(out).mode & 0o777).toBe(0o600);
      const first = (await keysFromFile(out).current()).sealing.id;
      await kidp(['keygen', '--out', out]);
      const ring = await keysFromFile(out).current();
      expect(ring.sealing.id).not.toBe(first);
      expect(ring.find(first)).toBeDefined();
      const other = file('other', 'not a key set');
      expect((await kidp(['keygen', '--out', other])).failure).toContain('are invalid');
      expect(readFileSync(other, 'utf8')).toBe('not a key set');
    });
  });
}
