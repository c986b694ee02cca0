/**
 * The gates that a request passes, in order. Each is a pure function from the request to what it finds; none stops another, so
 * that one denial lists every violation of every gate.
 */

import { isDeepStrictEqual } from 'node:util';
import { type AdmissionRequest, type GroupVersionKind, isObject, type Json } from '../review/decode.ts';
import { type Decision, decisionOf, nothing } from '../review/findings.ts';
import { approvalsGate } from './approvals/gate.ts';
import { type Facts, type Gate, noFacts } from './gate.ts';
import { labelsGate } from './labels.ts';
import { requesterGate } from './operators/requester.ts';
import { ownershipGate } from './ownership/gate.ts';

/** The platform's own. Mutation comes before them (mutate.ts), Policies and CRD compatibility after (judge.ts). */
export const gates: readonly Gate[] = [ownershipGate, labelsGate, approvalsGate, requesterGate];

/** What the platform's own gates say: the webhook, the CLI and whoever else wants to know ask here. */
export function decide(request: AdmissionRequest, through: readonly Gate[] = gates, facts: Facts = noFacts): Decision {
  if (onlyRemovesFinalizers(request)) return { allowed: true, ...nothing };
  return decisionOf(through.map((gate) => gate.evaluate(request, facts)));
}

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
