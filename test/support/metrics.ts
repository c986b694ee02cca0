/** Reads the metrics of a server as a user with the token of a ServiceAccount. */
import { Agent, request } from 'undici';
import type { Client, KubernetesObject, Resource } from '../../src/runtime/index.ts';

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };
const serviceAccounts: Resource = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};
const clusterRoles: Resource = { ...rbac, plural: 'clusterroles', kind: 'ClusterRole' };
const bindings: Resource = { ...rbac, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' };

/** Creates a ServiceAccount and returns a token of it; with `mayRead`, one that may read metrics. */
export async function tokenOf(client: Client, name: string, mayRead: boolean): Promise<string> {
  const apply = (resource: Resource, object: object) =>
    client.apply(resource, object as KubernetesObject, { fieldManager: 'test', force: true });
  const rbacVersion = 'rbac.authorization.k8s.io/v1';
  await apply(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } });
  if (mayRead) {
    const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
    await apply(clusterRoles, { apiVersion: rbacVersion, kind: 'ClusterRole', metadata: { name }, rules });
    const roleRef = { apiGroup: rbac.group, kind: 'ClusterRole', name };
    const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }];
    await apply(bindings, {
      apiVersion: rbacVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef,
      subjects,
    });
  }
  const { text } = await client.request({
    method: 'POST',
    path: `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  return JSON.parse(text).status.token;
}

const tokens = new WeakMap<Client, Promise<string>>();

/** The metrics at a URL, whatever certificate its server has. */
export async function readMetrics(url: string, client: Client): Promise<string> {
  const known = tokens.get(client) ?? tokenOf(client, 'prometheus', true);
  tokens.set(client, known);
  const { status, text } = await getMetrics(url, await known);
  if (status !== 200) throw new Error(`${url}/metrics answered ${status}: ${text}`);
  return text;
}

export async function getMetrics(url: string, token?: string): Promise<{ status: number; text: string }> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const { statusCode, body } = await request(`${url}/metrics`, {
      dispatcher,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    return { status: statusCode, text: await body.text() };
  } finally {
    await dispatcher.close();
  }
}
