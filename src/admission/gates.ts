/**
 * The gates that a request passes, in order. Each is a pure function from the request to what it finds; none stops another, so
 * that one denial lists every violation of every gate.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation } from '../runtime/index.ts';
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
  /** What the user can do, without a full stop. */
  readonly next: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly patches: readonly JsonPatchOperation[];
}

export interface Gate {
  readonly name: string;
  judge(request: AdmissionRequest): Findings;
}

export interface Decision extends Findings {
  readonly allowed: boolean;
}

/** Labels, Policies and CRD compatibility take their places after ownership; mutation before it. */
export const gates: readonly Gate[] = [ownershipGate];

/** The one decision function: the webhook, the CLI and whoever else wants to know ask here. */
export function decide(request: AdmissionRequest, through: readonly Gate[] = gates): Decision {
  if (onlyRemovesFinalizers(request)) return { allowed: true, ...nothing };
  const findings = through.map((gate) => gate.judge(request));
  const violations = findings.flatMap((each) => each.violations);
  return {
    allowed: violations.length === 0,
    violations,
    warnings: findings.flatMap((each) => each.warnings),
    // An object that is refused is not changed.
    patches: violations.length === 0 ? findings.flatMap((each) => each.patches) : [],
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
