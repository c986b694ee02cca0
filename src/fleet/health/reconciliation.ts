/** Custom resources: taken up by their controller in time, and few of them in error (requirement 002, FR-OP-005). */
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
  /** The first that is stale or in error, to look at. */
  example?: string;
}

export async function checkReconciliation(input: ReconciliationInput): Promise<Finding> {
  const { profile, thresholds } = input;
  if (!thresholds.enabled) return finding('NotChecked', 'the Operator says not to');
  if (profile.kinds.length === 0) return finding('NotChecked', 'it has no custom resources');
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
      finding('Unhealthy', `custom resources wait for longer than ${minutes} min to be reconciled, such as ${example}`),
    );
  }
  // What may be in error all the time is no error; otherwise "less than 5 %" is meant as it is said.
  const { maxErrorRate } = thresholds;
  if (inError > 0 && maxErrorRate < 1 && inError / total >= maxErrorRate) {
    const percent = Math.round(maxErrorRate * 1000) / 10;
    found.push(
      finding('Unhealthy', `${percent} % or more of the custom resources report an error, such as ${example}`),
    );
  }
  return found;
}

async function count({ objects, thresholds, staleness, now }: ReconciliationInput, kind: CustomKind, all: Count) {
  const errors = new Set(thresholds.errorConditions);
  let reports = kind.reportsGeneration;
  /** Those that say nothing, while it is not known yet whether others of their kind do. */
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

/** Enough to notice that a controller stands still. */
const mostSilent = 1_000;

const isInError = ({ status }: CustomResource, types: ReadonlySet<string>): boolean =>
  Array.isArray(status?.conditions) &&
  status.conditions.some((each) => each?.status === 'False' && types.has(each.type ?? ''));

const nameOf = ({ resource: { kind } }: CustomKind, { metadata: { namespace, name } }: CustomResource): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

function unreadable({ definition }: CustomKind, error: unknown): Finding {
  if (isNotFound(error)) return finding('Unhealthy', `${definition} is not served`);
  if (isForbidden(error)) return finding('Unknown', `${definition}: the platform may not list its objects there`);
  if (error instanceof ApiError && /conversion webhook/.test(error.message)) {
    return finding('Unhealthy', `${definition}: its conversion webhook does not answer`);
  }
  throw error;
}
