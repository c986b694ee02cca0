/**
 * The gates that a request passes, in order. Each is a pure function from the request to what it finds; none stops another, so
 * that one denial lists every violation of every gate.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation } from '../policy/index.ts';
import { approvalsGate } from './crds/approvals.ts';
import { labelsGate } from './labels.ts';
import { requesterGate } from './operators/requester.ts';
import { type OwnerChain, unknownChain } from './owners.ts';
import { ownershipGate } from './ownership.ts';
import { type AdmissionRequest, type GroupVersionKind, isObject, type Json } from './review.ts';

export interface Violation {
  /** The gate that found it. */
  readonly gate: string;
  /** Stable, for programs. */
  readonly code: string;
  /** Path of the field, such as `spec.owner`. */
  readonly field: string;
  /** What is wrong, without a full stop. */
  readonly message: string;
  /** What the user can do, without a full stop; empty where the message says it. */
  readonly next: string;
  /** Of the answer of the API server; left out, `Forbidden`. */
  readonly reason?: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly patches: readonly JsonPatchOperation[];
  /** For the API server's audit log. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

/** What a gate may know besides the request: found out before it is asked, so that it stays a function of values. */
export interface Facts {
  readonly chain: OwnerChain;
  /** The users that the platform's own reconcilers are. */
  readonly reconcilers: readonly string[];
  /** False where nothing is dispatched: nobody would ever take the finalizer off. */
  readonly dispatches?: boolean | undefined;
}

/** Where there is no cluster to ask. */
export const noFacts: Facts = { chain: unknownChain, reconcilers: [] };

export interface Gate {
  readonly name: string;
  judge(request: AdmissionRequest, facts: Facts): Findings;
}

export interface Decision extends Findings {
  readonly allowed: boolean;
}

/** The platform's own. Mutation comes before them (mutate.ts), Policies and CRD compatibility after (judge.ts). */
export const gates: readonly Gate[] = [ownershipGate, labelsGate, approvalsGate, requesterGate];

/** What the platform's own gates say: the webhook, the CLI and whoever else wants to know ask here. */
export function decide(request: AdmissionRequest, through: readonly Gate[] = gates, facts: Facts = noFacts): Decision {
  if (onlyRemovesFinalizers(request)) return { allowed: true, ...nothing };
  return decisionOf(through.map((gate) => gate.judge(request, facts)));
}

/** One decision from what each gate has found. */
export function decisionOf(findings: readonly Findings[]): Decision {
  const violations = findings.flatMap((each) => each.violations);
  const auditAnnotations = Object.assign({}, ...findings.map((each) => each.auditAnnotations ?? {}));
  return {
    allowed: violations.length === 0,
    violations,
    warnings: findings.flatMap((each) => each.warnings),
    // An object that is refused is not changed.
    patches: violations.length === 0 ? findings.flatMap((each) => each.patches) : [],
    ...(Object.keys(auditAnnotations).length === 0 ? {} : { auditAnnotations }),
  };
}

export const nothing: Findings = { violations: [], warnings: [], patches: [] };

/** Whatever is wrong with an object that is being deleted, it must be able to go. */
export function onlyRemovesFinalizers({ operation, kind, object, oldObject }: AdmissionRequest): boolean {
  if (operation !== 'UPDATE' || object === undefined || oldObject === undefined) return false;
  if (!isObject(oldObject.metadata) || typeof oldObject.metadata.deletionTimestamp !== 'string') return false;
  const [before, after] = [parted(oldObject, kind), parted(object, kind)];
  return (
    after.finalizers.length < before.finalizers.length &&
    after.finalizers.every((finalizer) => before.finalizers.includes(finalizer)) &&
    isDeepStrictEqual(before.others, after.others)
  );
}

/**
 * The finalizers of an object, and all else that a user can change: not what the API server writes with every update. A Namespace
 * has finalizers in its spec besides, the last of which goes when it is empty.
 */
function parted(object: Json, { group, kind }: GroupVersionKind) {
  const { metadata, spec, ...rest } = object;
  const { finalizers, managedFields, resourceVersion, generation, ...kept } = isObject(metadata) ? metadata : {};
  if (group !== '' || kind !== 'Namespace' || !isObject(spec))
    return { finalizers: listOf(finalizers), others: { ...rest, spec, metadata: kept } };
  const { finalizers: own, ...ownRest } = spec;
  return {
    finalizers: [...listOf(finalizers), ...listOf(own).map((each) => `spec ${String(each)}`)],
    others: { ...rest, spec: ownRest, metadata: kept },
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
