/**
 * The ownership gate: the owner of an object is set at its creation and never changes (docs/requirements.md, 001
 * "Immutable after creation"). Billing, lifecycle and approvals depend on it. The CRDs have the same rule for when the
 * webhook is unavailable.
 */
import { CLEANUP_FINALIZER, deployableKinds, GROUP } from '../../../api/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';
import type { Findings, Violation } from '../../review/findings.ts';
import type { Facts, Gate } from '../gate.ts';
import { asText, describeOwner, longestChain, type Owner, type OwnerChain, ownerOf, shown } from './owner-chain.ts';

export const ownershipGate: Gate = { name: 'ownership', evaluate: checkOwnership };

const ownerKinds: readonly unknown[] = ['Team', 'Application'];
const deployable = new Set(deployableKinds.map(({ kind }) => kind));

function checkOwnership(request: AdmissionRequest, facts: Facts): Findings {
  const { operation, object, oldObject } = request;
  if (!isOurs(request) || object === undefined) return found([]);
  const after = ownerOf(object, request.namespace);
  if (operation === 'CREATE') {
    const wrong = after === undefined ? [] : wrongOwner(after);
    return found([...wrong, ...wrongChain(facts.chain)], warningsOf(facts.chain));
  }
  if (operation !== 'UPDATE' || oldObject === undefined) return found([]);
  const before = ownerOf(oldObject, request.namespace);
  // An invalid stored owner cannot be fixed by an update, and denying every update would only prevent the deletion.
  const changes = isSame(before, after) ? [] : [changed(before, after)];
  return found(losesFinalizer(request, facts) ? [...changes, finalizerKept] : changes);
}

/** `isOurs` reports whether the request is for a platform kind, before or after conversion. */
export const isOurs = ({ kind, resource }: AdmissionRequest): boolean =>
  kind.group === GROUP || resource?.group === GROUP;

export const isDeployable = ({ kind }: AdmissionRequest): boolean => kind.group === GROUP && deployable.has(kind.kind);

export const finalizersOf = ({ metadata }: Json): readonly unknown[] =>
  isObject(metadata) && Array.isArray(metadata.finalizers) ? metadata.finalizers : [];

export const isReconciler = ({ userInfo }: AdmissionRequest, { reconcilers }: Facts): boolean =>
  userInfo?.username !== undefined && reconcilers.includes(userInfo.username);

function isSame(before: Owner | undefined, after: Owner | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  if (before.bare !== after.bare) return false;
  return equal(before.kind, after.kind) && equal(before.name, after.name) && equal(before.namespace, after.namespace);
}

/** Compares two values. They are strings in valid objects; in others any difference counts. */
const equal = (one: unknown, other: unknown): boolean => one === other || asText(one) === asText(other);

function wrongOwner({ kind, name }: Owner): Violation[] {
  const violations: Violation[] = [];
  if (!ownerKinds.includes(kind)) {
    violations.push({
      gate: 'ownership',
      code: 'OwnerKindInvalid',
      field: 'spec.owner.kind',
      message: `spec.owner.kind is ${shown(kind)}, want Team or Application`,
      next: 'Set the Team that is responsible for this object, or the Application that it belongs to',
    });
  }
  if (typeof name !== 'string' || name === '') {
    violations.push({
      gate: 'ownership',
      code: 'OwnerNameMissing',
      field: 'spec.owner.name',
      message: `spec.owner.name is ${shown(name)}, want the name of the owner`,
      next: 'Set it to the metadata.name of the owner',
    });
  }
  return violations;
}

function wrongChain({ end, path, foreign }: OwnerChain): Violation[] {
  const violations: Violation[] = [];
  if (end === 'cycle') {
    violations.push({
      gate: 'ownership',
      code: 'OwnerCycle',
      field: 'spec.owner',
      message: `spec.owner forms a cycle: ${path.join(' → ')}`,
      next: 'Set a Team as the owner of one of them',
    });
  }
  if (end === 'long') {
    violations.push({
      gate: 'ownership',
      code: 'OwnerChainTooLong',
      field: 'spec.owner',
      message: `spec.owner does not resolve to a Team within ${longestChain} steps: ${path[0]} → … → ${path.at(-1)}`,
      next: 'Set an owner that is closer to its Team',
    });
  }
  if (foreign !== undefined) {
    violations.push({
      gate: 'ownership',
      code: 'OwnerOfAnotherTeam',
      field: 'spec.owner',
      message: `spec.owner is ${foreign.owner}, but this object is in namespace ${foreign.namespace}`,
      next: 'Set an owner of the team that owns this namespace, or create the object in the namespace of its owner',
    });
  }
  return violations;
}

/**
 * Manifests can be applied in any order: a missing owner is a warning, and the reconciler waits for it and checks
 * again.
 */
function warningsOf({ end, path }: OwnerChain): string[] {
  if (end !== 'missing') return [];
  return [`ownership: ${path.at(-1)} does not exist (yet); the object is not deployed until it does`];
}

const changed = (before: Owner | undefined, after: Owner | undefined): Violation => ({
  gate: 'ownership',
  code: 'OwnerImmutable',
  field: 'spec.owner',
  // The message must not contain "is immutable": Flux with `force: true` deletes and re-creates objects that are denied
  // with these words.
  message: `spec.owner cannot be changed after creation: ${described(before)} → ${described(after)}`,
  next: 'Create a new object under the new owner and delete this one',
});

const described = (owner: Owner | undefined): string => (owner === undefined ? 'no owner' : describeOwner(owner));

/**
 * Reports whether an update removes the cleanup finalizer. Without it, deployed resources would be orphaned. Updates
 * that only remove finalizers of a deleted object do not get here.
 */
function losesFinalizer(request: AdmissionRequest, facts: Facts): boolean {
  const { object, oldObject, userInfo, subResource } = request;
  if (object === undefined || oldObject === undefined || subResource !== undefined || userInfo === undefined)
    return false;
  return (
    isDeployable(request) &&
    finalizersOf(oldObject).includes(CLEANUP_FINALIZER) &&
    !finalizersOf(object).includes(CLEANUP_FINALIZER) &&
    !isReconciler(request, facts)
  );
}

const finalizerKept: Violation = {
  gate: 'ownership',
  code: 'FinalizerProtected',
  field: 'metadata.finalizers',
  message: `only the platform removes the finalizer ${CLEANUP_FINALIZER}, after the deployed resources are removed`,
  next: 'Delete the object; the platform cleans up and removes the finalizer',
};

const found = (violations: readonly Violation[], warnings: readonly string[] = []): Findings => ({
  violations,
  warnings,
  patches: [],
});
