/**
 * The mutations of the platform: its two labels, the cleanup finalizer on objects that are dispatched to brokers, and
 * the requester and deciders of Approvals and rollouts.
 *
 * Defaults need no patch: the API server applies those of the CRD, which src/api generates, before it calls the
 * webhook. The mutation is idempotent.
 */

import { CLEANUP_FINALIZER, MANAGED_BY, MANAGED_BY_LABEL, TEAM_LABEL } from '../../api/index.ts';
import type { JsonPatchOperation } from '../../policy/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../review/decode.ts';
import { stampApproval } from './approvals/gate.ts';
import type { Facts, PlatformMutation } from './gate.ts';
import { labelsOf } from './labels.ts';
import { stampRequester } from './operators/index.ts';
import { finalizersOf, isDeployable, isOurs, isReconciler } from './ownership/gate.ts';

export function mutateForPlatform(request: AdmissionRequest, facts: Facts): PlatformMutation | undefined {
  const stamped = stampApproval(request, facts) ?? stampRequester(request);
  if (stamped === undefined) return mutateMetadata(request, facts);
  const further = mutateMetadata({ ...request, object: stamped.object }, facts);
  return { ...stamped, ...further, patches: [...stamped.patches, ...(further?.patches ?? [])] };
}

function mutateMetadata(request: AdmissionRequest, facts: Facts): PlatformMutation | undefined {
  const { object, operation, subResource } = request;
  if (!isOurs(request) || subResource !== undefined || (operation !== 'CREATE' && operation !== 'UPDATE'))
    return undefined;
  if (object === undefined || !isObject(object.metadata)) return undefined;
  const labels = missingLabels(request, facts);
  const unproven = hasUnprovenTeam(request, facts);
  const finalizes = lacksFinalizer(request, facts);
  if (labels.length === 0 && !unproven && !finalizes) return undefined;
  const finalizers = [...finalizersOf(object), CLEANUP_FINALIZER];
  const { [TEAM_LABEL]: team, ...others } = labelsOf(object);
  const kept = unproven || team === undefined ? others : { ...others, [TEAM_LABEL]: team };
  return {
    object: {
      ...object,
      metadata: {
        ...object.metadata,
        ...(labels.length === 0 && !unproven ? {} : { labels: { ...kept, ...Object.fromEntries(labels) } }),
        ...(finalizes ? { finalizers } : {}),
      },
    },
    patches: [
      ...labelPatches(object.metadata, labels),
      ...(unproven ? [{ op: 'remove' as const, path: pathOf(TEAM_LABEL) }] : []),
      ...(finalizes ? [finalizerPatch(object.metadata)] : []),
    ],
    warnings: unproven
      ? [`labels: ${TEAM_LABEL} was removed: the owner does not exist yet; the platform sets the label when it does`]
      : [],
  };
}

/**
 * Reports whether the object claims a team while the owner that would prove it does not exist. The label is removed
 * rather than denied: Flux re-applies the same manifest until its owner exists, each time without a change, and the
 * order of the files does not matter.
 *
 * For an untrusted caller no claim is proven: whether the label stays would show which Team an owner belongs to.
 */
function hasUnprovenTeam({ object, oldObject, operation }: AdmissionRequest, { chain, untrusted }: Facts): boolean {
  const claimed = labelsOf(object)[TEAM_LABEL];
  if ((untrusted !== true && chain.end !== 'missing') || claimed === undefined) return false;
  return operation === 'CREATE' || claimed !== labelsOf(oldObject)[TEAM_LABEL];
}

/**
 * Lists the labels to set: missing ones, and stored ones with a wrong value. The labels gate checks values that the
 * request sets.
 */
function missingLabels({ object, oldObject, operation }: AdmissionRequest, facts: Facts): [string, string][] {
  const { chain, untrusted } = facts;
  const [after, before] = [labelsOf(object), operation === 'UPDATE' ? labelsOf(oldObject) : {}];
  const wanted: [string, string][] = [[MANAGED_BY_LABEL, MANAGED_BY]];
  // The reconciler of the label sets it where an untrusted caller must not see it.
  const team = untrusted === true ? before[TEAM_LABEL] : chain.end === 'team' ? chain.team : undefined;
  if (typeof team === 'string') wanted.push([TEAM_LABEL, team]);
  return wanted.filter(([key, value]) => {
    const written = after[key];
    return written === undefined || (written !== value && written === before[key]);
  });
}

function lacksFinalizer(request: AdmissionRequest, facts: Facts): boolean {
  const { object, oldObject } = request;
  if (object === undefined || !isDeployable(request) || isDeleting(object) || isDeleting(oldObject)) return false;
  if (finalizersOf(object).includes(CLEANUP_FINALIZER)) return false;
  const takenAway = oldObject !== undefined && finalizersOf(oldObject).includes(CLEANUP_FINALIZER);
  // A dispatched resource may still be deployed, whichever broker serves now.
  return takenAway ? !isReconciler(request, facts) : facts.dispatches !== false;
}

const isDeleting = (object: Json | undefined): boolean =>
  isObject(object?.metadata) && typeof object.metadata.deletionTimestamp === 'string';

function labelPatches(metadata: Json, labels: readonly [string, string][]): JsonPatchOperation[] {
  if (labels.length === 0) return [];
  if (!isObject(metadata.labels)) {
    return [{ op: 'add', path: '/metadata/labels', value: Object.fromEntries(labels) }];
  }
  return labels.map(([key, value]) => ({ op: 'add', path: pathOf(key), value }));
}

const pathOf = (label: string): string => `/metadata/labels/${label.replaceAll('/', '~1')}`;

const finalizerPatch = (metadata: Json): JsonPatchOperation =>
  Array.isArray(metadata.finalizers)
    ? { op: 'add', path: '/metadata/finalizers/-', value: CLEANUP_FINALIZER }
    : { op: 'add', path: '/metadata/finalizers', value: [CLEANUP_FINALIZER] };
