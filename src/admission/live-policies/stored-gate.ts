/**
 * The check of stored objects for reconcilers: would this object be admitted as it is stored now?
 *
 * It evaluates the same platform gates and policies as the webhook, so that objects that were admitted while the
 * webhook was unavailable are found before they are reconciled. A result is cached until one of its inputs changes: the
 * object (except its status), its namespace, the policies and exceptions in force, the objects that they read, or the
 * time at which one of them starts or expires.
 */
import { createHash } from 'node:crypto';
import { decide as decideByPolicies, type StoredType, storedRequest } from '../../policy/index.ts';
import { nextTransition } from '../../policy/internal.ts';
import type { Clock, Resource, UnknownObject } from '../../runtime/index.ts';
import { systemClock } from '../../runtime/index.ts';
import { hostFactsOf } from '../gates/hosts/gate.ts';
import { resolveChain } from '../gates/ownership/owner-chain.ts';
import { decide, gates } from '../gates/platform.ts';
import { violationOf } from '../gates/policies/evaluation.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import { denialMessage } from '../review/encode.ts';
import type { Violation } from '../review/findings.ts';
import { plainMetadata } from './objects.ts';
import type { LivePolicySource } from './source.ts';

export type StoredAnswer =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly reasons: readonly string[] }
  /** The policies are not synced yet. */
  | { readonly admitted: 'unknown'; readonly reasons: readonly string[] };

export interface StoredGate {
  ask(kind: { readonly resource: Resource }, object: unknown): Promise<StoredAnswer>;
  /** Calls back when results may have changed. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
  stop(): void;
}

export interface StoredGateOptions {
  readonly clock?: Clock;
  /** The maximum number of cached results. */
  readonly mostAnswers?: number;
}

interface Remembered {
  readonly digest: string;
  readonly answer: StoredAnswer;
}

const unread: StoredAnswer = { admitted: 'unknown', reasons: ['the policies are not synced yet'] };
const admitted: StoredAnswer = { admitted: true };
/** Changes in quick succession are notified once. */
const settleMilliseconds = 250;

export function storedGate(source: LivePolicySource, options: StoredGateOptions = {}): StoredGate {
  const { clock = systemClock, mostAnswers = 50_000 } = options;
  const listeners = new Set<() => void>();
  /** Results by UID, the least recently requested first. */
  const answers = new Map<string, Remembered>();
  let readVersion = 0;
  /** The time until which results are valid. */
  let moment = Number.POSITIVE_INFINITY;
  let momentRevision: string | undefined;
  let cancelMoment = () => {};
  let cancelNotification: (() => void) | undefined;

  const notify = () => {
    cancelNotification ??= clock.schedule(settleMilliseconds, () => {
      cancelNotification = undefined;
      for (const listener of listeners) listener();
    });
  };
  const changed = () => {
    readVersion += 1;
    notify();
  };
  const ends = [source.subscribe(notify), source.followObjects(changed)];
  source.whenSynced().then(notify, () => {});

  /** Schedules the next time at which a rule takes effect or an exception expires. */
  const followTime = (now: number) => {
    const { set } = source.current();
    if (set.revision === momentRevision && now < moment) return;
    momentRevision = set.revision;
    if (now >= moment) changed();
    moment = nextTransition(set, set.policies, now) ?? Number.POSITIVE_INFINITY;
    cancelMoment();
    if (moment !== Number.POSITIVE_INFINITY) {
      cancelMoment = clock.schedule(moment - now + 1, () => followTime(clock.now()));
    }
  };

  return {
    async ask({ resource }, stored) {
      if (!source.synced()) return unread;
      const object = withoutStatus(stored as UnknownObject);
      followTime(clock.now());
      const { namespace, uid = '' } = object.metadata;
      if (namespace !== undefined) await source.knowNamespace(namespace);
      const digest = digestOf(object, source, readVersion);
      const known = answers.get(uid);
      if (known?.digest === digest) return known.answer;
      const violations = [
        ...(await ownViolations(object, resource, source)),
        ...policyViolations(object, resource, source),
      ];
      const answer = violations.length === 0 ? admitted : { admitted: false as const, reasons: reasonsOf(violations) };
      answers.delete(uid);
      // Owners are looked up elsewhere and may change unnoticed: only positive results are cached.
      if (answer === admitted) answers.set(uid, { digest, answer });
      const [oldest] = answers.keys();
      if (answers.size > mostAnswers && oldest !== undefined) answers.delete(oldest);
      return answer;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop() {
      for (const end of ends) end();
      cancelMoment();
      cancelNotification?.();
      listeners.clear();
    },
  };
}

/** Computes the cache key. Metadata changes do not increment the generation; all other changes except the status do. */
function digestOf({ metadata }: UnknownObject, source: LivePolicySource, readVersion: number): string {
  const { uid, generation, namespace, labels, annotations, finalizers, ownerReferences, deletionTimestamp } = metadata;
  const { set, world } = source.current();
  const home = namespace === undefined ? undefined : world.namespace(namespace);
  const { resourceVersion } = (home?.metadata ?? {}) as { resourceVersion?: string };
  const text = JSON.stringify([
    uid,
    generation,
    labels,
    annotations,
    finalizers,
    ownerReferences,
    deletionTimestamp,
    resourceVersion,
    set.revision,
    readVersion,
  ]);
  // The key is hashed, because it is kept for each of many objects.
  return createHash('sha256').update(text).digest('base64');
}

/** Drops the status: no rule reads it, and it changes often. */
function withoutStatus(object: UnknownObject): UnknownObject {
  const { status, ...rest } = plainMetadata(object);
  return rest as UnknownObject;
}

/**
 * Evaluates the platform gates as for a creation, which checks everything. A denial is repeated with live reads,
 * because the cache may be stale.
 */
async function ownViolations(
  object: UnknownObject,
  resource: Resource,
  { owners }: LivePolicySource,
): Promise<readonly Violation[]> {
  const { name, namespace } = object.metadata;
  const { group, version, kind, plural } = resource;
  const request: AdmissionRequest = {
    uid: '',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    operation: 'CREATE',
    object,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  };
  const judge = async (live: boolean) => {
    const chain = await resolveChain({ kind, object, namespace, name }, owners, { live });
    const hosts = owners.hosts && (await hostFactsOf(request, owners.hosts, { live }));
    return decide(request, gates, { chain, reconcilers: [], hosts }).violations;
  };
  const violations = await judge(false);
  return violations.length === 0 ? violations : judge(true);
}

function policyViolations(object: UnknownObject, resource: Resource, source: LivePolicySource): readonly Violation[] {
  const type: StoredType = resource;
  const { set, world } = source.current();
  const { results } = decideByPolicies(set, storedRequest(object, type), world);
  return results.filter(({ denies }) => denies).map(violationOf);
}

const reasonsOf = (violations: readonly Violation[]): string[] =>
  violations.map((violation) => denialMessage({ violations: [violation] }));
