/**
 * Checks controller pods: running, at the requested revision, not restarting, within limits (docs/requirements.md, 002
 * FR-OP-005).
 */
import { ApiError } from '../../runtime/index.ts';
import { type ClusterObjects, workloadKey } from './objects.ts';
import { type Finding, finding, healthy, worst } from './part.ts';
import type { HealthProfile, WorkloadProfile } from './profile.ts';
import { podMetrics, workloadResources } from './resources.ts';
import { hasFailed, type RestartMemory } from './restarts.ts';
import type { Pod, PodMetrics, Workload } from './shapes.ts';
import type { PodThresholds } from './thresholds.ts';
import { overLimit } from './usage.ts';
import { judgeWorkload } from './workloads.ts';

interface PodsInput {
  readonly objects: ClusterObjects;
  readonly profile: HealthProfile;
  readonly thresholds: PodThresholds;
  readonly restarts: RestartMemory;
  readonly now: number;
  /** Controllers may have 0 replicas while they wait for a blue-green switch. */
  readonly mayBeAtZero: boolean;
}

export async function checkPods(input: PodsInput): Promise<Finding & { readonly running: number }> {
  const { profile, thresholds } = input;
  if (!thresholds.enabled) return { ...finding('NotChecked', 'disabled by the Operator'), running: 0 };
  if (profile.workloads.length === 0) return { ...finding('NotChecked', 'the operator runs no pods'), running: 0 };
  const findings: Finding[] = [];
  let running = 0;
  for (const workload of profile.workloads) {
    const resource = workloadResources[workload.kind];
    const live = await input.objects.get<Workload>(resource, { namespace: workload.namespace, name: workload.name });
    const byWorkload = await input.objects.podsByWorkload(workload.namespace);
    const pods = byWorkload.get(workloadKey(workload.kind, workload.name)) ?? [];
    const own = newestRevision(pods, live);
    running += own.filter(isRunning).length;
    findings.push(await judge(input, workload, live, own));
  }
  return { ...worst(findings), running };
}

async function judge(
  { objects, thresholds, restarts, now, mayBeAtZero }: PodsInput,
  workload: WorkloadProfile,
  live: Workload | undefined,
  pods: readonly Pod[],
): Promise<Finding> {
  const name = `${workload.kind} ${workload.namespace}/${workload.name}`;
  const verdict = judgeWorkload(workload, live);
  if (verdict.state === 'other') return finding('Unknown', verdict.message);
  if (verdict.state === 'at-zero') {
    if (workload.replicas === 0 || mayBeAtZero) return healthy;
    return finding('Unhealthy', `${name} is scaled to 0`);
  }
  const stuck = pods.flatMap((pod) => (isActive(pod) ? stuckReasons(pod) : []))[0];
  if (stuck !== undefined) return finding('Unhealthy', `${name}: ${stuck}`);
  const { maxRestarts, restartWindowMilliseconds, maxResourceShare } = thresholds;
  if (restarts.within(pods, restartWindowMilliseconds, now) >= maxRestarts) {
    const times = maxRestarts === 1 ? 'once' : `${maxRestarts} times`;
    return finding('Unhealthy', `${name} restarted ${times} or more within ${inWords(restartWindowMilliseconds)}`);
  }
  if (verdict.state === 'short') return finding('Unhealthy', verdict.message);
  if (verdict.state === 'under-way') return finding('Unknown', verdict.message);
  const running = pods.filter(isRunning);
  if (running.length < verdict.wanted) {
    return finding('Unhealthy', `${name}: ${running.length} of ${verdict.wanted} pods are running`);
  }
  const over = overLimit(running, await usageIn(objects, workload, running), maxResourceShare);
  return over === undefined ? healthy : finding('Unhealthy', over);
}

/** Without metrics, or without access to them, there is no finding. */
async function usageIn(
  objects: ClusterObjects,
  { namespace }: WorkloadProfile,
  running: readonly Pod[],
): Promise<ReadonlyMap<string, PodMetrics>> {
  const limited = running.some(({ spec }) =>
    spec?.containers?.some(({ resources }) => resources?.limits !== undefined),
  );
  if (!limited) return new Map();
  try {
    const measured = await objects.list<PodMetrics>(podMetrics, namespace);
    return new Map(measured.map((each) => [each.metadata.name, each]));
  } catch (error) {
    if (error instanceof ApiError) return new Map();
    throw error;
  }
}

const isActive = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && status?.phase !== 'Failed' && status?.phase !== 'Succeeded';

const isRunning = (pod: Pod): boolean => isActive(pod) && pod.status?.phase === 'Running';

/** The pods of the newest revision; older pods say nothing about it. */
function newestRevision(pods: readonly Pod[], live: Workload | undefined): readonly Pod[] {
  const hashOf = ({ metadata }: Pod) =>
    metadata.labels?.['pod-template-hash'] ?? metadata.labels?.['controller-revision-hash'];
  const there = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined || hasFailed(pod));
  const madeAt = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? '') || 0;
  const newest = there.reduce<Pod | undefined>(
    (last, pod) => (last === undefined || madeAt(pod) > madeAt(last) ? pod : last),
    undefined,
  );
  const hash = live?.status?.updateRevision ?? (newest === undefined ? undefined : hashOf(newest));
  return there.filter((pod) => hashOf(pod) === hash);
}

const stuck = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

function stuckReasons({ metadata, status }: Pod): string[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(
    ({ name = '', state }) => {
      const reason = state?.waiting?.reason;
      return reason !== undefined && stuck.has(reason) ? [`pod ${metadata.name}, container ${name}: ${reason}`] : [];
    },
  );
}

function inWords(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds % 60 !== 0) return `${seconds} seconds`;
  return seconds === 60 ? 'a minute' : `${seconds / 60} minutes`;
}
