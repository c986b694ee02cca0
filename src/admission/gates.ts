/**
 * The gates that a request passes, in order. Each is a pure function from the request to what it finds; none stops another, so
 * that one denial lists every violation of every gate.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation } from '../policy/index.ts';
import { labelsGate } from './labels.ts';
import { type OwnerChain, unknownChain } from './owners.ts';
import { ownershipGate } from './ownership.ts';
import { type AdmissionRequest, isObject, type Json } from './review.ts';

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
export const gates: readonly Gate[] = [ownershipGate, labelsGate];

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
export function onlyRemovesFinalizers({ operation, object, oldObject }: AdmissionRequest): boolean {
  if (operation !== 'UPDATE' || object === undefined || oldObject === undefined) return false;
  const { metadata: before, ...restBefore } = oldObject;
  const { metadata: after, ...restAfter } = object;
  if (!isObject(before) || !isObject(after) || typeof before.deletionTimestamp !== 'string') return false;
  const remaining = listOf(after.finalizers);
  const present = listOf(before.finalizers);
  return (
    remaining.length < present.length &&
    remaining.every((finalizer) => present.includes(finalizer)) &&
    isDeepStrictEqual(withoutBookkeeping(before), withoutBookkeeping(after)) &&
    isDeepStrictEqual(restBefore, restAfter)
  );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The API server writes these with every update, whatever the user changes. */
function withoutBookkeeping(metadata: Json): Json {
  const { finalizers, managedFields, resourceVersion, generation, ...rest } = metadata;
  return rest;
}
