/**
 * The identities of a local cluster: the platform and its broker have the roles of manifests/install and manifests/brokers and no more, and the
 * user is an ordinary administrator. Nobody but the platform is its reconciler.
 */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { User } from '../../controlplane/index.ts';
import { demandAccess } from '../../platform/index.ts';
import { readRole } from '../../policy/internal.ts';
import { type Client, ConfigError, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { coreNamespaces, packageFile } from '../../runtime/internal.ts';
import { readObjects } from '../documents/index.ts';

/** A ServiceAccount by client certificate, which outlives every token: the API server knows both by the same name. */
const serviceAccount = (namespace: string, name: string): User => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
});

const administrators = 'kidp:administrators';

export const identities = {
  /** The reconciler: the ServiceAccount of manifests/install. */
  platform: serviceAccount('kidp-system', 'kidp'),
  /** The broker that deploys into this cluster: the ServiceAccount of manifests/brokers. */
  broker: serviceAccount('kidp-brokers', 'kidp-broker'),
  /** The credentials with which rollouts install charts, which may contain any kind. */
  rollouts: { name: 'kidp-rollouts', groups: [administrators] },
  /** The user of the printed kubeconfig. */
  administrator: { name: 'administrator', groups: [administrators] },
} satisfies Readonly<Record<string, User>>;

const manifests = [
  ...[
    'service-account',
    'roles',
    'role-read',
    'role-read-starter',
    'role-platform',
    'role-rollouts',
    'platform-admin',
    'break-glass',
    'metrics',
  ].map((name) => `install/${name}.yaml`),
  'connections/rbac.yaml',
  'brokers/rbac.yaml',
].map((file) => packageFile(`manifests/${file}`));

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const resources: Readonly<Record<string, Resource>> = {
  Namespace: coreNamespaces,
  ServiceAccount: { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true },
  ClusterRole: { ...rbac, plural: 'clusterroles', kind: 'ClusterRole', namespaced: false },
  ClusterRoleBinding: { ...rbac, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding', namespaced: false },
  Role: { ...rbac, plural: 'roles', kind: 'Role', namespaced: true },
  RoleBinding: { ...rbac, plural: 'rolebindings', kind: 'RoleBinding', namespaced: true },
};

const ordinaryAdministrators = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: administrators },
  roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: rbac.group, kind: 'Group', name: administrators }],
};

/** Lets the CRD gate read the objects of the example CRD. */
const exampleRole = readRole('kidp-read-example', [{ group: 'storage.example.com', plural: 'buckets' }]);

/** `addIdentities` applies the roles of this version. Their namespaces exist. */
export async function addIdentities(client: Client): Promise<void> {
  const found = await readObjects(manifests, Readable.from([]));
  for (const object of [...found.map((each) => each.object), ordinaryAdministrators, exampleRole]) {
    const resource = resources[object.kind];
    if (resource === undefined) continue;
    await client.apply(resource, object as unknown as UnknownObject, { fieldManager: 'kidp-up', force: true });
  }
}

const mostTries = 100;

/** `untilAllowed` resolves once the API server has loaded the roles of the platform. */
export async function untilAllowed(client: Client, namespace: string, rollouts: boolean): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await demandAccess(client, namespace, 'the platform', { dispatch: true, rollouts });
    } catch (error) {
      if (!(error instanceof ConfigError) || tries === mostTries) throw error;
      await sleep(100);
    }
  }
}
