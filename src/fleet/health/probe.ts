/**
 * What a webhook is tried with: an object that is only created in a dry run. The Operator's own probe, else one made up from the schema;
 * and where there is none, or the API server does not take it, a copy of a custom resource that is there.
 */
import { parse } from 'yaml';
import type { Resource, UnknownObject } from '../../runtime/index.ts';
import type { ClusterObjects } from './objects.ts';
import type { HealthProfile } from './profile.ts';
import { namespaces } from './resources.ts';
import { labelsFor, selects } from './selectors.ts';
import type { Webhook, WebhookRule } from './shapes.ts';
import type { WebhookThresholds } from './thresholds.ts';

export interface Probe {
  readonly resource: Resource;
  readonly object: UnknownObject;
  /** Another may do where this one does not. */
  readonly madeUp: boolean;
}

interface ProbeInput {
  readonly objects: ClusterObjects;
  readonly profile: HealthProfile;
  readonly thresholds: WebhookThresholds;
  /** What was made up did not do. */
  readonly onlyCopies: boolean;
}

/** The object to try with, or why there is none. */
export async function probeFor(webhook: Webhook, input: ProbeInput): Promise<Probe | string> {
  const { objects, profile, thresholds } = input;
  if (webhook.sideEffects !== 'None' && webhook.sideEffects !== 'NoneOnDryRun') {
    return 'it may have side effects, so that Kubernetes takes no dry run for it';
  }
  const { probe } = thresholds;
  const chosen = probe === undefined ? await ofOneOfItsKinds(webhook, input) : declared(probe, profile);
  if (typeof chosen === 'string') return chosen;
  const labels = labelsFor(webhook.objectSelector);
  if (labels === undefined) return 'no object can have the labels that it asks for';
  const namespace = chosen.resource.namespaced
    ? await namespaceFor(webhook, objects, [chosen.object.metadata.namespace, profile.namespace, 'default'])
    : undefined;
  if (chosen.resource.namespaced && namespace === undefined) return 'it is for no namespace that is there';
  return { ...chosen, object: bare(chosen.object, namespace, labels) };
}

function declared(probe: NonNullable<WebhookThresholds['probe']>, profile: HealthProfile): Probe | string {
  const { apiVersion, kind, manifest } = probe;
  const slash = apiVersion.indexOf('/');
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  const own = profile.kinds.find(({ resource }) => resource.group === group && resource.kind === kind);
  const known = own?.resource ?? kubernetesKinds.find((each) => each.group === group && each.kind === kind);
  if (known === undefined) return `spec.health.webhook.probe: ${kind} is neither a kind of its own nor a common one`;
  const resource = { ...known, version };
  if (manifest === undefined) {
    const object = own?.example ?? { apiVersion, kind, metadata: { name: 'probe' } };
    return { resource, object: { ...object, apiVersion }, madeUp: false };
  }
  const read = readManifest(manifest);
  if (read === undefined) return 'spec.health.webhook.probe.manifest is no object of Kubernetes';
  return { resource, object: { ...read, apiVersion, kind }, madeUp: false };
}

/** What a parser says would quote what it read. */
function readManifest(manifest: string): UnknownObject | undefined {
  try {
    const read: unknown = parse(manifest, { maxAliasCount: 0 });
    if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined;
    const { metadata } = read as { metadata?: unknown };
    const named = typeof metadata === 'object' && metadata !== null ? metadata : {};
    return { ...(read as UnknownObject), metadata: { name: 'probe', ...named } };
  } catch {
    return undefined;
  }
}

async function ofOneOfItsKinds(
  webhook: Webhook,
  { objects, profile, onlyCopies }: ProbeInput,
): Promise<Probe | string> {
  const created = (webhook.rules ?? []).filter(
    ({ operations = [] }) => operations.includes('CREATE') || operations.includes('*'),
  );
  const own = profile.kinds.filter(({ resource }) => created.some((rule) => names(rule, resource)));
  const made = onlyCopies ? undefined : own.find(({ example }) => example !== undefined);
  if (made?.example !== undefined) return { resource: made.resource, object: made.example, madeUp: true };
  for (const { resource } of own) {
    const [copied] = await objects.some(resource);
    if (copied !== undefined) return { resource, object: copied as unknown as UnknownObject, madeUp: false };
  }
  if (own.length > 0) return 'no object is known that its schema takes: give one in spec.health.webhook.probe';
  return 'it is asked about no kind of the operator when one is created: give an object in spec.health.webhook.probe';
}

const names = ({ apiGroups = [], apiVersions = [], resources = [] }: WebhookRule, resource: Resource): boolean =>
  has(apiGroups, resource.group) &&
  has(apiVersions, resource.version) &&
  (has(resources, resource.plural) || resources.includes('*/*'));

const has = (list: readonly string[], word: string): boolean => list.includes('*') || list.includes(word);

/** The first of the wanted namespaces that the webhook is for, else any. */
async function namespaceFor(
  { namespaceSelector }: Webhook,
  objects: ClusterObjects,
  wanted: readonly (string | undefined)[],
): Promise<string | undefined> {
  const fits = (namespace: UnknownObject | undefined): namespace is UnknownObject =>
    namespace !== undefined &&
    namespace.metadata.deletionTimestamp === undefined &&
    selects(namespaceSelector, namespace.metadata.labels);
  for (const name of wanted) {
    if (name !== undefined && fits(await objects.get<UnknownObject>(namespaces, { name }))) return name;
  }
  return (await objects.list<UnknownObject>(namespaces)).find(fits)?.metadata.name;
}

/** Under a name that nobody has, and without what ties the object that it was copied from to others. */
function bare(
  { metadata, status, ...object }: UnknownObject,
  namespace: string | undefined,
  labels: Readonly<Record<string, string>>,
): UnknownObject {
  const all = { ...metadata.labels, ...labels };
  const { annotations } = metadata;
  return {
    ...object,
    metadata: {
      generateName: 'kidp-probe-',
      ...(namespace === undefined ? {} : { namespace }),
      ...(Object.keys(all).length === 0 ? {} : { labels: all }),
      ...(annotations === undefined ? {} : { annotations }),
    } as unknown as UnknownObject['metadata'],
  } as UnknownObject;
}

const kubernetesKind = (group: string, kind: string, plural: string, namespaced = true): Resource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced,
});

/** What webhooks of operators look at besides their own kinds, for a probe that the Operator declares. */
const kubernetesKinds: readonly Resource[] = [
  kubernetesKind('', 'ConfigMap', 'configmaps'),
  kubernetesKind('', 'Namespace', 'namespaces', false),
  kubernetesKind('', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  kubernetesKind('', 'Pod', 'pods'),
  kubernetesKind('', 'Secret', 'secrets'),
  kubernetesKind('', 'Service', 'services'),
  kubernetesKind('', 'ServiceAccount', 'serviceaccounts'),
  kubernetesKind('apps', 'DaemonSet', 'daemonsets'),
  kubernetesKind('apps', 'Deployment', 'deployments'),
  kubernetesKind('apps', 'StatefulSet', 'statefulsets'),
  kubernetesKind('batch', 'CronJob', 'cronjobs'),
  kubernetesKind('batch', 'Job', 'jobs'),
  kubernetesKind('networking.k8s.io', 'Ingress', 'ingresses'),
  kubernetesKind('networking.k8s.io', 'NetworkPolicy', 'networkpolicies'),
];
