/**
 * The ownership gate: who owns an object is said once, at its creation (requirement 001, "Immutable after creation"). Billing,
 * lifecycle and approvals hang on it. The CRDs carry the same rule as a second line, for when this webhook is away.
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
  // An owner that was wrong before cannot be put right by a change; refusing every update would only keep it from going.
  const changes = isSame(before, after) ? [] : [changed(before, after)];
  return found(losesFinalizer(request, facts) ? [...changes, finalizerKept] : changes);
}

/** Whichever of the two the API server has converted to. */
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

/** These are strings; where a user has written something else, any difference in it counts. */
const equal = (one: unknown, other: unknown): boolean => one === other || asText(one) === asText(other);

function wrongOwner({ kind, name }: Owner): Violation[] {
  const violations: Violation[] = [];
  if (!ownerKinds.includes(kind)) {
    violations.push({
      gate: 'ownership',
      code: 'OwnerKindInvalid',
      field: 'spec.owner.kind',
      message: `spec.owner.kind is ${shown(kind)}, and only a Team or an Application can own something`,
      next: 'Name the Team that answers for this object, or the Application that it belongs to',
    });
  }
  if (typeof name !== 'string' || name === '') {
    violations.push({
      gate: 'ownership',
      code: 'OwnerNameMissing',
      field: 'spec.owner.name',
      message: `spec.owner.name is ${shown(name)}, and an owner needs a name`,
      next: 'Give the metadata.name of the owner',
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
      message: `spec.owner leads back to where it began: ${path.join(' → ')}`,
      next: 'Let one of them be owned by a Team',
    });
  }
  if (end === 'long') {
    violations.push({
      gate: 'ownership',
      code: 'OwnerChainTooLong',
      field: 'spec.owner',
      message: `spec.owner leads to no Team in ${longestChain} steps: ${path[0]} → … → ${path.at(-1)}`,
      next: 'Name an owner that is nearer to its Team',
    });
  }
  if (foreign !== undefined) {
    violations.push({
      gate: 'ownership',
      code: 'OwnerOfAnotherTeam',
      field: 'spec.owner',
      message: `spec.owner is ${foreign.owner}, and this object is in namespace ${foreign.namespace}`,
      next: 'Name an owner of the team that has this namespace, or create the object in the namespace of its owner',
    });
  }
  return violations;
}

/** An unordered apply must work: the owner may come a moment later, and the reconciler waits for it and checks again. */
function warningsOf({ end, path }: OwnerChain): string[] {
  if (end !== 'missing') return [];
  return [`ownership: ${path.at(-1)} does not exist (yet); nothing is deployed before it does`];
}

const changed = (before: Owner | undefined, after: Owner | undefined): Violation => ({
  gate: 'ownership',
  code: 'OwnerImmutable',
  field: 'spec.owner',
  // Not "is immutable": Flux with `force: true` deletes and recreates what is denied in those words.
  message: `spec.owner never changes (immutable since creation): ${described(before)} → ${described(after)}`,
  next: 'Create a new object under the new owner and delete this one',
});

const described = (owner: Owner | undefined): string => (owner === undefined ? 'no owner' : describeOwner(owner));

/** What runs in a cloud would be forgotten there. Who only removes finalizers from what is being deleted never gets here. */
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
  code: 'FinalizerKept',
  field: 'metadata.finalizers',
  message: `only the platform removes the finalizer ${CLEANUP_FINALIZER}, once what was deployed is gone`,
  next: 'Delete the object and let the platform clean up',
};

const found = (violations: readonly Violation[], warnings: readonly string[] = []): Findings => ({
  violations,
  warnings,
  patches: [],
});
