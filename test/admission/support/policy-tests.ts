/** All gates as users meet them: on a real API server, with the live policies behind the webhook. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Admission,
  type LivePolicySource,
  policyGate,
  startAdmission,
  startPolicySource,
} from '../../../src/admission/index.ts';
import { application, database, team } from '../../../src/api/index.ts';
import { type Client, isNotFound, type KubernetesObject, type UnknownObject } from '../../../src/runtime/index.ts';
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
  refusal,
} from './platform.ts';

export function policyTests(running: () => Platform): void {
  describe('all gates', () => {
    let platform: Platform;
    let client: Client;
    let source: LivePolicySource;
    let admission: Admission;
    const patient = { within: 180_000 };
    const webhook = 'validate-fail.kidp.platform.company.com';
    const finalizer = 'platform.company.com/cleanup-resources';

    beforeAll(async () => {
      platform = running();
      client = platform.client;
      source = startPolicySource({ client, platformNamespace, exceptionNamespaces: ['policy-exceptions'] });
      admission = await startAdmission({
        client,
        policies: source,
        owners: source.owners,
        mapping: () => source.mapping,
        policyGate: policyGate({ client, source }),
        reconcilers: ['reconciler'],
        platformNamespace,
      });
      await eventually(async () => {
        const probe = { ...databaseOf('probe', { kind: 'User', name: 'x' }) };
        return (await refusal(client, database.resource, probe)).includes('ownership:');
      }, patient);
      for (const [name, namespace] of [
        ['backend-team', 'team-backend'],
        ['frontend-team', 'team-frontend'],
      ] as const) {
        await client.create(team.resource, {
          ...platformObject('Team', name),
          spec: { namespace },
        } as KubernetesObject);
      }
    });
    afterAll(async () => {
      await admission?.stop();
      await source?.stop();
    });

    const platformObject = (kind: string, name: string, namespace?: string, metadata: object = {}): UnknownObject => ({
      apiVersion: 'platform.company.com/v1',
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata },
    });
    const databaseOf = (
      name: string,
      owner: object,
      metadata: object = {},
      namespace = 'team-backend',
    ): UnknownObject => ({
      ...platformObject('Database', name, namespace, metadata),
      spec: { owner },
    });
    const backend = { kind: 'Team', name: 'backend-team' };
    const read = (name: string) => client.get<UnknownObject>(database.resource, { namespace: 'team-backend', name });

    describe('what the platform writes', () => {
      test('labels, finalizer and defaults are there, through an Application too', async () => {
        const owned = { ...platformObject('Application', 'user-service', 'team-backend'), spec: { owner: backend } };
        await client.create(application.resource, owned as KubernetesObject);
        await client.create(database.resource, databaseOf('users', { kind: 'Application', name: 'user-service' }));
        const { metadata, spec } = await read('users');
        expect(metadata.labels).toEqual({
          'platform.company.com/managed-by': 'kidp',
          'platform.company.com/team': 'team-backend',
        });
        expect(metadata.finalizers).toEqual([finalizer]);
        expect(spec).toMatchObject({ engine: 'postgresql' });
      });

      test('a replace by a manifest without them changes nothing of it', async () => {
        const { stderr } = await platform.kubectl(
          ['replace', '-f', '-'],
          databaseOf('users', { kind: 'Application', name: 'user-service' }, { labels: { mine: 'yes' } }),
        );
        expect(stderr).toBe('');
        const { metadata } = await read('users');
        expect(metadata.labels).toMatchObject({ mine: 'yes', 'platform.company.com/team': 'team-backend' });
        expect(metadata.finalizers).toEqual([finalizer]);
      });

      test('an owner that does not exist yet is admitted with a warning and without a team label', async () => {
        const { code, stderr } = await platform.kubectl(
          ['apply', '-f', '-'],
          databaseOf('early', { kind: 'Application', name: 'later' }),
        );
        expect({ code, stderr }).toMatchObject({ code: 0 });
        expect(stderr).toContain('Warning: ownership: Application team-backend/later does not exist (yet)');
        expect((await read('early')).metadata.labels).toEqual({ 'platform.company.com/managed-by': 'kidp' });
      });

      test('a team that is claimed before the owner exists is taken out, each time it is applied', async () => {
        const labels = { 'platform.company.com/team': 'team-frontend', mine: 'yes' };
        const claiming = databaseOf('claimed', { kind: 'Application', name: 'later' }, { labels });
        const versions = new Set<string | undefined>();
        for (let index = 0; index < 4; index += 1) {
          const { code, stderr } = await platform.kubectl(['apply', '--server-side', '-f', '-'], claiming);
          expect({ code, stderr }).toMatchObject({ code: 0 });
          expect(stderr).toContain('Warning: labels: platform.company.com/team was removed');
          const { metadata } = await read('claimed');
          expect(metadata.labels).toEqual({ 'platform.company.com/managed-by': 'kidp', mine: 'yes' });
          // The first time that it is applied again the default of its status is stored with it; from then on nothing is written.
          if (index > 0) versions.add(metadata.resourceVersion);
        }
        expect(versions.size).toBe(1);
      });
    });

    describe('what the platform refuses', () => {
      const rows: { reason: string; object: () => UnknownObject; says: readonly string[] }[] = [
        {
          reason: 'an owner of another team',
          object: () => databaseOf('x', { kind: 'Team', name: 'frontend-team' }),
          says: ['spec.owner is Team frontend-team (namespace team-frontend)', 'Team backend-team'],
        },
        {
          reason: 'an owner in the namespace of another team',
          object: () =>
            databaseOf(
              'x',
              { kind: 'Application', name: 'user-service', namespace: 'team-backend' },
              {},
              'team-frontend',
            ),
          says: ['Application team-backend/user-service, of Team backend-team'],
        },
        {
          reason: 'an Application that owns itself',
          object: () => ({
            ...platformObject('Application', 'selfish', 'team-backend'),
            spec: { owner: { kind: 'Application', name: 'selfish' } },
          }),
          says: ['spec.owner forms a cycle'],
        },
        {
          reason: 'labels of the platform, all that is wrong at once',
          object: () =>
            databaseOf('x', backend, {
              labels: { 'platform.company.com/team': 'team-frontend', 'platform.company.com/tier': 'gold' },
            }),
          says: ['platform.company.com/team is "team-frontend"', 'platform.company.com/tier has the prefix'],
        },
      ];
      test.each(rows)('$reason', async ({ object, says }) => {
        const resource = object().kind === 'Application' ? application.resource : database.resource;
        const said = await refusal(client, resource, object());
        for (const words of says) expect(said).toContain(words);
      });

      test('the finalizer stays, whoever tries, until the reconciler takes it or the object is deleted', async () => {
        const patch = { type: 'json', body: [{ op: 'remove', path: '/metadata/finalizers' }] } as const;
        await client.patch(database.resource, { namespace: 'team-backend', name: 'users' }, patch);
        expect((await read('users')).metadata.finalizers).toEqual([finalizer]);
        await client.create(database.resource, databaseOf('leaving', backend));
        await client.delete(database.resource, { namespace: 'team-backend', name: 'leaving' });
        const both = { metadata: { finalizers: null, labels: { more: 'yes' } } };
        const key = { namespace: 'team-backend', name: 'leaving' };
        await expect(client.patch(database.resource, key, { type: 'merge', body: both })).rejects.toThrow(
          'only the platform removes the finalizer',
        );
        await client.patch(database.resource, key, { type: 'merge', body: { metadata: { finalizers: null } } });
        await expect(client.get(database.resource, key)).rejects.toSatisfy(isNotFound);
      });
    });

    /** Until what is tried is refused by this policy. */
    const inForce = (name: string, object = configMap('probe')) =>
      eventually(async () => (await refusal(client, configMaps, object)).includes(name), patient);

    describe('a policy', () => {
      test('denies with its name, its rule, its message and why, together with all other gates', async () => {
        await applyPolicy(
          client,
          policy('require-backup', ['Database'], 'spec.backup.enabled == true', {
            rule: { name: 'enabled', message: 'Set spec.backup.enabled to true.' },
          }),
        );
        const object = {
          ...databaseOf('x', backend, { labels: { 'platform.company.com/tier': 'gold' } }),
          spec: { owner: backend, backup: { enabled: false } },
        };
        const said = await eventually(async () => {
          const words = await refusal(client, database.resource, object);
          return words.includes('require-backup') ? words : false;
        }, patient);
        expect(said).toContain(
          'policy require-backup, rule enabled: spec.backup.enabled is false, want true. Set spec.backup.enabled to true.',
        );
        expect(said).toContain('labels: the label platform.company.com/tier has the prefix');
        await deletePolicy(client, 'require-backup');
      });

      test('holds for any kind, warns where it only warns, and ends with its deletion', async () => {
        const warning = { rule: { enforcement: 'Warn', message: 'Please say who owns this' } };
        await applyPolicy(client, policy('say-who', ['core/v1/ConfigMap'], "'owner' in object.data", warning));
        await eventually(async () => {
          const { stderr } = await platform.kubectl(
            ['apply', '--dry-run=server', '-f', '-'],
            configMap('a', { x: 'y' }),
          );
          return stderr.includes('Warning: policy say-who, rule only: data lacks "owner". Please say who owns this');
        }, patient);
        await applyPolicy(client, policy('say-who', ['core/v1/ConfigMap'], "'owner' in object.data"));
        await inForce('say-who', configMap('a', { x: 'y' }));
        const webhooks = async () =>
          (
            await client.get<{ webhooks?: { name: string }[] } & KubernetesObject>(configurations('Validating'), {
              name: 'kidp-admission',
            })
          ).webhooks?.map(({ name }) => name.split('.')[0]);
        expect(await webhooks()).toContain('validate-fail');
        await deletePolicy(client, 'say-who');
        await eventually(async () => (await refusal(client, configMaps, configMap('a', { x: 'y' }))) === '', patient);
        await eventually(async () => !(await webhooks())?.includes('validate-fail'), patient);
      });

      test('changes objects once, and the platform’s own as well', async () => {
        const mutation = (name: string, types: readonly string[], expression: string): UnknownObject => ({
          ...platformObject('Policy', name),
          spec: {
            selector: { resourceTypes: types },
            mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
          },
        });
        const add = `[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'seen': string(size(object.metadata.name))}}]`;
        await applyPolicy(client, mutation('annotate', ['core/v1/ConfigMap', 'Database'], add));
        await eventually(async () => {
          const made = await client.create(configMaps, configMap('abc'), { dryRun: true });
          return made.metadata.annotations?.seen === '3';
        }, patient);
        const made = await client.create(database.resource, databaseOf('abcd', backend), { dryRun: true });
        expect(made.metadata).toMatchObject({
          annotations: { seen: '4' },
          labels: { 'platform.company.com/team': 'team-backend' },
          finalizers: [finalizer],
        });
        await deletePolicy(client, 'annotate');
      });

      test('leaves policy, revision, latency and its own words in the audit log', async () => {
        const auditAnnotations = [{ key: 'who', valueExpression: "'made by ' + object.metadata.name" }];
        const recording = policy('record', ['core/v1/ConfigMap'], 'false', {
          rule: { enforcement: 'Audit', auditAnnotations },
        });
        await applyPolicy(client, recording);
        const annotations = await eventually(async () => {
          await client.create(configMaps, configMap('audited'), { dryRun: true });
          const lines = (await readFile(platform.plane.auditLog ?? '', 'utf8')).trim().split('\n');
          return (
            lines
              .map((line) => JSON.parse(line).annotations ?? {})
              .find((each) => each[`${webhook}/policies`] === 'record') ?? false
          );
        }, patient);
        expect(annotations).toMatchObject({
          [`${webhook}/policies`]: 'record',
          [`${webhook}/audit`]: 'record/only',
          [`${webhook}/record.who`]: 'made by audited',
          [`${webhook}/revision`]: source.current().set.revision,
          [`${webhook}/latency-microseconds`]: expect.stringMatching(/^\d+$/),
        });
        await deletePolicy(client, 'record');
      });

      test('asks the API server who may do what', async () => {
        const may = "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()";
        await applyPolicy(client, policy('readers-of-secrets', ['core/v1/ConfigMap'], may));
        const stranger = client.impersonate({ user: 'stranger', groups: ['system:authenticated'] });
        await platform.kubectl(['create', 'clusterrole', 'maps', '--verb=*', '--resource=configmaps']);
        await platform.kubectl(['create', 'clusterrolebinding', 'maps', '--clusterrole=maps', '--user=stranger']);
        await eventually(
          async () => (await refusal(stranger, configMaps, configMap('a'))).includes('readers-of-secrets'),
          patient,
        );
        expect(await refusal(client, configMaps, configMap('a'))).toBe('');
        await deletePolicy(client, 'readers-of-secrets');
      });

      test('knows the labels of a namespace that was made a moment ago', async () => {
        const selector = { namespaceSelector: { matchLabels: { strict: 'yes' } } };
        await applyPolicy(client, policy('strict', ['core/v1/ConfigMap'], 'false', { selector }));
        const namespace = (name: string) => ({
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name, labels: { strict: 'yes' } },
        });
        await client.create(namespaces, namespace('strict-first'));
        await eventually(
          async () =>
            (await refusal(client, configMaps, configMap('a', {}, { namespace: 'strict-first' }))).includes(
              'policy strict',
            ),
          patient,
        );
        for (let index = 0; index < 10; index += 1) {
          const name = `strict-${index}`;
          await client.create(namespaces, namespace(name));
          expect(await refusal(client, configMaps, configMap('a', {}, { namespace: name }))).toContain('policy strict');
        }
        await deletePolicy(client, 'strict');
      });
    });

    describe('a policy that goes wrong harms only itself', () => {
      const others = configMap('a', { fine: 'yes' });
      beforeAll(async () => {
        await applyPolicy(client, policy('all-fine', ['core/v1/ConfigMap'], "object.data.fine == 'yes'"));
        await inForce('all-fine');
      });
      afterAll(() => deletePolicy(client, 'all-fine'));

      test('a failing expression denies matching requests with a reason, and admits them with failurePolicy Ignore', async () => {
        const selector = { matchLabels: { broken: 'yes' } };
        const broken = (failurePolicy: string) =>
          policy('broken', ['core/v1/ConfigMap'], "object.data.missing == 'x'", { selector, spec: { failurePolicy } });
        await applyPolicy(client, broken('Fail'));
        const about = configMap('a', { fine: 'yes' }, { labels: { broken: 'yes' } });
        await inForce('policy broken', about);
        expect(await refusal(client, configMaps, others)).toBe('');
        await applyPolicy(client, broken('Ignore'));
        await eventually(async () => (await refusal(client, configMaps, about)) === '', patient);
        await deletePolicy(client, 'broken');
      });

      test('one that never ends is cut off by its cost, and the others are still heard', async () => {
        const many = Array.from({ length: 10 }, (_, index) => index).join(', ');
        const loops = `[${many}]`;
        const endless =
          Array.from({ length: 8 }, (_, depth) => `${loops}.all(x${depth}, `).join('') +
          "object.kind != ''" +
          ')'.repeat(8);
        await applyPolicy(
          client,
          policy('endless', ['core/v1/ConfigMap'], endless, { selector: { matchLabels: { loop: 'yes' } } }),
        );
        const about = configMap('a', { fine: 'no' }, { labels: { loop: 'yes' } });
        const said = await eventually(async () => {
          const words = await refusal(client, configMaps, about);
          return words.includes('policy endless') ? words : false;
        }, patient);
        expect(said).toContain('policy all-fine');
        expect(await refusal(client, configMaps, others)).toBe('');
        await deletePolicy(client, 'endless');
      });

      test('a Policy that denies all Policies can be fixed and deleted', async () => {
        const operations = ['CREATE', 'UPDATE', 'DELETE'];
        await applyPolicy(client, policy('no-policies', ['Policy'], 'false', { selector: { operations } }));
        const another = policy('another', ['Database'], 'true');
        await eventually(async () => {
          const said = await platform.kubectl(['apply', '--dry-run=server', '-f', '-'], another);
          return said.stderr.includes('policy no-policies');
        }, patient);
        await applyPolicy(
          client,
          policy('no-policies', ['Policy'], 'metadata.name != "another"', { selector: { operations } }),
        );
        await deletePolicy(client, 'no-policies');
        await eventually(
          async () => (await platform.kubectl(['apply', '--dry-run=server', '-f', '-'], another)).code === 0,
          patient,
        );
      });

      test('one on everything, beside one that is also about system namespaces, holds up nothing else', async () => {
        await applyPolicy(client, policy('everything', ['*'], 'object.metadata.name != "refused"'));
        const reaching = policy('reaching', ['core/v1/Pod'], 'true', { selector: { includeSystemNamespaces: true } });
        await applyPolicy(client, reaching);
        await inForce('policy everything', configMap('refused', { fine: 'yes' }));
        const { stderr } = await platform.kubectl(['apply', '-f', '-'], policy('another', ['Database'], 'true'));
        expect(stderr).not.toContain('resulted in error');
        await deletePolicy(client, 'another');
        const cluster = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'of-no-namespace' } };
        expect(await refusal(client, namespaces, cluster)).toBe('');
        expect(await refusal(client, database.resource, databaseOf('fine', backend))).toBe('');
        await deletePolicy(client, 'everything');
        await deletePolicy(client, 'reaching');
      });

      test('one that does not compile is refused with line and column', async () => {
        const { stderr } = await platform.kubectl(
          ['apply', '-f', '-'],
          policy('wrong', ['Database'], 'spec.backup.\n  enabled = true'),
        );
        expect(stderr).toContain('spec.rules[0].expression');
        expect(stderr).toMatch(/2:\d+|line 2/);
      });
    });
  });
}
