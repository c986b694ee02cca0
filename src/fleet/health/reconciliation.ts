/** Checks custom resources: reconciled in time, and few in error (docs/requirements.md, 002 FR-OP-005). */
import { ApiError, isForbidden, isNotFound } from '../../runtime/index.ts';
import type { ClusterObjects } from './objects.ts';
import { type Finding, finding, healthy, worst } from './part.ts';
import type { CustomKind, HealthProfile } from './profile.ts';
import type { CustomResource } from './shapes.ts';
import { observedGeneration, type StalenessMemory } from './staleness.ts';
import type { ReconciliationThresholds } from './thresholds.ts';

interface ReconciliationInput {
  readonly objects: ClusterObjects;
  readonly profile: HealthProfile;
  readonly thresholds: ReconciliationThresholds;
  readonly staleness: StalenessMemory;
  readonly now: number;
}

interface Count {
  total: number;
  inError: number;
  stale: number;
  /** The first stale or failing object, as an example. */
  example?: string;
}

export async function checkReconciliation(input: ReconciliationInput): Promise<Finding> {
  const { profile, thresholds } = input;
  if (!thresholds.enabled) return finding('NotChecked', 'disabled by the Operator');
  if (profile.kinds.length === 0) return finding('NotChecked', 'the operator has no custom resources');
  const all: Count = { total: 0, inError: 0, stale: 0 };
  const unread: Finding[] = [];
  for (const kind of profile.kinds) {
    try {
      await count(input, kind, all);
    } catch (error) {
      unread.push(unreadable(kind, error));
    }
  }
  return worst([...judge(all, thresholds), ...unread, healthy]);
}

function judge({ total, inError, stale, example }: Count, thresholds: ReconciliationThresholds): Finding[] {
  const found: Finding[] = [];
  if (stale > 0) {
    const minutes = thresholds.staleAfterMilliseconds / 60_000;
    found.push(
      finding('Unhealthy', `custom resources are not reconciled for more than ${minutes} min, for example ${example}`),
    );
  }
  // A rate of 100 % disables the check; otherwise "less than 5 %" is taken literally.
  const { maxErrorRate } = thresholds;
  if (inError > 0 && maxErrorRate < 1 && inError / total >= maxErrorRate) {
    const percent = Math.round(maxErrorRate * 1000) / 10;
    found.push(
      finding('Unhealthy', `${percent} % or more of the custom resources report an error, for example ${example}`),
    );
  }
  return found;
}

async function count({ objects, thresholds, staleness, now }: ReconciliationInput, kind: CustomKind, all: Count) {
  const errors = new Set(thresholds.errorConditions);
  let reports = kind.reportsGeneration;
  /** Objects without observedGeneration, until it is known whether others of the kind have it. */
  let silent: CustomResource[] = [];
  const age = (object: CustomResource) => {
    const behind = staleness.behindFor(object, reports, now);
    if (behind === undefined || behind <= thresholds.staleAfterMilliseconds) return;
    all.stale += 1;
    all.example ??= nameOf(kind, object);
  };
  await objects.eachCustomResource(kind.resource, (object) => {
    if (object.metadata.deletionTimestamp !== undefined) return;
    all.total += 1;
    if (isInError(object, errors)) {
      all.inError += 1;
      all.example ??= nameOf(kind, object);
    }
    if (!kind.countsGenerations) return;
    if (reports) return age(object);
    if (observedGeneration(object) === undefined) return void (silent.length < mostSilent && silent.push(object));
    reports = true;
    age(object);
    for (const each of silent) age(each);
    silent = [];
  });
}

/** Enough to detect a controller that has stopped. */
const mostSilent = 1_000;

const isInError = ({ status }: CustomResource, types: ReadonlySet<string>): boolean =>
  Array.isArray(status?.conditions) &&
  status.conditions.some((each) => each?.status === 'False' && types.has(each.type ?? ''));

const nameOf = ({ resource: { kind } }: CustomKind, { metadata: { namespace, name } }: CustomResource): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

function unreadable({ definition }: CustomKind, error: unknown): Finding {
  if (isNotFound(error)) return finding('Unhealthy', `${definition} is not served`);
  if (isForbidden(error))
    return finding('Unknown', `${definition}: the platform has no permission to list its objects`);
  if (error instanceof ApiError && /conversion webhook/.test(error.message)) {
    return finding('Unhealthy', `${definition}: its conversion webhook does not respond`);
  }
  throw error;
}
