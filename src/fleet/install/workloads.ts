/** Deployments, StatefulSets and DaemonSets of a snapshot: whether they have come to what they are told, and how many there are to be. */
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { until, type Waiting } from './until.ts';

export interface Workload extends UnknownObject {
  spec?: { replicas?: number };
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

/** Those that can be at 0. */
export const controllersIn = (manifests: readonly UnknownObject[]): readonly Workload[] =>
  workloadsIn(manifests).filter(({ kind }) => kind !== 'DaemonSet');

export const workloadsIn = (manifests: readonly UnknownObject[]): readonly Workload[] =>
  manifests.filter((object) => resourceFor(object) !== undefined && !isHook(object)) as readonly Workload[];

/** Throws where they are not by then, and says which one is not. */
export async function untilRolledOut(
  client: Client,
  workloads: readonly Workload[],
  namespace: string,
  waiting: Waiting,
): Promise<void> {
  let missing = '';
  const areThere = await until(waiting, async () => {
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

/** To 0, or with no number to what the snapshot says. */
export async function scale(
  client: Client,
  controllers: readonly Workload[],
  namespace: string,
  to?: 0,
): Promise<void> {
  for (const controller of controllers) {
    const live = await read(client, controller, namespace);
    const replicas = to ?? controller.spec?.replicas ?? 1;
    if (live === undefined || (live.spec?.replicas ?? 1) === replicas) continue;
    const key = keyOf(controller, namespace);
    const body = { spec: { replicas } };
    await client.patch(demand(controller), key, { type: 'merge', body }, { fieldManager });
  }
}

/** Throws where some are left by then. */
export async function untilAtZero(
  client: Client,
  controllers: readonly Workload[],
  namespace: string,
  waiting: Waiting,
): Promise<void> {
  const areGone = await until(waiting, async () => {
    for (const controller of controllers) {
      const live = await read(client, controller, namespace);
      const { observedGeneration = 0, replicas = 0 } = live?.status ?? {};
      const isGone = live === undefined || (observedGeneration >= (live.metadata.generation ?? 0) && replicas === 0);
      if (!isGone) return false;
    }
    return true;
  });
  if (!areGone) throw new FleetError('helm/timeout', `The controllers in ${namespace} are not at 0 in time`);
}

async function read(client: Client, workload: Workload, namespace: string): Promise<Workload | undefined> {
  try {
    return await client.get<Workload>(demand(workload), keyOf(workload, namespace));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const keyOf = ({ metadata }: Workload, namespace: string) => ({
  namespace: metadata.namespace ?? namespace,
  name: metadata.name,
});

function demand(workload: Workload): Resource {
  const resource = resourceFor(workload);
  if (resource === undefined) throw new TypeError(`${workload.kind} is no workload`);
  return resource;
}
