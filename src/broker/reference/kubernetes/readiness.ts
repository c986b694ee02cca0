/** Derives the state of a deployment from the status of its workloads and Pods. */
import type { UnknownObject } from '../../../runtime/index.ts';
import type { ErrorClass } from '../../messages.ts';
import { isQuota } from './failures.ts';

type Readiness =
  | { readonly phase: 'ready' }
  | { readonly phase: 'deploying'; readonly message: string }
  | {
      readonly phase: 'failed';
      readonly error: { readonly class: ErrorClass; readonly code: string; readonly message: string };
    };

interface Workload extends UnknownObject {
  spec: { replicas?: number };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    currentRevision?: string;
    updateRevision?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

/**
 * The readiness of a Deployment or StatefulSet with its Pods. A ready workload stays ready until its controller reports
 * otherwise: observedGeneration lags after every edit, also of annotations, and an autoscaler may remove replicas. A
 * new workload is ready once it has no surplus replicas.
 */
export function readinessOf(object: UnknownObject, pods: readonly UnknownObject[], wasReady: boolean): Readiness {
  const workload = object as Workload;
  const { spec, status = {}, metadata } = workload;
  const wanted = spec.replicas ?? 1;
  const observed = wasReady || (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const available = workload.kind === 'Deployment' ? status.availableReplicas : status.readyReplicas;
  const updated =
    workload.kind === 'Deployment'
      ? (status.updatedReplicas ?? 0) >= wanted && (status.replicas ?? 0) === (status.updatedReplicas ?? 0)
      : wanted === 0 || status.updateRevision === status.currentRevision || status.updatedReplicas === wanted;
  const settled = wasReady || (status.replicas ?? 0) <= wanted;
  if (observed && updated && settled && (available ?? 0) >= wanted) return { phase: 'ready' };
  const trouble =
    (observed ? workloadError(workload) : undefined) ?? pods.map(podError).find((each) => each !== undefined);
  if (trouble !== undefined) return { phase: 'failed', error: trouble };
  const hindrance = observed ? conditionOf(workload, 'ReplicaFailure', 'True')?.message : undefined;
  if (hindrance !== undefined) return { phase: 'deploying', message: hindrance };
  const message = settled
    ? `${available ?? 0} of ${wanted} replicas are ready`
    : `${status.replicas} replicas exist, ${wanted} are wanted: the others are being terminated`;
  return { phase: 'deploying', message };
}

export const replicasOf = (object: UnknownObject): { replicas: number; readyReplicas: number } => ({
  replicas: (object as Workload).status?.replicas ?? 0,
  readyReplicas: (object as Workload).status?.readyReplicas ?? 0,
});

type WorkloadError = { readonly class: ErrorClass; readonly code: string; readonly message: string };

const conditionOf = ({ status }: Workload, type: string, value: string) =>
  status?.conditions?.find((each) => each.type === type && each.status === value);

/**
 * Pods that admission rejects. Other reasons may pass: a new namespace does not even have a service account yet.
 * Kubernetes keeps trying, and reports when its deadline is exceeded.
 */
const isAdmissionDenial = (message: string): boolean => /violates PodSecurity|\bdenied\b| is invalid: /.test(message);

function workloadError(workload: Workload): WorkloadError | undefined {
  const { message = '' } = conditionOf(workload, 'ReplicaFailure', 'True') ?? {};
  if (isQuota(message)) return { class: 'quota', code: 'quota-exceeded', message };
  if (isAdmissionDenial(message)) return { class: 'permanent', code: 'pods-refused', message };
  const progressing = conditionOf(workload, 'Progressing', 'False');
  if (progressing?.reason !== 'ProgressDeadlineExceeded') return undefined;
  return { class: 'transient', code: 'no-progress', message: progressing.message ?? 'the rollout makes no progress' };
}

interface Pod extends UnknownObject {
  status?: {
    containerStatuses?: { restartCount?: number; state?: { waiting?: { reason?: string; message?: string } } }[];
  };
}

/** A container that restarted this often is not just waiting for a dependency. */
const crashLoopRestarts = 3;

const nonRootHint =
  'Build the image with a numeric USER other than 0, or ask an administrator to set spec.parameters.podSecurity of the DeploymentTarget to baseline';

function podError(pod: UnknownObject): WorkloadError | undefined {
  for (const { restartCount = 0, state } of (pod as Pod).status?.containerStatuses ?? []) {
    const { reason = '', message = reason } = state?.waiting ?? {};
    if (reason === 'InvalidImageName' || reason === 'CreateContainerConfigError') {
      return {
        class: 'permanent',
        code: reason === 'InvalidImageName' ? 'invalid-image' : 'container-config',
        message: /runAsNonRoot/.test(message) ? `${message}. ${nonRootHint}` : message,
      };
    }
    if (reason === 'ErrImagePull' || reason === 'ImagePullBackOff') {
      const missing = /not found|manifest unknown|does not exist|denied/i.test(message);
      return { class: missing ? 'permanent' : 'transient', code: 'image-not-pulled', message };
    }
    if (reason === 'CrashLoopBackOff' && restartCount >= crashLoopRestarts) {
      return { class: 'transient', code: 'crash-loop', message };
    }
  }
  return undefined;
}
