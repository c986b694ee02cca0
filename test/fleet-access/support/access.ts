/** Cluster access: the permissions and lifetime of the temporary credentials, and the audit. */
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cluster as clusterKind } from '../../../src/api/index.ts';
import { type ClusterAccess, FleetError, openFleet, type Snapshot } from '../../../src/fleet/index.ts';
import {
  type Client,
  isForbidden,
  type Resource,
  systemClock,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../../support/cluster.ts';
import { type Management, patient, type RunningReconciler, systemNamespace, type TestKeys } from './setup.ts';

const core = (kind: string, plural: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const pods = core('Pod', 'pods');
const secrets = core('Secret', 'secrets');
const configMaps = core('ConfigMap', 'configmaps');
const serviceAccounts = core('ServiceAccount', 'serviceaccounts');
const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};
const rbac = (kind: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: !kind.startsWith('Cluster'),
});
const widgets: Resource = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

const role = (kind: 'Role' | 'ClusterRole', name: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name },
  rules: [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['*'] }],
});
const binding = (kind: 'RoleBinding' | 'ClusterRoleBinding', name: string, roleName = name) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: kind.replace('Binding', ''), name: roleName },
  subjects: [{ kind: 'ServiceAccount', name, namespace: 'widgets' }],
});

/** An operator as charts have it: a workload, its roles, and a definition of its own. */
const snapshot: Snapshot = {
  name: 'snapshot-1',
  digest: 'sha256:1',
  operator: 'widgets',
  version: '1.0.0',
  chartDigest: '',
  valuesDigest: '',
  environment: 'Dev',
  kubernetesVersion: 'v1.36.0',
  namespace: 'widgets',
  releaseName: 'widgets',
  definitions: [
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    },
  ],
  manifests: [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'widgets' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'widgets' } },
        template: {
          metadata: { labels: { app: 'widgets' } },
          spec: { containers: [{ name: 'main', image: 'widgets:1' }] },
        },
      },
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'widgets' } },
    { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'first' } },
    role('ClusterRole', 'widgets-operator'),
    binding('ClusterRoleBinding', 'widgets-operator'),
    binding('ClusterRoleBinding', 'widgets-delegator', 'system:auth-delegator'),
    role('Role', 'widgets'),
    binding('RoleBinding', 'widgets'),
  ] as UnknownObject[],
};

export function accessTests(
  of: () => { readonly management: Management; readonly keys: TestKeys; readonly running: RunningReconciler },
): void {
  const observe = () => of().running.fleet.connect('plain', { kind: 'observe' }, {});

  describe('the observer', () => {
    test('reads the health of operators and no Secrets, and writes nothing', async () => {
      const { client, kubernetesVersion, environment } = await observe();
      expect({ environment, kubernetesVersion }).toMatchObject({
        environment: 'Production',
        kubernetesVersion: expect.stringMatching(/^v1\./),
      });
      for (const resource of [pods, deployments, definitions, clusterKind.resource]) {
        await expect(client.list(resource), resource.plural).resolves.toBeDefined();
      }
      await expect(client.list(secrets, { namespace: systemNamespace })).rejects.toSatisfy(isForbidden);
      await expect(client.list(configMaps, { namespace: systemNamespace })).rejects.toSatisfy(isForbidden);
      await expect(client.delete(pods, { namespace: 'default', name: 'any' })).rejects.toSatisfy(isForbidden);
      const token = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: { namespace: systemNamespace, name: 'kidp-observer' },
      };
      await expect(
        client.create(serviceAccounts, token, { subresource: 'token', dryRun: true }),
        'its own rights do not let it make its token last',
      ).rejects.toSatisfy(isForbidden);
    });

    test('asks with dry runs, and only with those', async () => {
      const { client } = await observe();
      const widget = () => ({
        apiVersion: 'platform.company.com/v1',
        kind: 'Cluster',
        metadata: { name: uniqueName('dry') },
        spec: { environment: 'Dev' },
      });
      await client.create(clusterKind.resource, widget(), { dryRun: true });
      // A policy holds a moment after it is there.
      const made: string[] = [];
      await eventually(async () => {
        const object = widget();
        try {
          await client.create(clusterKind.resource, object);
          made.push(object.metadata.name);
        } catch (error) {
          return isForbidden(error) && error.message.includes('dry-run requests');
        }
        return false;
      }, patient);
      for (const name of made) await of().management.client.delete(clusterKind.resource, { name });
    });
  });

  describe('an installer', () => {
    test('may do what putting its snapshot there takes, and no more', async () => {
      const { fleet } = of().running;
      const { client } = await fleet.connect(
        'plain',
        { kind: 'install', snapshots: [snapshot] },
        { deploymentId: 'd-1', userId: 'ann' },
      );
      for (const definition of snapshot.definitions)
        await client.apply(definitions, definition, { fieldManager: 'test' });
      await eventually(() => client.list(widgets, { namespace: 'widgets' }), patient);
      for (const object of snapshot.manifests) {
        const resource = resourceOf(object);
        const namespaced = resource.namespaced
          ? { ...object, metadata: { ...object.metadata, namespace: 'widgets' } }
          : object;
        await client.create(resource, namespaced as UnknownObject);
        await client.apply(resource, namespaced as UnknownObject, { fieldManager: 'test', force: true });
        await client.delete(resource, {
          name: object.metadata.name,
          ...(resource.namespaced ? { namespace: 'widgets' } : {}),
        });
      }
      await client.list(secrets, { namespace: 'widgets' });
      const refused: [string, () => Promise<unknown>][] = [
        ['delete a definition', () => client.delete(definitions, { name: 'widgets.example.com' })],
        [
          'change another definition',
          () => client.patch(definitions, { name: 'clusters.platform.company.com' }, { type: 'merge', body: {} }),
        ],
        ['read Secrets elsewhere', () => client.list(secrets, { namespace: systemNamespace })],
        [
          'change a role that is not its own',
          () => client.patch(rbac('ClusterRole'), { name: 'cluster-admin' }, { type: 'merge', body: {} }),
        ],
        [
          'bind a role that is not in its snapshot',
          () =>
            client.create(
              rbac('ClusterRoleBinding'),
              binding('ClusterRoleBinding', 'more', 'cluster-admin') as UnknownObject,
            ),
        ],
        [
          'give itself more',
          () =>
            client.create(rbac('ClusterRole'), {
              ...role('ClusterRole', 'more'),
              rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }],
            } as UnknownObject),
        ],
        ['take the namespace away', () => client.delete(core('Namespace', 'namespaces', false), { name: 'widgets' })],
      ];
      for (const [what, attempt] of refused) await expect(attempt(), what).rejects.toSatisfy(isForbidden);
    });

    test('what it brings is seen by the observer', async () => {
      const { client } = await observe();
      // An API server knows of a role a moment after it was written.
      await eventually(() => client.list(widgets), patient);
    });

    test('has a kubeconfig for programs, in a file that only we read and that is gone afterwards', async () => {
      const { fleet } = of().running;
      const connection = await fleet.connect('plain', { kind: 'install', snapshots: [snapshot] }, {});
      const [path, who] = await connection.withKubeconfig(async (file) => {
        expect(statSync(file).mode & 0o777).toBe(0o600);
        expect(readFileSync(file, 'utf8')).not.toContain('client-key-data":');
        return [
          file,
          await sharedCluster().kubectl(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], {
            kubeconfig: file,
          }),
        ];
      });
      expect(who).toMatchObject({ code: 0, stdout: `system:serviceaccount:${systemNamespace}:kidp-installer-widgets` });
      expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    });
  });

  describe('access', () => {
    test('each access is audited with its subject', () => {
      const { accesses } = of().running;
      expect(accesses.find(({ purpose }) => purpose === 'install')).toEqual({
        event: 'cluster.access',
        cluster: 'plain',
        purpose: 'install',
        outcome: 'allowed',
        operatorName: 'widgets',
        deploymentId: 'd-1',
        userId: 'ann',
      });
    });

    test('to a cluster that is not registered there is none', async () => {
      const failure = await of()
        .running.fleet.connect('nowhere', { kind: 'observe' }, {})
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(FleetError);
      expect(failure).toMatchObject({ code: 'cluster/unknown' });
      expect(of().running.accesses.at(-1)).toMatchObject({ cluster: 'nowhere', outcome: 'cluster/unknown' });
    });

    test('many at once share an account, a token and a few connections; the next token is asked for before the last one ends', async () => {
      const { management, keys } = of();
      let ahead = 0;
      const audit: ClusterAccess[] = [];
      const fleet = openFleet({
        client: management.client,
        systemNamespace,
        keys,
        clock: { ...systemClock, monotonic: () => performance.now() + ahead },
        audit: (access) => audit.push(access),
        connections: { short: 3 },
      });
      try {
        const connections = await Promise.all(
          Array.from({ length: 30 }, () => fleet.connect('plain', { kind: 'observe' }, {})),
        );
        await Promise.all(connections.map(({ client }) => client.list(pods)));
        const { client } = connections[0] as { client: Client };
        expect(fleet.connections.most).toBeLessThanOrEqual(3);
        const first = await tokenOf(connections[0]);
        ahead = 40 * 60_000;
        expect(await tokenOf(connections[0]), 'a program is given one that lasts').not.toBe(first);
        ahead = 3 * 3_600_000;
        await fleet.connect('plain', { kind: 'observe' }, {});
        await client.list(pods);
        expect(new Set(audit.map(({ outcome }) => outcome))).toEqual(new Set(['allowed']));
      } finally {
        await fleet.stop();
      }
    });

    test('goes on when somebody has deleted the account there', async () => {
      const { management } = of();
      const { client } = await observe();
      const account = { namespace: systemNamespace, name: 'kidp-observer' };
      const before = await management.client.get(serviceAccounts, account);
      await management.client.delete(serviceAccounts, account);
      // An API server caches an authenticated token for some seconds.
      await eventually(async () => {
        await client.list(pods);
        const { metadata } = await management.client.get(serviceAccounts, account);
        return metadata.uid !== before.metadata.uid;
      }, patient);
    });
  });
}

const tokenOf = (
  connection: Awaited<ReturnType<ReturnType<typeof openFleet>['connect']>> | undefined,
): Promise<string> | undefined =>
  connection?.withKubeconfig(async (file) => JSON.parse(readFileSync(file, 'utf8')).users[0].user.token as string);

function resourceOf({ kind, apiVersion }: UnknownObject): Resource {
  if (kind === 'Deployment') return deployments;
  if (kind === 'ServiceAccount') return serviceAccounts;
  if (kind === 'Widget') return widgets;
  if (!apiVersion.startsWith('rbac.')) throw new Error(`what is ${kind}`);
  return rbac(kind);
}
