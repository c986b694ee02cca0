/**
 * Real Flux applies commits of teams and policy authors to a real API server with the platform's admission webhooks.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  application,
  CLEANUP_FINALIZER,
  database,
  MANAGED_BY_LABEL,
  policyException,
  TEAM_LABEL,
  team,
} from '../../../src/api/index.ts';
import {
  addFinalizer,
  type Client,
  isNotFound,
  type Resource,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type PolicyPlane, patient, policyObject } from '../../live-policies/support/platform.ts';
import type { Flux } from '../../support/flux.ts';
import type { GitRepository } from '../../support/git-server.ts';
import type { FluxStage } from './stage.ts';

const native = (group: string, kind: string): Resource => ({
  group,
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: true,
});
const deployments = native('apps', 'Deployment');
const configMaps = native('', 'ConfigMap');
const coreEvents = native('', 'Event');

const namespace = 'team-backend';
const ours = (kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: 'platform.company.com/v1',
  kind,
  metadata: { name, ...metadata },
  spec,
});
const namespaceObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
const teamObject = ours('Team', 'backend-team', { namespace });
const applicationObject = ours('Application', 'shop', { owner: { kind: 'Team', name: 'backend-team' } }, { namespace });
const usersObject = (spec: object = {}, labels: object = {}) =>
  ours(
    'Database',
    'users',
    { owner: { kind: 'Application', name: 'shop', namespace }, backup: { enabled: true }, ...spec },
    { namespace, labels: { environment: 'production', ...labels } },
  );
/** Requests fewer replicas than a Policy sets. */
const webObject = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          { name: 'web', image },
          { name: 'proxy', image: 'registry.example.com/proxy:1' },
        ],
      },
    },
  },
});
const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { a: 'x' },
});

const requireBackup = policyObject('require-backup', {
  selector: { resourceTypes: ['Database'], matchLabels: { environment: 'production' } },
  rules: [
    {
      name: 'require-backup',
      expression: 'spec.backup.enabled == true',
      message: 'Production data must be restorable.',
    },
  ],
});
const trustedImages = (expression = "spec.containers.all(c, c.image.startsWith('registry.example.com/'))") =>
  policyObject('trusted-images', {
    selector: { resourceTypes: ['core/v1/Pod'] },
    rules: [{ name: 'registry', expression, message: 'Use an image of registry.example.com.' }],
  });
/** Changes fields that Git sets, defaulted fields, list elements, labels, and the platform's own kinds. */
const houseDefaults = [
  policyObject('house-workloads', {
    selector: { resourceTypes: ['apps/v1/Deployment'], namespaces: [namespace] },
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: `Object{
  metadata: Object.metadata{annotations: {"example.com/cost-center": "4711"}},
  spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
    automountServiceAccountToken: false,
    containers: object.spec.template.spec.containers.map(c,
      Object.spec.template.spec.containers{name: c.name, imagePullPolicy: "Always"})}}}}`,
        },
      },
      {
        patchType: 'JSONPatch',
        jsonPatch: {
          expression: 'object.spec.replicas < 2 ? [JSONPatch{op: "replace", path: "/spec/replicas", value: 2}] : []',
        },
      },
    ],
  }),
  policyObject('house-databases', {
    selector: { resourceTypes: ['Database'] },
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"tier": "standard"}}}' },
      },
    ],
  }),
];

const yaml = (...objects: object[]) => objects.map((each) => stringify(each)).join('---\n');

/** Each test continues from the commit of the previous one. */
export function policyTests(running: () => FluxStage): void {
  describe('a repository of policies and the resources that they select', () => {
    let live: PolicyPlane;
    let client: Client;
    let flux: Flux;
    let repository: GitRepository;
    beforeAll(async () => {
      ({ live, flux } = running());
      ({ client } = live);
      repository = await running().server.repository('platform');
    });

    const users = () => client.get<UnknownObject>(database.resource, { namespace, name: 'users' });
    const web = () => client.get<UnknownObject>(deployments, { namespace, name: 'web' });
    const landed = async (): Promise<UnknownObject[]> => [
      await client.get(team.resource, { name: 'backend-team' }),
      await client.get(application.resource, { namespace, name: 'shop' }),
      await users(),
      await web(),
    ];
    /** Every write to one of them would change these versions. */
    const versions = async () =>
      Object.fromEntries(
        (await landed()).map(({ kind, metadata: { resourceVersion, generation } }) => [
          kind,
          { resourceVersion, generation },
        ]),
      );
    /** Returns the objects in the order in which Flux created them. */
    async function firstCreated(name: string): Promise<string[]> {
      const { items } = await client.list<UnknownObject & { message?: string }>(coreEvents, {
        namespace: flux.namespace,
      });
      const created = items.filter(({ involvedObject }) => (involvedObject as { name?: string }).name === name);
      const lines = created
        .flatMap(({ message = '' }) => message.split('\n'))
        .filter((line) => line.endsWith(' created'));
      return lines.map((line) => line.split('/')[0] as string);
    }
    /** Checks that Flux detects no drift and that no client writes. */
    const unchangedOver = async (reconciles: number) => {
      const before = await versions();
      const earlier = flux.applied('apps').length;
      for (let each = 0; each < reconciles; each += 1) {
        expect(await flux.reconciled('apps')).toMatchObject({ status: 'True' });
      }
      const since = flux.applied('apps').slice(earlier);
      expect(since.length).toBeGreaterThanOrEqual(reconciles);
      for (const each of since) {
        expect(each).toHaveProperty([`Database/${namespace}/users`]);
        expect(new Set(Object.values(each))).toEqual(new Set(['unchanged']));
      }
      expect(await versions()).toEqual(before);
    };

    test('lands in one commit: policies first, then what is owned before its owner', async () => {
      const commit = await repository.commit({
        'policies/backup.yaml': yaml(requireBackup),
        'policies/images.yaml': yaml(trustedImages()),
        'policies/defaults.yaml': yaml(...houseDefaults),
        'apps/backend.yaml': yaml(usersObject(), applicationObject, namespaceObject, teamObject),
        'apps/web.yaml': yaml(webObject('registry.example.com/web:1')),
      });
      await flux.sync('policies', repository, {
        path: './policies',
        interval: '1s',
        spec: {
          wait: true,
          healthCheckExprs: [
            {
              apiVersion: 'platform.company.com/v1',
              kind: 'Policy',
              current: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
            },
          ],
        },
      });
      await flux.sync('apps', repository, {
        path: './apps',
        source: 'policies',
        spec: { dependsOn: [{ name: 'policies' }] },
      });
      expect(await flux.outcome('policies', commit)).toMatchObject({ status: 'True' });
      expect(await flux.outcome('apps', commit)).toMatchObject({ status: 'True' });

      const order = await eventually(async () => {
        const kinds = await firstCreated('apps');
        return kinds.includes('Team') && kinds;
      }, patient);
      expect(order.indexOf('Database')).toBeLessThan(order.indexOf('Team'));
      expect((await users()).metadata).toMatchObject({
        labels: { [MANAGED_BY_LABEL]: 'kidp', tier: 'standard', environment: 'production' },
      });
      const container = { imagePullPolicy: 'Always' };
      expect(await web()).toMatchObject({
        metadata: { annotations: { 'example.com/cost-center': '4711' } },
        spec: {
          replicas: 2,
          template: { spec: { automountServiceAccountToken: false, containers: [container, container] } },
        },
      });
    });

    test('settles: what admission adds is no drift to Flux', async () => {
      // The Team was created after the objects that it owns; the next reconcile finds it.
      await flux.reconciled('apps');
      const fates = flux.applied('apps').map((each) => each[`Database/${namespace}/users`]);
      expect(fates.filter((each) => each !== 'unchanged')).toEqual(['created', 'configured']);
      expect((await users()).metadata.labels).toMatchObject({ [TEAM_LABEL]: namespace });
      // Nothing is dispatched in this setup, so the test runs the steps before dispatch itself.
      const resource = database.resource;
      await eventually(async () => addFinalizer(client, resource, await users(), CLEANUP_FINALIZER), patient);
      await unchangedOver(3);
    });

    test('that a policy denies leaves the cluster as it was and says policy, rule and reason, beside every other violation', async () => {
      const before = await versions();
      const commit = await repository.commit({
        'apps/backend.yaml': yaml(
          usersObject({ backup: { enabled: false }, owner: { kind: 'Team', name: 'backend-team' } }),
          applicationObject,
          namespaceObject,
          teamObject,
        ),
        'apps/web.yaml': yaml(webObject('registry.example.com/web:2'), configMap('new')),
      });
      const ready = await flux.outcome('apps', commit);
      expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
      expect(ready.message).toContain('Database/team-backend/users dry-run failed (Forbidden)');
      expect(ready.message).toContain(
        'policy require-backup, rule require-backup: spec.backup.enabled is false, want true. Production data must be restorable.',
      );
      expect(ready.message).toContain('ownership: spec.owner');
      expect(await versions()).toEqual(before);
      await expect(client.get(configMaps, { namespace, name: 'new' })).rejects.toSatisfy(isNotFound);
    });

    test('recovers automatically once the commit is fixed', async () => {
      const commit = await repository.commit({
        'apps/backend.yaml': yaml(usersObject({ size: 'large' }), applicationObject, namespaceObject, teamObject),
      });
      expect(await flux.outcome('apps', commit)).toMatchObject({ status: 'True' });
      expect(await users()).toMatchObject({ spec: { size: 'large', backup: { enabled: true } } });
      expect(await web()).toMatchObject({
        spec: { template: { spec: { containers: [{ image: 'registry.example.com/web:2' }, {}] } } },
      });
      expect(await client.get(configMaps, { namespace, name: 'new' })).toMatchObject({ data: { a: 'x' } });
      await unchangedOver(2);
    });

    test('may say itself what the platform sets, and stop saying it', async () => {
      const backend = (...labels: object[]) => ({
        'apps/backend.yaml': yaml(usersObject({}, ...labels), applicationObject, namespaceObject, teamObject),
      });
      const said = await repository.commit(
        backend({ [MANAGED_BY_LABEL]: 'kidp', [TEAM_LABEL]: namespace, tier: 'standard' }),
      );
      expect(await flux.outcome('apps', said)).toMatchObject({ status: 'True' });
      const wrong = await flux.outcome('apps', await repository.commit(backend({ [TEAM_LABEL]: 'team-other' })));
      expect(wrong).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
      expect(wrong.message).toContain(`labels: the label ${TEAM_LABEL} is "team-other"`);
      const unsaid = await repository.commit(backend());
      expect(await flux.outcome('apps', unsaid)).toMatchObject({ status: 'True' });
      expect((await users()).metadata.labels).toMatchObject({
        [MANAGED_BY_LABEL]: 'kidp',
        [TEAM_LABEL]: namespace,
        tier: 'standard',
      });
      await unchangedOver(2);
    });

    test('with a broken policy: the reason with line and column, the policy that was there holds on, and nothing else moves', async () => {
      const before = await versions();
      const commit = await repository.commit({
        'policies/images.yaml': yaml(
          trustedImages("spec.containers.all(c,\n  c.image.startsWith('registry.example.com/'"),
        ),
        'apps/web.yaml': yaml(webObject('registry.example.com/web:3'), configMap('new')),
      });
      const ready = await flux.outcome('policies', commit);
      expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
      expect(ready.message).toContain('Policy/trusted-images dry-run failed');
      expect(ready.message).toMatch(/spec\.rules\[0\]\.expression, line 2, column 45: /);
      expect(await live.condition('trusted-images', 'Ready')).toMatchObject({ status: 'True' });
      expect(await versions()).toEqual(before);

      const fixed = await repository.commit({ 'policies/images.yaml': yaml(trustedImages()) });
      expect(await flux.outcome('apps', fixed)).toMatchObject({ status: 'True' });
      expect(await flux.outcome('policies', fixed)).toMatchObject({ status: 'True' });
    });

    test('with a policy and what it denies in one commit: it is in force before the rest is tried, and an exception lets that in', async () => {
      const before = await versions();
      const commit = await repository.commit({
        'policies/names.yaml': yaml(
          policyObject('plain-names', {
            selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: [namespace] },
            rules: [{ name: 'short', expression: 'metadata.name.size() <= 8', message: 'Choose a short name.' }],
          }),
        ),
        'apps/settings.yaml': yaml(configMap('much-too-long')),
      });
      expect(await flux.outcome('policies', commit)).toMatchObject({ status: 'True' });
      const ready = await flux.outcome('apps', commit);
      expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
      expect(ready.message).toContain(
        'policy plain-names, rule short: metadata.name has size 13, want at most 8. Choose a short name',
      );
      expect(await versions()).toEqual(before);

      // No commit fixes it this time; Flux retries.
      await client.create(policyException.resource, {
        apiVersion: 'platform.company.com/v1',
        kind: 'PolicyException',
        metadata: { name: 'long-names', namespace: 'policy-exceptions' },
        spec: {
          policies: [{ name: 'plain-names' }],
          selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: [namespace] },
          reason: 'It came with the release.',
          requester: 'ada@company.com',
        },
      } as UnknownObject);
      await eventually(() => client.get(configMaps, { namespace, name: 'much-too-long' }), patient);
    });

    test('without a Database any more: Flux deletes it, and the finalizer keeps it until the platform has cleaned up', async () => {
      const commit = await repository.commit({
        'policies/names.yaml': null,
        'apps/settings.yaml': null,
        'apps/backend.yaml': yaml(applicationObject, namespaceObject, teamObject),
      });
      expect(await flux.outcome('apps', commit)).toMatchObject({ status: 'True' });
      await eventually(async () => (await users()).metadata.deletionTimestamp !== undefined, patient);
      expect((await users()).metadata.finalizers).toEqual([CLEANUP_FINALIZER]);
      expect(await flux.reconciled('apps')).toMatchObject({ status: 'True' });
      await expect(client.get(database.resource, { namespace, name: 'users' })).resolves.toBeDefined();
    });
  });
}
