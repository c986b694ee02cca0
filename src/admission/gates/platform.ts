/**
 * The platform gates, in order. Each is a pure function from a request to its findings. No gate stops another, so that
 * one denial lists every violation.
 */

import { isDeepStrictEqual } from 'node:util';
import { type AdmissionRequest, type GroupVersionKind, isObject, type Json } from '../review/decode.ts';
import { type Decision, decisionOf, nothing } from '../review/findings.ts';
import { approvalsGate } from './approvals/gate.ts';
import { type Facts, type Gate, noFacts } from './gate.ts';
import { hostsGate } from './hosts/gate.ts';
import { labelsGate } from './labels.ts';
import { requesterGate } from './operators/requester.ts';
import { ownershipGate } from './ownership/gate.ts';

/**
 * The platform gates. The mutation precedes them (platform-mutation.ts), the policies and the asynchronous gates follow
 * (pipeline.ts).
 */
export const gates: readonly Gate[] = [ownershipGate, labelsGate, hostsGate, approvalsGate, requesterGate];

/** `decide` evaluates the platform gates for the webhook, the CLI and other callers. */
export function decide(request: AdmissionRequest, through: readonly Gate[] = gates, facts: Facts = noFacts): Decision {
  if (onlyRemovesFinalizers(request)) return { allowed: true, ...nothing };
  return decisionOf(through.map((gate) => gate.evaluate(request, facts)));
}

/**
 * `onlyRemovesFinalizers` reports whether an update only removes finalizers of an object that is being deleted. Such an
 * update is always admitted, so that invalid objects can be deleted.
 */
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
 * Splits an object into its finalizers and all other fields that a user can change, without those that the API server
 * writes on every update. A Namespace also has finalizers in its spec; the last one is removed when the Namespace is
 * empty.
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
