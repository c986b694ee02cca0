/** Deployments, StatefulSets and DaemonSets of a snapshot: their rollout status and scaling. */
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { type Deadline, waitUntil } from './wait.ts';

export interface Workload extends UnknownObject {
  spec?: { replicas?: number; template?: { spec?: { nodeSelector?: Readonly<Record<string, string>> } } };
  status?: WorkloadStatus;
}

interface WorkloadStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  desiredNumberScheduled?: number;
  updatedNumberScheduled?: number;
  /** Pods on nodes where they should not run; they will be deleted. */
  numberMisscheduled?: number;
  numberAvailable?: number;
  conditions?: { type: string; status: string; reason?: string }[];
}

const resources: Readonly<Record<string, Resource>> = Object.fromEntries(
  ['Deployment', 'StatefulSet', 'DaemonSet'].map((kind) => [
    kind,
    { group: 'apps', version: 'v1', plural: `${kind.toLowerCase()}s`, kind, namespaced: true },
  ]),
);

export const isHook = ({ metadata }: UnknownObject): boolean => metadata.annotations?.['helm.sh/hook'] !== undefined;

const resourceFor = ({ apiVersion, kind }: UnknownObject): Resource | undefined =>
  apiVersion === 'apps/v1' ? resources[kind] : undefined;

export const workloadsIn = (manifests: readonly UnknownObject[]): readonly Workload[] =>
  manifests.filter((object) => resourceFor(object) !== undefined && !isHook(object)) as readonly Workload[];

/** `untilRolledOut` throws after the deadline, and names the workload that is not ready. */
export async function untilRolledOut(
  client: Client,
  workloads: readonly Workload[],
  namespace: string,
  waiting: Deadline,
): Promise<void> {
  let missing = '';
  const areThere = await waitUntil(waiting, async () => {
    for (const workload of workloads) {
      const live = await read(client, workload, namespace);
      const why = live === undefined ? 'does not exist' : whyNotRolledOut(live);
      missing = `${workload.kind} ${workload.metadata.name} ${why}`;
      if (why !== undefined) return false;
    }
    return true;
  });
  if (!areThere)
    throw new FleetError('helm/timeout', `Install timed out after ${waiting.milliseconds / 1000}s: ${missing}`);
}

/**
 * `whyNotRolledOut` follows `kubectl rollout status` and `helm --wait`; undefined if rolled out. Throws if it will
 * never be.
 */
export function whyNotRolledOut({ kind, metadata, spec, status = {} }: Workload): string | undefined {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'has not observed its latest generation';
  const stuck = status.conditions?.find(({ reason }) => reason === 'ProgressDeadlineExceeded');
  if (stuck !== undefined) {
    throw new FleetError('helm/failed', `${kind} ${metadata.name} exceeded its progressDeadlineSeconds`);
  }
  const isDaemon = kind === 'DaemonSet';
  const wanted = isDaemon ? (status.desiredNumberScheduled ?? 0) : (spec?.replicas ?? 1);
  const updated = (isDaemon ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const available = (isDaemon ? status.numberAvailable : status.availableReplicas) ?? 0;
  if (updated < wanted) return `has ${updated} of ${wanted} updated replicas`;
  if (!isDaemon && (status.replicas ?? 0) > Math.max(updated, wanted)) return 'still has old replicas';
  return available < wanted ? `has ${available} of ${wanted} updated replicas ready` : undefined;
}

/** A DaemonSet has no replica count. A node selector for this label, which no node has, scales it to 0. */
export const heldLabel = 'platform.company.com/held-until-switch';

/** `scaledToZero` returns the workload with 0 replicas. */
export function scaledToZero(workload: Workload): UnknownObject {
  const { kind, spec = {} } = workload;
  if (kind !== 'DaemonSet') return { ...workload, spec: { ...spec, replicas: 0 } };
  const { template = {} } = spec;
  const nodeSelector = { ...template.spec?.nodeSelector, [heldLabel]: 'true' };
  return { ...workload, spec: { ...spec, template: { ...template, spec: { ...template.spec, nodeSelector } } } };
}

/** `scale` scales to 0, or without a number to the replicas of the snapshot. */
export async function scale(client: Client, workloads: readonly Workload[], namespace: string, to?: 0): Promise<void> {
  for (const workload of workloads) {
    const live = await read(client, workload, namespace);
    if (live !== undefined) await setReplicas(client, workload, namespace, live, to);
  }
}

/**
 * Helm leaves unset fields as they are: a workload that we scaled to 0, and whose chart sets no replicas, would stay at
 * 0.
 */
export async function restoreReplicas(
  client: Client,
  workloads: readonly Workload[],
  namespace: string,
): Promise<void> {
  for (const workload of workloads) {
    const live = await read(client, workload, namespace);
    if (live !== undefined && (isHeld(live) || live.spec?.replicas === 0))
      await setReplicas(client, workload, namespace, live);
  }
}

async function setReplicas(
  client: Client,
  workload: Workload,
  namespace: string,
  live: Workload,
  to?: 0,
): Promise<void> {
  const spec = workload.kind === 'DaemonSet' ? holding(live, to === 0) : numbering(live, to ?? workload.spec?.replicas);
  if (spec === undefined) return;
  const key = keyOf(workload, namespace);
  await client.patch(resourceOrThrow(workload), key, { type: 'merge', body: { spec } }, { fieldManager });
}

const numbering = (live: Workload, replicas = 1): object | undefined =>
  (live.spec?.replicas ?? 1) === replicas ? undefined : { replicas };

const holding = (live: Workload, held: boolean): object | undefined =>
  isHeld(live) === held ? undefined : { template: { spec: { nodeSelector: { [heldLabel]: held ? 'true' : null } } } };

const isHeld = ({ spec }: Workload): boolean => spec?.template?.spec?.nodeSelector?.[heldLabel] !== undefined;

/** `untilAtZero` throws after the deadline. */
export async function untilAtZero(
  client: Client,
  workloads: readonly Workload[],
  namespace: string,
  waiting: Deadline,
): Promise<void> {
  const areGone = await waitUntil(waiting, async () => {
    for (const workload of workloads) {
      const live = await read(client, workload, namespace);
      if (live !== undefined && !isAtZero(live)) return false;
    }
    return true;
  });
  if (!areGone)
    throw new FleetError(
      'helm/timeout',
      `Timed out after ${waiting.milliseconds / 1000}s scaling the controllers in namespace ${namespace} to 0`,
    );
}

export function isAtZero({ kind, metadata, status = {} }: Workload): boolean {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  if (kind !== 'DaemonSet') return (status.replicas ?? 0) === 0;
  return (status.desiredNumberScheduled ?? 0) === 0 && (status.numberMisscheduled ?? 0) === 0;
}

async function read(client: Client, workload: Workload, namespace: string): Promise<Workload | undefined> {
  try {
    return await client.get<Workload>(resourceOrThrow(workload), keyOf(workload, namespace));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const keyOf = ({ metadata }: Workload, namespace: string) => ({
  namespace: metadata.namespace ?? namespace,
  name: metadata.name,
});

function resourceOrThrow(workload: Workload): Resource {
  const resource = resourceFor(workload);
  if (resource === undefined) throw new TypeError(`${workload.kind} is not a workload`);
  return resource;
}
