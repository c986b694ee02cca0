/**
 * The read access that a policy takes: its stored objects for the scan, and its params and context. It is granted by ClusterRoles that an
 * administrator applies and that Kubernetes aggregates into `kidp-read`; kidp itself writes none of them.
 */
import { GROUP } from '../api/index.ts';
import type { PolicyModel } from './model.ts';
import { pluralOf } from './native/plural.ts';
import { type StoredType, storedTypes } from './stored.ts';

export interface ReadResource {
  readonly group: string;
  readonly plural: string;
  /** Set if objects of one namespace are enough. */
  readonly namespace?: string;
}

/** The label of ClusterRoles that are aggregated into `kidp-read`. */
const READ_ROLE_LABEL = `rbac.${GROUP}/aggregate-to-kidp-read`;

const readVerbs = ['get', 'list', 'watch'] as const;

interface ReadRole {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1';
  readonly kind: 'ClusterRole';
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

/** `resourcesReadBy` lists the resources that a policy reads, among the types that a cluster serves or that are known without one. */
export function resourcesReadBy(model: PolicyModel, types: readonly StoredType[]): ReadResource[] {
  const { params, context } = model;
  const matched = model.rules.length === 0 ? [] : storedTypes(model, types);
  const named = [...(params === undefined ? [] : [params]), ...context].map(({ apiVersion, kind, namespace }) => {
    const [version = '', group = ''] = apiVersion.split('/').toReversed();
    const known = types.find((type) => type.group === group && type.kind === kind && type.version === version);
    const plural = known?.plural ?? pluralOf(kind);
    return { group, plural, ...(namespace === undefined || known?.namespaced === false ? {} : { namespace }) };
  });
  return [...matched.map(({ group, plural }) => ({ group, plural })), ...named];
}

/** `typesNamedBy` lists the types that a policy names exactly, with the plural guessed from the kind. */
export function typesNamedBy({ match, podControllers }: PolicyModel): StoredType[] {
  const additional = (podControllers?.additional ?? []).map(({ type }) => type);
  return [...(match.types ?? []), ...additional].flatMap(({ group, version, kind, resource }) => {
    if (kind === undefined || resource !== undefined || [group, kind].some((each) => each.includes('*'))) return [];
    return [{ group, version, kind, plural: pluralOf(kind), namespaced: true }];
  });
}

/** `isSecrets` recognizes the Secrets of Kubernetes, which are read only on explicit request. */
export const isSecrets = ({ group, plural }: ReadResource): boolean => group === '' && plural === 'secrets';

/** `readRole` builds the ClusterRole that grants read access to these resources, one rule per group. */
export function readRole(name: string, resources: readonly ReadResource[]): ReadRole {
  const groups = Map.groupBy(resources, ({ group }) => group);
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels: { [READ_ROLE_LABEL]: 'true' } },
    rules: [...groups.keys()].sort().map((group) => ({
      apiGroups: [group],
      resources: [...new Set(groups.get(group)?.map(({ plural }) => plural))].sort(),
      verbs: readVerbs,
    })),
  };
}

/** `readRoleText` writes a ClusterRole as YAML. */
export function readRoleText({ apiVersion, kind, metadata, rules }: ReadRole): string {
  const list = (items: readonly string[]) => `[${items.map((each) => (each === '' ? '""' : each)).join(', ')}]`;
  return [
    `apiVersion: ${apiVersion}`,
    `kind: ${kind}`,
    'metadata:',
    `  name: ${metadata.name}`,
    '  labels:',
    ...Object.entries(metadata.labels).map(([key, value]) => `    ${key}: "${value}"`),
    rules.length === 0 ? 'rules: []' : 'rules:',
    ...rules.flatMap(({ apiGroups, resources, verbs }) => [
      `- apiGroups: ${list(apiGroups)}`,
      `  resources: ${list(resources)}`,
      `  verbs: ${list(verbs)}`,
    ]),
    '',
  ].join('\n');
}
