/**
 * The permissions of an installer: exactly what applying these snapshots requires.
 *
 * They cover the kinds of the objects in their namespaces, the release Secrets of Helm, and the rules that the chart
 * grants to its own roles, because Kubernetes prevents privilege escalation. Definitions may be created and updated,
 * never deleted.
 */
import type { UnknownObject } from '../../runtime/index.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import type { Snapshot } from '../contract.ts';
import type { DefinitionObject, PolicyRule, RoleObject } from './resources.ts';

interface Rights {
  readonly cluster: readonly PolicyRule[];
  readonly namespaces: ReadonlyMap<string, readonly PolicyRule[]>;
}

const rbac = 'rbac.authorization.k8s.io';
const write = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
const read = ['get', 'list', 'watch'];
const everything: readonly PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

/** What Helm reads while it waits, and where it stores releases. */
const ofARelease: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: write },
  { apiGroups: [''], resources: ['pods', 'services', 'endpoints', 'persistentvolumeclaims', 'events'], verbs: read },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'daemonsets', 'replicasets'], verbs: read },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: read },
];

/**
 * The parts of a snapshot that permissions are computed from. They are kept for the lifetime of a token, so they must
 * be small.
 */
export type SnapshotOutline = Pick<Snapshot, 'namespace' | 'definitions' | 'manifests'>;

export function outlineOf({ namespace, definitions, manifests }: Snapshot): SnapshotOutline {
  return {
    namespace,
    definitions: definitions.map((each) => {
      const { group, scope, names } = (each as unknown as DefinitionObject).spec ?? {};
      return outlined(each, { spec: { group, scope, names } });
    }),
    manifests: manifests.map((each) => {
      const { rules, aggregationRule, roleRef, webhooks } = each;
      if (each.apiVersion.startsWith(`${rbac}/`)) return outlined(each, { rules, aggregationRule, roleRef });
      if (!each.kind.endsWith('WebhookConfiguration')) return outlined(each, {});
      const asked = Array.isArray(webhooks)
        ? webhooks.map((webhook: { rules?: unknown }) => ({ rules: webhook.rules }))
        : [];
      return outlined(each, { webhooks: asked });
    }),
  };
}

function outlined({ apiVersion, kind, metadata }: UnknownObject, more: object): UnknownObject {
  const { name, namespace } = metadata;
  return { apiVersion, kind, metadata: namespace === undefined ? { name } : { name, namespace }, ...more };
}

/** `installerRights`: `served` are the kinds of the cluster that the snapshots use. An unknown kind grants nothing. */
export function installerRights(
  snapshots: readonly SnapshotOutline[],
  served: Pick<ResourceMapping, 'byKind'>,
): Rights {
  const gathering = new RightsBuilder(snapshots, served);
  for (const snapshot of snapshots) {
    gathering.add(snapshot.namespace, ...ofARelease);
    gathering.namespace(snapshot.namespace);
    for (const definition of snapshot.definitions) gathering.definition(definition.metadata.name);
    for (const object of snapshot.manifests) gathering.object(object, snapshot.namespace);
  }
  return gathering.rights();
}

/** Undefined for cluster scope. */
type Where = string | undefined;

class RightsBuilder {
  readonly #served: Pick<ResourceMapping, 'byKind'>;
  readonly #own = new Map<string, { readonly plural: string; readonly namespaced: boolean }>();
  readonly #kinds = new Map<Where, Map<string, Set<string>>>();
  readonly #named = new Map<string, { readonly group: string; readonly plural: string; readonly names: Set<string> }>();
  readonly #more = new Map<Where, PolicyRule[]>();
  readonly #bound = new Map<Where, Map<string, Set<string>>>();
  readonly #definitions = new Set<string>();

  constructor(snapshots: readonly SnapshotOutline[], served: Pick<ResourceMapping, 'byKind'>) {
    this.#served = served;
    // Custom resources of the chart itself are not served yet.
    for (const { spec } of snapshots.flatMap((each) => each.definitions as readonly unknown[] as DefinitionObject[])) {
      const { group, scope, names } = spec ?? {};
      if (group === undefined || names?.kind === undefined || names.plural === undefined) continue;
      this.#own.set(`${group}/${names.kind}`, { plural: names.plural, namespaced: scope !== 'Cluster' });
    }
  }

  add(where: Where, ...rules: readonly PolicyRule[]): void {
    this.#more.set(where, [...(this.#more.get(where) ?? []), ...rules]);
  }

  /** A missing namespace is created. It is never deleted, because it may hold objects of others. */
  namespace(name: string): void {
    const namespaces = { apiGroups: [''], resources: ['namespaces'] };
    this.add(
      undefined,
      { ...namespaces, verbs: ['create'] },
      { ...namespaces, resourceNames: [name], verbs: ['get', 'patch'] },
    );
  }

  definition(name: string): void {
    this.#definitions.add(name);
  }

  object(object: UnknownObject, releaseNamespace: string): void {
    const { apiVersion, kind, metadata } = object;
    const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion];
    if (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition') {
      this.definition(metadata.name);
      return;
    }
    const resource = this.#served.byKind(group, kind, version) ?? this.#own.get(`${group}/${kind}`);
    if (resource === undefined) return;
    const where = resource.namespaced ? (metadata.namespace ?? releaseNamespace) : undefined;
    if (where === undefined) this.#name(group, resource.plural, metadata.name);
    else this.#kind(where, group, resource.plural);
    if (group === 'apps' && where !== undefined) this.#kind(where, group, `${resource.plural}/scale`);
    if (group === rbac) this.#roleOrBinding(object, where);
  }

  rights(): Rights {
    const places = new Set<Where>([...this.#kinds.keys(), ...this.#more.keys(), ...this.#bound.keys()]);
    const namespaces = new Map<string, readonly PolicyRule[]>();
    for (const where of [...places].sort()) if (where !== undefined) namespaces.set(where, this.#rulesIn(where));
    return { cluster: [...this.#clusterRules(), ...this.#rulesIn(undefined)], namespaces };
  }

  #kind(where: Where, group: string, plural: string): void {
    const groups = this.#kinds.get(where) ?? new Map<string, Set<string>>();
    this.#kinds.set(where, groups.set(group, (groups.get(group) ?? new Set<string>()).add(plural)));
  }

  #name(group: string, plural: string, name: string): void {
    const known = this.#named.get(`${group}/${plural}`) ?? { group, plural, names: new Set<string>() };
    known.names.add(name);
    this.#named.set(`${group}/${plural}`, known);
  }

  #roleOrBinding(object: UnknownObject, where: Where): void {
    const { rules = [], aggregationRule } = object as unknown as RoleObject;
    // An aggregated ClusterRole requires all permissions, because Kubernetes demands them from its creator.
    if (object.kind === 'ClusterRole' && aggregationRule !== undefined) this.add(undefined, ...everything);
    else if (object.kind === 'ClusterRole' || object.kind === 'Role') this.add(where, ...rules);
    const { roleRef } = object as { roleRef?: { kind?: string; name?: string } };
    if (roleRef?.name === undefined) return;
    const plural = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
    const bound = this.#bound.get(where) ?? new Map<string, Set<string>>();
    this.#bound.set(where, bound.set(plural, (bound.get(plural) ?? new Set<string>()).add(roleRef.name)));
  }

  /**
   * RBAC cannot restrict create, list and watch by name; all other verbs are restricted to the names in the snapshots.
   */
  #clusterRules(): PolicyRule[] {
    const rules: PolicyRule[] = [];
    for (const { group, plural, names } of this.#named.values()) {
      const of = { apiGroups: [group], resources: [plural] };
      rules.push({ ...of, verbs: ['create', 'list', 'watch'] });
      rules.push({ ...of, resourceNames: [...names].sort(), verbs: ['delete', 'get', 'patch', 'update'] });
    }
    const ofDefinitions = { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'] };
    rules.push({ ...ofDefinitions, verbs: ['create', ...read] });
    if (this.#definitions.size > 0) {
      rules.push({ ...ofDefinitions, resourceNames: [...this.#definitions].sort(), verbs: ['patch', 'update'] });
    }
    return rules;
  }

  #rulesIn(where: Where): PolicyRule[] {
    const kinds = [...(this.#kinds.get(where) ?? [])].map(([group, plurals]) => ({
      apiGroups: [group],
      resources: [...plurals].sort(),
      verbs: write,
    }));
    const bound = [...(this.#bound.get(where) ?? [])].map(([plural, names]) => ({
      apiGroups: [rbac],
      resources: [plural],
      resourceNames: [...names].sort(),
      verbs: ['bind'],
    }));
    return distinct([...kinds, ...bound, ...(this.#more.get(where) ?? [])]);
  }
}

function distinct(rules: readonly PolicyRule[]): PolicyRule[] {
  const known = new Map<string, PolicyRule>();
  for (const rule of rules) known.set(JSON.stringify(rule), rule);
  return [...known.values()];
}
