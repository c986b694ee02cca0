/**
 * Chooses the dry-run object for a webhook: the probe of the Operator, else an object generated from the schema; if
 * there is none or the API server rejects it, a copy of an existing custom resource.
 */
import type { Resource, UnknownObject } from '../../runtime/index.ts';
import { parseYaml } from '../../runtime/internal.ts';
import type { ClusterObjects } from './objects.ts';
import type { HealthProfile } from './profile.ts';
import { namespaces } from './resources.ts';
import { labelsFor, selects } from './selectors.ts';
import type { Webhook, WebhookRule } from './shapes.ts';
import type { WebhookThresholds } from './thresholds.ts';

export interface Probe {
  readonly resource: Resource;
  readonly object: UnknownObject;
  /** Another object may be accepted if this one is not. */
  readonly madeUp: boolean;
}

interface ProbeInput {
  readonly objects: ClusterObjects;
  readonly profile: HealthProfile;
  readonly thresholds: WebhookThresholds;
  /** A generated object was rejected before. */
  readonly onlyCopies: boolean;
}

/** `probeFor` returns the object, or why there is none. */
export async function probeFor(webhook: Webhook, input: ProbeInput): Promise<Probe | string> {
  const { objects, profile, thresholds } = input;
  if (webhook.sideEffects !== 'None' && webhook.sideEffects !== 'NoneOnDryRun') {
    return 'it may have side effects, so Kubernetes allows no dry run';
  }
  const { probe } = thresholds;
  const chosen = probe === undefined ? await ofOneOfItsKinds(webhook, input) : declared(probe, profile);
  if (typeof chosen === 'string') return chosen;
  const labels = labelsFor(webhook.objectSelector);
  if (labels === undefined) return 'no object can have the labels that it requires';
  const namespace = chosen.resource.namespaced
    ? await namespaceFor(webhook, objects, [chosen.object.metadata.namespace, profile.namespace, 'default'])
    : undefined;
  if (chosen.resource.namespaced && namespace === undefined) return 'it matches no existing namespace';
  return { ...chosen, object: bare(chosen.object, namespace, labels) };
}

function declared(probe: NonNullable<WebhookThresholds['probe']>, profile: HealthProfile): Probe | string {
  const { apiVersion, kind, manifest } = probe;
  const slash = apiVersion.indexOf('/');
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  const own = profile.kinds.find(({ resource }) => resource.group === group && resource.kind === kind);
  const known = own?.resource ?? kubernetesKinds.find((each) => each.group === group && each.kind === kind);
  if (known === undefined)
    return `spec.health.webhook.probe: ${kind} is neither a kind of the operator nor a common one`;
  const resource = { ...known, version };
  if (manifest === undefined) {
    const object = own?.example ?? { apiVersion, kind, metadata: { name: 'probe' } };
    return { resource, object: { ...object, apiVersion }, madeUp: false };
  }
  const read = readManifest(manifest);
  if (read === undefined) return 'spec.health.webhook.probe.manifest is not a Kubernetes object';
  return { resource, object: { ...read, apiVersion, kind }, madeUp: false };
}

/** Parser errors would quote the manifest. */
function readManifest(manifest: string): UnknownObject | undefined {
  try {
    const read: unknown = parseYaml(manifest, { maxAliasCount: 0 });
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
  if (own.length > 0) return 'no valid object could be generated from the schema: set spec.health.webhook.probe';
  return 'it matches no create of a kind of the operator: set spec.health.webhook.probe';
}

const names = ({ apiGroups = [], apiVersions = [], resources = [] }: WebhookRule, resource: Resource): boolean =>
  has(apiGroups, resource.group) &&
  has(apiVersions, resource.version) &&
  (has(resources, resource.plural) || resources.includes('*/*'));

const has = (list: readonly string[], word: string): boolean => list.includes('*') || list.includes(word);

/** The first preferred namespace that the webhook matches, else any. */
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

/** A copy with an unused name, and without references to other objects. */
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

/** Common kinds that operator webhooks match, for a probe declared by the Operator. */
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
