/**
 * Conditions of a status as values: functions take the current and the desired conditions, and return the merged ones and whether
 * they differ. A transition time moves only when the status does, and setting an equal condition is no change, so a caller that
 * writes only on `changed` never flaps.
 */
import type { Client } from '../client/client.ts';
import { plainText } from '../text.ts';
import { apiVersionOf, type Condition, type KubernetesObject, type ObjectMeta, type Resource } from './object.ts';

/** A condition without its transition time, which is computed. */
export interface DesiredCondition {
  type: string;
  status: Condition['status'];
  reason: string;
  message?: string;
  observedGeneration?: number;
}

interface ConditionsChange {
  readonly conditions: Condition[];
  /** Whether anything differs from the current conditions: if not, there is nothing to write. */
  readonly changed: boolean;
}

export function getCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function hasStatus(
  conditions: readonly Condition[] | undefined,
  type: string,
  status: Condition['status'],
): boolean {
  return getCondition(conditions, type)?.status === status;
}

/**
 * `mergeConditions` sets each desired condition: in place if its type exists, at the end if it is new. Others stay as they are.
 *
 * @example
 * import { mergeConditions } from 'kidp/runtime';
 *
 * const ready = { type: 'Ready', status: 'True' as const, reason: 'Deployed', observedGeneration: 2 };
 * const { conditions, changed } = mergeConditions([], [ready]);
 * console.log(changed, conditions[0]?.lastTransitionTime);
 */
export function mergeConditions(
  current: readonly Condition[] | undefined,
  desired: readonly DesiredCondition[],
  now: Date = new Date(),
): ConditionsChange {
  const conditions = [...(current ?? [])];
  let changed = false;
  for (const wanted of desired) {
    const index = conditions.findIndex((condition) => condition.type === wanted.type);
    const known = conditions[index];
    const next = transition(known, wanted, now);
    if (next === known) continue;
    changed = true;
    if (index < 0) conditions.push(next);
    else conditions[index] = next;
  }
  return { conditions, changed };
}

export function setCondition(
  current: readonly Condition[] | undefined,
  desired: DesiredCondition,
  now: Date = new Date(),
): ConditionsChange {
  return mergeConditions(current, [desired], now);
}

export function removeCondition(current: readonly Condition[] | undefined, type: string): ConditionsChange {
  const conditions = (current ?? []).filter((condition) => condition.type !== type);
  return { conditions, changed: conditions.length !== (current ?? []).length };
}

export interface SummaryOptions {
  /** The type of the summary. */
  type?: string;
  /** The summarized conditions, most important first. A missing one counts as unknown. */
  of: readonly string[];
  /** Summarized conditions that are bad when True (`Stalled`, `Degraded`). A missing one is fine. */
  badWhenTrue?: readonly string[];
  /** The reason if every condition is good. */
  reason?: string;
  observedGeneration?: number;
}

/**
 * `summarize` derives one condition from several: False if one is bad, else Unknown if one is unknown, else True. Reason and message
 * are those of the first decisive one. A condition of an older generation counts as unknown.
 */
export function summarize(conditions: readonly Condition[] | undefined, options: SummaryOptions): DesiredCondition {
  const { type = 'Ready', of, badWhenTrue = [], reason = 'ResourceReady', observedGeneration } = options;
  const generation = observedGeneration === undefined ? {} : { observedGeneration };
  const judged = [
    ...of.map((name) => judge(name, getCondition(conditions, name), 'True', observedGeneration)),
    ...badWhenTrue.flatMap((name) => {
      const known = getCondition(conditions, name);
      return known === undefined ? [] : [judge(name, known, 'False', observedGeneration)];
    }),
  ];
  const decisive = judged.find(({ status }) => status === 'False') ?? judged.find(({ status }) => status === 'Unknown');
  return decisive === undefined
    ? { type, status: 'True', reason, message: '', ...generation }
    : { type, ...decisive, ...generation };
}

interface ApplyConditionsOptions {
  /** The field manager that owns the desired conditions; those of other managers stay. */
  fieldManager: string;
  now?: Date;
  signal?: AbortSignal;
}

/**
 * Writes the desired conditions to the object's status by server-side apply, and only if something changes. The list must
 * be a map by `type` in the schema, as it is in every kind of Kubernetes and of ours, so that each manager owns its own. A
 * condition that the same manager applied before and that is not among the desired is removed, as apply does. Whose a
 * condition is, managedFields say; an object from a cache has none, so where it has other conditions the server is asked
 * with the write itself, which changes nothing there unless one of them was ours.
 *
 * The write names the resourceVersion of the object it was worked out from: on an old one, a transition time could move though
 * the status did not, or the status could land on another object of the same name. Then it is a conflict: come again.
 */
export async function applyConditions<T extends KubernetesObject & { status?: { conditions?: Condition[] } }>(
  client: Client,
  resource: Resource,
  object: T,
  desired: readonly DesiredCondition[],
  { fieldManager, now = new Date(), signal }: ApplyConditionsOptions,
): Promise<{ object: T; changed: boolean }> {
  const { conditions, changed } = mergeConditions(object.status?.conditions, desired, now);
  const others = conditions.filter(({ type }) => !desired.some((wanted) => wanted.type === type));
  const mayBeOurs = others.some(({ type }) => appliedBy(fieldManager, object.metadata)?.has(type) ?? true);
  if (!changed && !mayBeOurs) return { object, changed };
  const { name, namespace, resourceVersion } = object.metadata;
  const body = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    status: { conditions: conditions.filter((condition) => !others.includes(condition)) },
  };
  const applied = await client.apply(resource, body as unknown as T, {
    subresource: 'status',
    fieldManager,
    force: true,
    ...(signal === undefined ? {} : { signal }),
  });
  return { object: applied, changed: changed || applied.metadata.resourceVersion !== resourceVersion };
}

/** The types of the conditions that the manager has applied; undefined where managedFields were stripped. */
function appliedBy(fieldManager: string, { managedFields }: ObjectMeta): Set<string> | undefined {
  if (managedFields === undefined) return undefined;
  const applied = managedFields.filter(
    ({ manager, operation, subresource }) =>
      manager === fieldManager && operation === 'Apply' && subresource === 'status',
  );
  const keys = applied.flatMap(({ fieldsV1 }) => {
    const status = fieldsV1?.['f:status'] as { 'f:conditions'?: object } | undefined;
    return Object.keys(status?.['f:conditions'] ?? {});
  });
  // k:{"type":"Ready"}, and "." for the list itself.
  return new Set(keys.filter((key) => key.startsWith('k:')).map((key) => String(JSON.parse(key.slice(2)).type)));
}

function transition(known: Condition | undefined, wanted: DesiredCondition, now: Date): Condition {
  const message = plainText(wanted.message ?? '');
  const observedGeneration = wanted.observedGeneration ?? known?.observedGeneration;
  if (
    known !== undefined &&
    known.status === wanted.status &&
    known.reason === wanted.reason &&
    known.message === message &&
    known.observedGeneration === observedGeneration
  ) {
    return known;
  }
  return {
    type: wanted.type,
    status: wanted.status,
    reason: wanted.reason,
    message,
    lastTransitionTime: known?.status === wanted.status ? known.lastTransitionTime : secondsOf(now),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  };
}

function judge(
  name: string,
  condition: Condition | undefined,
  good: 'True' | 'False',
  generation: number | undefined,
): Pick<DesiredCondition, 'status' | 'reason' | 'message'> {
  if (condition === undefined) return { status: 'Unknown', reason: 'Pending', message: `${name} is not known yet` };
  const stale = generation !== undefined && (condition.observedGeneration ?? generation) < generation;
  if (stale) {
    return { status: 'Unknown', reason: 'Pending', message: `${name} is not known yet for generation ${generation}` };
  }
  const { reason, message } = condition;
  if (condition.status === 'Unknown') return { status: 'Unknown', reason, message };
  return { status: condition.status === good ? 'True' : 'False', reason, message };
}

/** metav1.Time: whole seconds. */
function secondsOf(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
