/** Teams on a real API server: what they get, that it is kept so, and what their people may do. */
import { beforeAll, describe, expect, test } from 'vitest';
import { kinds, OWNED_RESOURCES_FINALIZER, TEAM_LABEL, type Team, team } from '../../../src/api/index.ts';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { configMaps, namespaces } from '../../admission/support/platform.ts';
import {
  apiVersion,
  coreSecrets,
  create,
  createTeam,
  eventsOf,
  isGone,
  networkPolicies,
  patient,
  quotas,
  type RunningPlatform,
  resourceOf,
  roleBindings,
  roles,
  whenCondition,
} from './setup.ts';

export function teamTests(running: () => RunningPlatform): void {
  describe('Teams', () => {
    let platform: RunningPlatform;
    let client: Client;
    beforeAll(async () => {
      platform = running();
      ({ client } = platform);
    });

    describe('a Team', () => {
      const namespace = 'team-alpha';
      /** No rule, so nobody comes in. */
      const denied = { podSelector: {}, policyTypes: ['Ingress'] };
      beforeAll(async () => {
        const created = await createTeam(client, 'alpha', {
          namespace,
          rbac: { members: ['ada'], groups: ['engineers'] },
          quota: { 'count/caches.platform.company.com': '1', 'requests.memory': '64Gi' },
          costTags: { 'cost-center': '4711', 'not a name': 'x' },
        });
        await whenCondition(client, created, { status: 'True', reason: 'ResourceReady' });
      });

      test('has a namespace with its label and cost tags, a role with its people, a quota and a wall', async () => {
        const home = await client.get(namespaces, { name: namespace });
        expect(home.metadata).toMatchObject({
          labels: { [TEAM_LABEL]: namespace },
          annotations: { 'cost.platform.company.com/cost-center': '4711' },
        });
        expect(home.metadata.ownerReferences).toBeUndefined();
        expect(await client.get(roleBindings, { namespace, name: 'team-developer' })).toMatchObject({
          roleRef: { kind: 'Role', name: 'team-developer' },
          subjects: [
            { kind: 'User', name: 'ada' },
            { kind: 'Group', name: 'engineers' },
          ],
        });
        expect(await client.get(quotas, { namespace, name: 'team-quota' })).toMatchObject({
          spec: { hard: { 'count/caches.platform.company.com': '1', 'requests.memory': '64Gi' } },
        });
        expect((await client.get(networkPolicies, { namespace, name: 'default-deny' })).spec).toEqual(denied);
        expect((await client.get(networkPolicies, { namespace, name: 'allow-same-namespace' })).spec).toEqual({
          ...denied,
          ingress: [{ from: [{ podSelector: {} }] }],
        });
        const { status } = await client.get<Team>(team.resource, { name: 'alpha' });
        expect(status).toMatchObject({ phase: 'ready', namespace, resources: 0 });
        expect(status?.conditions?.[0]?.message).toContain('were skipped: not a name');
      });

      test('what is deleted or changed by hand is put right', async () => {
        const versions = async () => (await client.get(roles, { namespace, name: 'team-developer' })).rules;
        const rules = await versions();
        await client.delete(networkPolicies, { namespace, name: 'allow-same-namespace' });
        await client.patch(
          networkPolicies,
          { namespace, name: 'default-deny' },
          { type: 'merge', body: { spec: { ingress: [{}] } } },
        );
        await client.patch(roles, { namespace, name: 'team-developer' }, { type: 'merge', body: { rules: [] } });
        await client.patch(
          quotas,
          { namespace, name: 'team-quota' },
          { type: 'merge', body: { metadata: { labels: null }, spec: { hard: { 'requests.memory': '999Gi' } } } },
        );
        // The roleRef of a binding is immutable, so it is re-created; this one exists before the platform creates its
        // own.
        const hostile = await eventually(async () => {
          await client.delete(roleBindings, { namespace, name: 'team-developer' }).catch(unlessNotFound);
          return client.create(roleBindings, {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'RoleBinding',
            metadata: { name: 'team-developer', namespace },
            roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
            subjects: [],
          } as UnknownObject);
        }, patient);
        await client.patch(
          namespaces,
          { name: namespace },
          {
            type: 'merge',
            body: {
              metadata: { labels: { [TEAM_LABEL]: null }, annotations: { 'cost.platform.company.com/extra': 'x' } },
            },
          },
        );
        await eventually(async () => {
          expect(await isGone(client, networkPolicies, { namespace, name: 'allow-same-namespace' })).toBe(false);
          expect((await client.get(networkPolicies, { namespace, name: 'default-deny' })).spec).toEqual(denied);
          expect(await versions()).toEqual(rules);
          expect(await client.get(quotas, { namespace, name: 'team-quota' })).toMatchObject({
            spec: { hard: { 'requests.memory': '64Gi' } },
          });
          const binding = await client.get(roleBindings, { namespace, name: 'team-developer' });
          expect(binding).toMatchObject({
            roleRef: { kind: 'Role', name: 'team-developer' },
            subjects: [{ name: 'ada' }, { name: 'engineers' }],
          });
          expect(binding.metadata.uid).not.toBe(hostile.metadata.uid);
          const { labels } = (await client.get(namespaces, { name: namespace })).metadata;
          expect(labels?.[TEAM_LABEL]).toBe(namespace);
        }, patient);
      });

      test('a quota, a member and a tag that are taken out of the spec are gone', async () => {
        const spec = { namespace, rbac: { members: [], groups: ['engineers'] }, quota: {}, costTags: {} };
        await client.patch(
          team.resource,
          { name: 'alpha' },
          { type: 'merge', body: { spec: { ...spec, quota: null, costTags: null } } },
        );
        await eventually(async () => {
          expect(await isGone(client, quotas, { namespace, name: 'team-quota' })).toBe(true);
          const { subjects } = await client.get(roleBindings, { namespace, name: 'team-developer' });
          expect(subjects).toMatchObject([{ kind: 'Group', name: 'engineers' }]);
          const { annotations } = (await client.get(namespaces, { name: namespace })).metadata;
          expect(annotations?.['cost.platform.company.com/cost-center']).toBeUndefined();
        }, patient);
      });
    });

    describe('a namespace', () => {
      test('that is there and no team has is adopted', async () => {
        await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'adopted' } });
        await whenCondition(client, await createTeam(client, 'adopted'), { status: 'True' });
        const { labels } = (await client.get(namespaces, { name: 'adopted' })).metadata;
        expect(labels?.[TEAM_LABEL]).toBe('adopted');
      });

      test('with a forged label gets the right one', async () => {
        const metadata = { name: 'taken', labels: { [TEAM_LABEL]: 'somebody' } };
        await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
        await whenCondition(client, await createTeam(client, 'taken'), { status: 'True' });
        const { labels } = (await client.get(namespaces, { name: 'taken' })).metadata;
        expect(labels?.[TEAM_LABEL]).toBe('taken');
      });

      test('of the cluster itself is no team’s', async () => {
        const created = await createTeam(client, 'greedy', { namespace: 'kube-system' });
        await whenCondition(client, created, { status: 'False', reason: 'NamespaceReserved' });
      });

      test('that two Teams name is the older one’s, and the other’s when that goes', async () => {
        const older = await createTeam(client, 'elder', { namespace: 'contested' });
        await whenCondition(client, older, { status: 'True' });
        // Ages have a resolution of seconds; ties are broken by name.
        const younger = await createTeam(client, 'younger', { namespace: 'contested' });
        const { status } = await whenCondition(client, younger, { status: 'False', reason: 'NamespaceTaken' });
        expect(status?.conditions?.[0]?.message).toContain('Team elder');
        await eventually(async () => (await eventsOf(client, 'younger')).includes('NamespaceTaken'), patient);
        await client.delete(team.resource, { name: 'elder' });
        await whenCondition(client, younger, { status: 'True' });
      });
    });

    describe('an owner goes last', () => {
      test('a Team waits for its Application, which waits for its Service; the namespace stays and the rights end', async () => {
        const namespace = 'last';
        const owner = await createTeam(client, namespace);
        await whenCondition(client, owner, { status: 'True' });
        const spec = { owner: { kind: 'Team', name: namespace } };
        const shop = await create(client, { kind: 'Application', name: 'shop', namespace, spec });
        const web = { kind: 'Service', name: 'web', namespace };
        await create(client, { ...web, spec: { owner: { kind: 'Application', name: 'shop' } } });
        await whenCondition(client, shop, { status: 'False', reason: 'Progressing' });
        await client.delete(team.resource, { name: namespace });
        await client.delete(resourceOf('Application'), { namespace, name: 'shop' });
        const waits = { status: 'False', reason: 'WaitingForOwnedResources' } as const;
        const { status } = await whenCondition(client, shop, waits);
        expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(
          '1 resource is still owned (Service last/web)',
        );
        const waiting = await whenCondition(client, owner, waits);
        expect(waiting.status?.conditions?.[0]?.message).toContain(
          '2 resources are still owned (Application last/shop, Service last/web)',
        );
        expect(waiting.metadata.finalizers).toContain(OWNED_RESOURCES_FINALIZER);
        expect(await isGone(client, resourceOf('Service'), web)).toBe(false);
        await client.delete(resourceOf('Service'), web);
        await eventually(() => isGone(client, team.resource, { name: namespace }), patient);
        expect(await isGone(client, resourceOf('Application'), { namespace, name: 'shop' })).toBe(true);
        expect((await client.get(namespaces, { name: namespace })).metadata.deletionTimestamp).toBeUndefined();
        for (const resource of [roles, roleBindings]) {
          expect(await isGone(client, resource, { namespace, name: 'team-developer' })).toBe(true);
        }
        expect(await isGone(client, networkPolicies, { namespace, name: 'default-deny' })).toBe(false);
      });
    });

    describe('docs/requirements.md, 000 RBAC Model, as its members', () => {
      const namespace = 'people';
      const developers = { member: { user: 'mia' }, 'one of a group': { user: 'gus', groups: ['people-team'] } };
      const all = ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete', 'deletecollection'] as const;
      const write = new Set(['create', 'get', 'list', 'watch', 'update', 'patch', 'delete']);
      const read = new Set(['get', 'list', 'watch']);
      const nothing = new Set<string>();
      beforeAll(async () => {
        const rbac = { members: ['mia'], groups: ['people-team'] };
        await whenCondition(client, await createTeam(client, namespace, { rbac }), { status: 'True' });
        await whenCondition(client, await createTeam(client, 'neighbours'), { status: 'True' });
        await eventually(
          async () => allowed('mia', [], namespace, 'platform.company.com', 'services', 'create'),
          patient,
        );
      });

      const ours = 'platform.company.com';
      const table: { group: string; resource: string; may: ReadonlySet<string> }[] = [
        { group: ours, resource: 'applications', may: write },
        { group: ours, resource: 'services', may: write },
        { group: ours, resource: 'databases', may: read },
        { group: ours, resource: 'caches', may: read },
        { group: ours, resource: 'topics', may: read },
        { group: ours, resource: 'secrets', may: nothing },
        { group: ours, resource: 'policyexceptions', may: nothing },
        { group: ours, resource: 'services/status', may: nothing },
        { group: ours, resource: 'databases/status', may: nothing },
        { group: '', resource: 'secrets', may: nothing },
        { group: '', resource: 'configmaps', may: nothing },
        { group: '', resource: 'resourcequotas', may: nothing },
        { group: '', resource: 'pods', may: nothing },
        { group: 'rbac.authorization.k8s.io', resource: 'rolebindings', may: nothing },
        { group: 'networking.k8s.io', resource: 'networkpolicies', may: nothing },
      ];
      for (const [who, { user, ...rest }] of Object.entries(developers)) {
        const groups = 'groups' in rest ? rest.groups : [];
        test.each(table)(`a ${who}: $group $resource`, async ({ group, resource, may }) => {
          const verdicts = await Promise.all(
            all.map((verb) => allowed(user, groups, namespace, group, resource, verb)),
          );
          expect(all.filter((_, index) => verdicts[index])).toEqual(all.filter((verb) => may.has(verb)));
        });
      }

      test('a platform-admin may do everything with every kind of the platform, and run the operators', async () => {
        const binding = {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRoleBinding',
          metadata: { name: 'admins' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'platform-admin' },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'admins' }],
        } as UnknownObject;
        await client.create(
          { ...roleBindings, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
          binding,
        );
        const may = (where: string | undefined, group: string, resource: string, verb: string) =>
          allowed('root', ['admins'], where, group, resource, verb);
        await eventually(() => may(undefined, ours, 'teams', 'create'), patient);
        for (const { plural } of kinds)
          for (const verb of all) expect(await may(undefined, ours, plural, verb)).toBe(true);
        for (const verb of ['create', 'update', 'patch', 'delete']) {
          expect(await may('kidp-system', 'apps', 'deployments', verb)).toBe(true);
          expect(await may('kidp-system', '', 'configmaps', verb)).toBe(true);
        }
        for (const verb of ['get', 'list']) expect(await may(namespace, '', 'secrets', verb)).toBe(false);
        expect(await may(undefined, 'rbac.authorization.k8s.io', 'clusterrolebindings', 'create')).toBe(false);
      });

      test('nothing at all in the namespace of another team, nor in the cluster', async () => {
        for (const { group, resource } of table) {
          expect(await allowed('mia', [], 'neighbours', group, resource, 'get')).toBe(false);
        }
        for (const resource of ['teams', 'brokers', 'deploymenttargets', 'policies', 'approvals']) {
          for (const verb of all) expect(await allowed('mia', [], undefined, ours, resource, verb)).toBe(false);
        }
        expect(await allowed('mia', [], undefined, '', 'namespaces', 'patch')).toBe(false);
        expect(await allowed('stranger', [], namespace, ours, 'services', 'get')).toBe(false);
      });

      test('and done, not only asked about', async () => {
        const mia = client.impersonate({ user: 'mia' });
        const service = {
          apiVersion,
          kind: 'Service',
          metadata: { name: 'mine', namespace },
          spec: {},
        } as UnknownObject;
        await mia.create(resourceOf('Service'), service);
        const key = { namespace, name: 'mine' };
        await mia.patch(resourceOf('Service'), key, { type: 'merge', body: { spec: { replicas: 2 } } });
        expect(await mia.get(resourceOf('Service'), key)).toMatchObject({ spec: { replicas: 2 } });
        await mia.delete(resourceOf('Service'), key);
        const database = {
          apiVersion,
          kind: 'Database',
          metadata: { name: 'd', namespace },
          spec: {},
        } as UnknownObject;
        expect((await mia.list(resourceOf('Database'), { namespace })).items).toEqual([]);
        const refusals: [string, () => Promise<unknown>][] = [
          ['a Database', () => mia.create(resourceOf('Database'), database)],
          ['credentials', () => mia.list(coreSecrets, { namespace })],
          ['settled costs', () => mia.list(configMaps, { namespace: 'kidp-system' })],
          [
            'another role',
            () => mia.patch(roles, { namespace, name: 'team-developer' }, { type: 'merge', body: { rules: [] } }),
          ],
          ['every Service of the cluster', () => mia.list(resourceOf('Service'))],
        ];
        for (const [what, attempt] of refusals) await expect(attempt(), what).rejects.toMatchObject({ status: 403 });
      });

      async function allowed(
        user: string,
        groups: readonly string[],
        where: string | undefined,
        group: string,
        name: string,
        verb: string,
      ): Promise<boolean> {
        const [resource, subresource] = name.split('/');
        const review = {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          metadata: {},
          spec: {
            user,
            groups: [...groups, 'system:authenticated'],
            resourceAttributes: {
              group,
              resource,
              verb,
              ...(where === undefined ? {} : { namespace: where }),
              ...(subresource === undefined ? {} : { subresource }),
            },
          },
        } as unknown as UnknownObject;
        const answer = (await client.create(reviews, review)) as unknown as { status: { allowed: boolean } };
        return answer.status.allowed;
      }
    });

    const reviews: Resource = {
      group: 'authorization.k8s.io',
      version: 'v1',
      kind: 'SubjectAccessReview',
      plural: 'subjectaccessreviews',
      namespaced: false,
    };
  });
}

const unlessNotFound = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};
