/** Deployments, StatefulSets and DaemonSets of a snapshot: whether they have come to what they are told, and how many there are to be. */
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
  /** On nodes where they are no longer to be: they go. */
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

/** Throws where they are not by then, and says which one is not. */
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
      const why = live === undefined ? 'it is not there' : whyNotRolledOut(live);
      missing = `${workload.kind} ${workload.metadata.name}: ${why}`;
      if (why !== undefined) return false;
    }
    return true;
  });
  if (!areThere) throw new FleetError('helm/timeout', `It was installed, and is not ready in time. ${missing}`);
}

/** Undefined where it is; as `kubectl rollout status` and `helm --wait` see it. Throws where it never will be. */
export function whyNotRolledOut({ kind, metadata, spec, status = {} }: Workload): string | undefined {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'what it is told was not seen yet';
  const stuck = status.conditions?.find(({ reason }) => reason === 'ProgressDeadlineExceeded');
  if (stuck !== undefined) {
    throw new FleetError(
      'helm/failed',
      `${kind} ${metadata.name} has not come forward within its progressDeadlineSeconds`,
    );
  }
  const isDaemon = kind === 'DaemonSet';
  const wanted = isDaemon ? (status.desiredNumberScheduled ?? 0) : (spec?.replicas ?? 1);
  const updated = (isDaemon ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const available = (isDaemon ? status.numberAvailable : status.availableReplicas) ?? 0;
  if (updated < wanted) return `${updated} of ${wanted} are new`;
  if (!isDaemon && (status.replicas ?? 0) > Math.max(updated, wanted)) return 'old ones are still there';
  return available < wanted ? `${available} of ${wanted} are available` : undefined;
}

/** A DaemonSet has no number. Where its pods ask for a node with this label, which none has, it is at 0. */
export const heldLabel = 'platform.company.com/held-until-switch';

/** As the chart has it, and at 0. */
export function scaledToZero(workload: Workload): UnknownObject {
  const { kind, spec = {} } = workload;
  if (kind !== 'DaemonSet') return { ...workload, spec: { ...spec, replicas: 0 } };
  const { template = {} } = spec;
  const nodeSelector = { ...template.spec?.nodeSelector, [heldLabel]: 'true' };
  return { ...workload, spec: { ...spec, template: { ...template, spec: { ...template.spec, nodeSelector } } } };
}

/** To 0, or with no number to what the snapshot says. */
export async function scale(client: Client, workloads: readonly Workload[], namespace: string, to?: 0): Promise<void> {
  for (const workload of workloads) {
    const live = await read(client, workload, namespace);
    if (live !== undefined) await setReplicas(client, workload, namespace, live, to);
  }
}

/** What Helm does not write it leaves as it is: what we have scaledToZero once, and the chart says no number of, would stay at 0. */
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

/** Throws where some are left by then. */
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
  if (!areGone) throw new FleetError('helm/timeout', `The controllers in ${namespace} are not at 0 in time`);
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
  if (resource === undefined) throw new TypeError(`${workload.kind} is no workload`);
  return resource;
}
