/**
 * Checks that a workload matches the snapshot and is rolled out. A workload controller that has not observed a change
 * yet still reports the old state as healthy (argo-cd#29410).
 */
import type { WorkloadProfile } from './profile.ts';
import type { Container, PodTemplate, Workload } from './shapes.ts';

export type WorkloadVerdict =
  | { readonly state: 'rolled-out'; readonly wanted: number }
  /** Scaled to 0. */
  | { readonly state: 'at-zero' }
  /** Missing, or different from the snapshot: its status says nothing about the requested revision. */
  | { readonly state: 'other'; readonly message: string }
  /** Rolling out: the result is open. */
  | { readonly state: 'under-way'; readonly message: string }
  /** Was complete and is not any more, or its progress deadline is exceeded. */
  | { readonly state: 'short'; readonly message: string };

export function judgeWorkload(profile: WorkloadProfile, live: Workload | undefined): WorkloadVerdict {
  const name = `${profile.kind} ${profile.namespace}/${profile.name}`;
  if (live === undefined) return { state: 'other', message: `${name} does not exist` };
  if (live.metadata.deletionTimestamp !== undefined) return { state: 'other', message: `${name} is being deleted` };
  const difference = differenceOf(profile.template, live.spec?.template ?? {});
  if (difference !== undefined) {
    return { state: 'other', message: `${name} differs from the rollout: ${difference}` };
  }
  const { observedGeneration = 0 } = live.status ?? {};
  if (observedGeneration < (live.metadata.generation ?? 0)) {
    return { state: 'under-way', message: `${name}: the change is not observed yet` };
  }
  const { wanted, updated, total, available } = numbersOf(profile, live);
  if (wanted === 0)
    return total === 0 ? { state: 'at-zero' } : { state: 'under-way', message: `${name} is scaling to 0` };
  const progress = live.status?.conditions?.find(({ type }) => type === 'Progressing');
  const state = progress?.status === 'False' ? 'short' : 'under-way';
  if (updated < wanted) return { state, message: `${name}: ${updated} of ${wanted} pods are updated` };
  if (total > updated) return { state, message: `${name}: ${total - updated} old pods are still running` };
  if (available < wanted) {
    // Only a Deployment reports progress; the others had their time during the Helm wait.
    const rolling = progress?.status === 'True' && progress.reason !== 'NewReplicaSetAvailable';
    const message = `${name}: ${available} of ${wanted} pods are ready`;
    return { state: rolling ? 'under-way' : 'short', message };
  }
  return { state: 'rolled-out', wanted };
}

function numbersOf({ kind }: WorkloadProfile, { spec, status = {} }: Workload) {
  if (kind === 'DaemonSet') {
    const { desiredNumberScheduled = 0, updatedNumberScheduled = 0, numberAvailable = 0 } = status;
    return {
      wanted: desiredNumberScheduled,
      updated: updatedNumberScheduled,
      total: updatedNumberScheduled,
      available: numberAvailable,
    };
  }
  const { replicas: total = 0, readyReplicas = 0, availableReplicas } = status;
  // A StatefulSet resets updatedReplicas when all are updated.
  const whole = status.updateRevision !== undefined && status.currentRevision === status.updateRevision;
  const updated = kind === 'StatefulSet' && whole ? total : (status.updatedReplicas ?? 0);
  return { wanted: spec?.replicas ?? 1, updated, total, available: availableReplicas ?? readyReplicas };
}

/**
 * `differenceOf` describes the first difference without quoting values, which may be secret. Additions are ignored.
 * Only fields that the API server stores verbatim are compared; quantities, for example, are normalized.
 */
function differenceOf(wanted: PodTemplate, live: PodTemplate): string | undefined {
  for (const part of ['labels', 'annotations'] as const) {
    for (const [key, value] of Object.entries(wanted.metadata?.[part] ?? {})) {
      if (live.metadata?.[part]?.[key] !== value) return `the pod template has a different ${part.slice(0, -1)} ${key}`;
    }
  }
  for (const list of ['containers', 'initContainers'] as const) {
    for (const container of wanted.spec?.[list] ?? []) {
      const found = live.spec?.[list]?.find(({ name }) => name === container.name);
      if (found === undefined) return `container ${container.name ?? ''} is missing`;
      const difference = containerDifference(container, found);
      if (difference !== undefined) return `container ${container.name ?? ''} has ${difference}`;
    }
  }
  return undefined;
}

function containerDifference(wanted: Container, live: Container): string | undefined {
  if (wanted.image !== undefined && wanted.image !== live.image) return 'a different image';
  for (const words of ['command', 'args'] as const) {
    if ((wanted[words] ?? []).some((word, index) => live[words]?.[index] !== word)) return `different ${words}`;
  }
  for (const { name, value } of wanted.env ?? []) {
    // Empty values are not stored.
    if (value === undefined || value === '') continue;
    if (live.env?.find((each) => each.name === name)?.value !== value)
      return `a different environment variable ${name ?? ''}`;
  }
  return undefined;
}
