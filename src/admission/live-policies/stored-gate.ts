/**
 * The gate of the reconcilers: would this object be let in as it is stored now? The platform's own gates and the policies are asked, the
 * same functions as the webhook asks, so that what got in while the webhook was away is found before anything is done about it.
 *
 * An answer is remembered for as long as nothing that it hangs on changes: the object (but for its status), its namespace, the policies and
 * exceptions in force, what they read, and the time at which one of them begins or ends.
 */
import { createHash } from 'node:crypto';
import { decide as decideByPolicies, type StoredType, storedRequest } from '../../policy/index.ts';
import { nextTransition } from '../../policy/internal.ts';
import type { Clock, Resource, UnknownObject } from '../../runtime/index.ts';
import { systemClock } from '../../runtime/index.ts';
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
  /** The policies are not read yet: nobody can say. */
  | { readonly admitted: 'unknown'; readonly reasons: readonly string[] };

export interface StoredGate {
  ask(kind: { readonly resource: Resource }, object: unknown): Promise<StoredAnswer>;
  /** Calls back when answers may be others than before; returns what ends it. */
  subscribe(listener: () => void): () => void;
  stop(): void;
}

export interface StoredGateOptions {
  readonly clock?: Clock;
  /** Answers that are remembered at most. */
  readonly mostAnswers?: number;
}

interface Remembered {
  readonly digest: string;
  readonly answer: StoredAnswer;
}

const unread: StoredAnswer = { admitted: 'unknown', reasons: ['the policies are not read yet'] };
const letIn: StoredAnswer = { admitted: true };
/** Objects that policies read change one after the other: who follows is told once. */
const settleMilliseconds = 250;

export function storedGate(source: LivePolicySource, options: StoredGateOptions = {}): StoredGate {
  const { clock = systemClock, mostAnswers = 50_000 } = options;
  const listeners = new Set<() => void>();
  /** By uid, the one that was asked about longest ago first. */
  const answers = new Map<string, Remembered>();
  let readVersion = 0;
  /** Answers hold until then. */
  let moment = Number.POSITIVE_INFINITY;
  let momentRevision: string | undefined;
  let cancelMoment = () => {};
  let cancelTelling: (() => void) | undefined;

  const tell = () => {
    cancelTelling ??= clock.schedule(settleMilliseconds, () => {
      cancelTelling = undefined;
      for (const listener of listeners) listener();
    });
  };
  const changed = () => {
    readVersion += 1;
    tell();
  };
  const ends = [source.subscribe(tell), source.followObjects(changed)];
  source.whenSynced().then(tell, () => {});

  /** Watches for the next time at which a rule comes into force or an exception runs out. */
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
      const answer = violations.length === 0 ? letIn : { admitted: false as const, reasons: reasonsOf(violations) };
      answers.delete(uid);
      // Who owns what is looked up elsewhere and may change unseen: only what nothing is wrong with is remembered.
      if (answer === letIn) answers.set(uid, { digest, answer });
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
      cancelTelling?.();
      listeners.clear();
    },
  };
}

/** A change of metadata does not raise the generation; a change of anything else but the status does. */
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
  // It is remembered for each of many objects.
  return createHash('sha256').update(text).digest('base64');
}

/** No judgement reads it, and it changes all the time. */
function withoutStatus(object: UnknownObject): UnknownObject {
  const { status, ...rest } = plainMetadata(object);
  return rest as UnknownObject;
}

/** As if it were created now, for then everything about it is looked at. A denial that hangs on a cache is looked up. */
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
    return decide(request, gates, { chain, reconcilers: [] }).violations;
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
