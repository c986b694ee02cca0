/**
 * Whether a workload is what the snapshot says, and whether all of it is. A controller of Kubernetes that has not looked at the change
 * yet still reports that all is well, of what was there before (argo-cd#29410).
 */
import type { WorkloadProfile } from './profile.ts';
import type { Container, PodTemplate, Workload } from './shapes.ts';

export type WorkloadVerdict =
  | { readonly state: 'rolled-out'; readonly wanted: number }
  /** Scaled to 0, by whomever. */
  | { readonly state: 'at-zero' }
  /** Not there, or not what the snapshot says: nothing that is seen speaks of the revision that was asked for. */
  | { readonly state: 'other'; readonly message: string }
  /** It is on its way there: it may still get well, or not. */
  | { readonly state: 'under-way'; readonly message: string }
  /** It was there and is not any more, or Kubernetes has given up. */
  | { readonly state: 'short'; readonly message: string };

export function judgeWorkload(profile: WorkloadProfile, live: Workload | undefined): WorkloadVerdict {
  const name = `${profile.kind} ${profile.namespace}/${profile.name}`;
  if (live === undefined) return { state: 'other', message: `${name} is not there` };
  if (live.metadata.deletionTimestamp !== undefined) return { state: 'other', message: `${name} is being deleted` };
  const difference = differenceOf(profile.template, live.spec?.template ?? {});
  if (difference !== undefined) {
    return { state: 'other', message: `${name} is not what was rolled out: ${difference}` };
  }
  const { observedGeneration = 0 } = live.status ?? {};
  if (observedGeneration < (live.metadata.generation ?? 0)) {
    return { state: 'under-way', message: `${name}: Kubernetes has not looked at the change yet` };
  }
  const { wanted, updated, total, available } = numbersOf(profile, live);
  if (wanted === 0) return total === 0 ? { state: 'at-zero' } : { state: 'under-way', message: `${name} goes to 0` };
  const progress = live.status?.conditions?.find(({ type }) => type === 'Progressing');
  const state = progress?.status === 'False' ? 'short' : 'under-way';
  if (updated < wanted) return { state, message: `${name}: ${updated} of ${wanted} pods are the new ones` };
  if (total > updated) return { state, message: `${name}: ${total - updated} old pods are still there` };
  if (available < wanted) {
    // Only a Deployment says whether it is still on its way; what says nothing has had its time with Helm.
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
  // A StatefulSet stops counting updated ones when all of them are.
  const whole = status.updateRevision !== undefined && status.currentRevision === status.updateRevision;
  const updated = kind === 'StatefulSet' && whole ? total : (status.updatedReplicas ?? 0);
  return { wanted: spec?.replicas ?? 1, updated, total, available: availableReplicas ?? readyReplicas };
}

/**
 * The first difference, in words that quote no value: a variable may hold a secret. What somebody added is none. Compared is only what
 * the API server keeps exactly as it was written; amounts, for example, it writes its own way.
 */
function differenceOf(wanted: PodTemplate, live: PodTemplate): string | undefined {
  for (const part of ['labels', 'annotations'] as const) {
    for (const [key, value] of Object.entries(wanted.metadata?.[part] ?? {})) {
      if (live.metadata?.[part]?.[key] !== value) return `its pods have another ${part.slice(0, -1)} ${key}`;
    }
  }
  for (const list of ['containers', 'initContainers'] as const) {
    for (const container of wanted.spec?.[list] ?? []) {
      const found = live.spec?.[list]?.find(({ name }) => name === container.name);
      if (found === undefined) return `it has no container ${container.name ?? ''}`;
      const difference = containerDifference(container, found);
      if (difference !== undefined) return `its container ${container.name ?? ''} has ${difference}`;
    }
  }
  return undefined;
}

function containerDifference(wanted: Container, live: Container): string | undefined {
  if (wanted.image !== undefined && wanted.image !== live.image) return 'another image';
  for (const words of ['command', 'args'] as const) {
    if ((wanted[words] ?? []).some((word, index) => live[words]?.[index] !== word)) return `another ${words}`;
  }
  for (const { name, value } of wanted.env ?? []) {
    // An empty value is not written down.
    if (value === undefined || value === '') continue;
    if (live.env?.find((each) => each.name === name)?.value !== value)
      return `another ${name ?? ''} in its environment`;
  }
  return undefined;
}
