/**
 * Service accounts on a remote cluster: created and granted with the credentials of the kubeconfig, which are used for
 * nothing else. Every operation is idempotent.
 */
import { createHash } from 'node:crypto';
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import {
  type Client,
  eachObject,
  isNotFound,
  type KubernetesObject,
  type Resource,
  type UnknownObject,
} from '../../runtime/index.ts';
import { liveReader, resourceMapping, type ServedResource } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { installerRights, type SnapshotOutline } from './installer-rights.ts';
import { alwaysObserved, dryRunGuard, observerRules } from './observer-rights.ts';
import {
  admissionPolicies,
  admissionPolicyBindings,
  clusterRoleBindings,
  clusterRoles,
  type DefinitionObject,
  definitions,
  mutatingWebhooks,
  namespaces,
  type PolicyRule,
  roleBindings,
  roles,
  serviceAccounts,
  validatingWebhooks,
  type WebhookObject,
} from './resources.ts';

/** Labels every object created for cluster access. */
const made = { [`${GROUP}/made-for`]: 'cluster-access' };
const fieldManager = 'kidp-access';
export const OBSERVER = 'kidp-observer';
const guardName = 'kidp-observer-dry-run-only';

export interface Place {
  /** Authenticated with the credentials of the kubeconfig. */
  readonly client: Client;
  /** The namespace of the service accounts on the cluster. */
  readonly namespace: string;
}

export function installerAccount(operator: string): string {
  const name = `kidp-installer-${operator}`;
  if (name.length <= 63) return name;
  return `${name.slice(0, 46).replace(/[-.]+$/, '')}-${createHash('sha256').update(operator).digest('hex').slice(0, 16)}`;
}

/**
 * A marker rule in every role: a harmless permission named after the other rules. An API server applies roles with a
 * delay; once it grants the marker, it has loaded the other rules.
 */
export interface Marker {
  readonly name: string;
  /** Undefined for cluster-wide rules. */
  readonly namespace?: string;
}

/** `prepareObserver` computes the rules from the current state of the cluster. */
export async function prepareObserver(place: Place): Promise<Marker[]> {
  const { client } = place;
  const [found, validating, mutating, guarded] = await Promise.all([
    definedOn(client),
    liveReader(client).list<WebhookObject>(validatingWebhooks),
    liveReader(client).list<WebhookObject>(mutatingWebhooks),
    guard(place),
  ]);
  const rules = observerRules({ definitions: found, webhooks: [...validating, ...mutating], guarded });
  return [await prepareAccount(place, OBSERVER, [...alwaysObserved, ...rules])];
}

/**
 * `grantObserver` uses one role per operator: operators that are installed concurrently do not remove each other's
 * rules.
 */
export async function grantObserver(
  place: Place,
  installer: string,
  snapshots: readonly SnapshotOutline[],
): Promise<void> {
  const { client, namespace } = place;
  const webhooks = snapshots
    .flatMap(({ manifests }) => manifests)
    .filter(({ kind }) => kind.endsWith('WebhookConfiguration')) as unknown[] as WebhookObject[];
  const brought = snapshots.flatMap((each) => each.definitions) as unknown[] as DefinitionObject[];
  const rules = observerRules({ definitions: brought, webhooks, guarded: await guard(place) });
  const name = installer.replace(/^kidp-installer-/, `${OBSERVER}-`);
  await apply(client, clusterRoles, { ...role('ClusterRole', name), rules } as UnknownObject);
  await apply(client, clusterRoleBindings, binding('ClusterRoleBinding', name, namespace, OBSERVER));
}

/** `guard` reports whether the cluster denies writes of the observer that are not dry runs. */
async function guard({ client, namespace }: Place): Promise<boolean> {
  const served = await servedIn(client, admissionPolicies.group, admissionPolicies.version);
  if (!served.some(({ plural }) => plural === admissionPolicies.plural)) return false;
  const { policy, binding: enforced } = dryRunGuard(guardName, `system:serviceaccount:${namespace}:${OBSERVER}`);
  await apply(client, admissionPolicies, policy);
  await apply(client, admissionPolicyBindings, enforced);
  return true;
}

export async function prepareInstaller(
  place: Place,
  account: string,
  snapshots: readonly SnapshotOutline[],
): Promise<Marker[]> {
  const { client } = place;
  const versions = new Set(snapshots.flatMap(({ manifests }) => manifests.map(({ apiVersion }) => apiVersion)));
  const served = await Promise.all(
    [...versions].map((apiVersion) => {
      const [group, version] = apiVersion.includes('/')
        ? (apiVersion.split('/') as [string, string])
        : ['', apiVersion];
      return servedIn(client, group, version);
    }),
  );
  const rights = installerRights(snapshots, resourceMapping(served.flat()));
  const markers = [await prepareAccount(place, account, rights.cluster)];
  // A Role needs its namespace, so a missing namespace is created first.
  for (const [namespace, rules] of rights.namespaces) {
    const marker = markerOf(rules);
    markers.push({ name: marker.name, namespace });
    await ensureNamespace(client, namespace);
    await apply(client, roles, {
      ...role('Role', account),
      metadata: { ...labelled(account), namespace },
      rules: [...rules, marker.rule],
    } as UnknownObject);
    await apply(client, roleBindings, {
      ...binding('RoleBinding', account, place.namespace),
      metadata: { ...labelled(account), namespace },
    } as UnknownObject);
  }
  return markers;
}

/** Definitions without their schemas, which can be megabytes. */
async function definedOn(client: Client): Promise<DefinitionObject[]> {
  const found: DefinitionObject[] = [];
  await eachObject(client, definitions, { omitManagedFields: true }, (object) => {
    const { group, scope, names } = (object as unknown as DefinitionObject).spec ?? {};
    const { apiVersion, kind, metadata } = object;
    found.push({ apiVersion, kind, metadata, spec: { group, scope, names } } as DefinitionObject);
  });
  return found;
}

async function prepareAccount(place: Place, account: string, rules: readonly PolicyRule[]): Promise<Marker> {
  const { client, namespace } = place;
  await ensureNamespace(client, namespace);
  await apply(client, serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...labelled(account), namespace },
    automountServiceAccountToken: false,
  } as UnknownObject);
  const marker = markerOf(rules);
  await apply(client, clusterRoles, {
    ...role('ClusterRole', account),
    rules: [...rules, marker.rule],
  } as UnknownObject);
  await apply(client, clusterRoleBindings, binding('ClusterRoleBinding', account, namespace));
  return { name: marker.name };
}

const markerGroup = `access.${GROUP}`;
const markerResource = 'rights';

function markerOf(rules: readonly PolicyRule[]): { readonly name: string; readonly rule: PolicyRule } {
  const name = createHash('sha256').update(JSON.stringify(rules)).digest('hex').slice(0, 32);
  return {
    name,
    rule: { apiGroups: [markerGroup], resources: [markerResource], resourceNames: [name], verbs: ['use'] },
  };
}

/**
 * `rightsAreEffective` reports whether all markers are granted. Also true if the cluster cannot be asked, because then
 * nothing more can be learned.
 */
export async function rightsAreEffective(client: Client, markers: readonly Marker[]): Promise<boolean> {
  const answers = await Promise.all(
    markers.map(async ({ name, namespace }) => {
      const resourceAttributes = { group: markerGroup, resource: markerResource, verb: 'use', name, namespace };
      const { status, text } = await client.request({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
      });
      if (status >= 400) return status < 500;
      return (JSON.parse(text) as { status?: { allowed?: boolean } }).status?.allowed === true;
    }),
  );
  return answers.every((each) => each);
}

export interface IssuedToken {
  readonly token: string;
  /** The lifetime: a cluster may grant less than requested. */
  readonly seconds: number;
}

export async function requestToken(place: Place, account: string, seconds: number): Promise<IssuedToken> {
  const { client, namespace } = place;
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: account, namespace },
    spec: { expirationSeconds: seconds },
  };
  const { spec, status } = (await client.create<KubernetesObject>(serviceAccounts, request as KubernetesObject, {
    subresource: 'token',
  })) as KubernetesObject & { spec?: { expirationSeconds?: number }; status?: { token?: string } };
  if (status?.token === undefined)
    throw new FleetError('cluster/unreachable', 'the cluster issued no token', { temporary: true });
  return { token: status.token, seconds: Math.min(seconds, spec?.expirationSeconds ?? seconds) };
}

/**
 * `removeAccounts` deletes everything created for cluster access, for all operators. The tokens become invalid with the
 * accounts.
 */
export async function removeAccounts(place: Place): Promise<void> {
  const { client } = place;
  for (const resource of [serviceAccounts, clusterRoleBindings, roleBindings, clusterRoles, roles]) {
    const found = await liveReader(client).list(resource, { labels: made });
    for (const { metadata } of found) await remove(client, resource, metadata);
  }
  for (const resource of [admissionPolicyBindings, admissionPolicies])
    await remove(client, resource, { name: guardName });
}

async function remove(client: Client, resource: Resource, key: { name: string; namespace?: string }): Promise<void> {
  try {
    await client.delete(resource, key, { propagationPolicy: 'Background' });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function ensureNamespace(client: Client, name: string): Promise<void> {
  try {
    await client.get(namespaces, { name });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await apply(client, namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
}

/** The kinds of one group version; none if it is not served. */
async function servedIn(client: Client, group: string, version: string): Promise<ServedResource[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const { status, text } = await client.request({ method: 'GET', path });
  if (status !== 200) return [];
  const { resources = [] } = JSON.parse(text) as { resources?: { name: string; kind: string; namespaced?: boolean }[] };
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced }) => ({
      group,
      version,
      kind,
      plural: name,
      namespaced: namespaced === true,
      verbs: [],
      subresources: [],
      preferred: true,
    }));
}

const labelled = (account: string) => ({
  name: account,
  labels: { [MANAGED_BY_LABEL]: MANAGED_BY, ...made },
});

const role = (kind: string, account: string): UnknownObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: labelled(account),
});

const binding = (kind: string, name: string, namespace: string, account: string = name): UnknownObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: labelled(name),
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: kind.replace('Binding', ''), name },
  subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
});

const apply = (client: Client, resource: Resource, object: UnknownObject): Promise<unknown> =>
  client.apply(resource, object, { fieldManager, force: true });
