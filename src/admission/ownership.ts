/**
 * The ownership gate: who owns an object is said once, at its creation (requirement 001, "Immutable after creation"). Billing,
 * lifecycle and approvals hang on it. The CRDs carry the same rule as a second line, for when this webhook is away.
 */
import { GROUP } from '../api/index.ts';
import type { Findings, Gate, Violation } from './gates.ts';
import { type AdmissionRequest, isObject, type Json } from './review.ts';

export const ownershipGate: Gate = { name: 'ownership', judge: judgeOwnership };

const ownerKinds: readonly unknown[] = ['Team', 'Application'];

function judgeOwnership(request: AdmissionRequest): Findings {
  const { operation, object, oldObject } = request;
  if (!isOurs(request) || object === undefined) return found([]);
  const after = ownerOf(object, request.namespace);
  if (operation === 'CREATE') return found(after === undefined ? [] : wrongOwner(after));
  if (operation !== 'UPDATE' || oldObject === undefined) return found([]);
  const before = ownerOf(oldObject, request.namespace);
  // An owner that was wrong before cannot be put right by a change; refusing every update would only keep it from going.
  return found(isSame(before, after) ? [] : [changed(before, after)]);
}

interface Owner {
  readonly kind: unknown;
  readonly name: unknown;
  /** Never absent for an Application: its own namespace where none is written. A Team is cluster-scoped and has none. */
  readonly namespace: unknown;
}

/** Whichever of the two the API server has converted to. */
const isOurs = ({ kind, resource }: AdmissionRequest): boolean => kind.group === GROUP || resource?.group === GROUP;

function ownerOf(object: Json, requestNamespace: string | undefined): Owner | undefined {
  const owner = isObject(object.spec) ? object.spec.owner : undefined;
  if (owner === undefined || owner === null) return undefined;
  if (!isObject(owner)) return { kind: owner, name: undefined, namespace: undefined };
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const written = owner.namespace === '' || owner.namespace === null ? undefined : owner.namespace;
  const own = owner.kind === 'Application' ? (metadata.namespace ?? requestNamespace) : undefined;
  return { kind: owner.kind, name: owner.name, namespace: written ?? own };
}

function isSame(before: Owner | undefined, after: Owner | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return equal(before.kind, after.kind) && equal(before.name, after.name) && equal(before.namespace, after.namespace);
}

/** These are strings; where a user has written something else, any difference in it counts. */
const equal = (one: unknown, other: unknown): boolean => one === other || JSON.stringify(one) === JSON.stringify(other);

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

const changed = (before: Owner | undefined, after: Owner | undefined): Violation => ({
  gate: 'ownership',
  code: 'OwnerImmutable',
  field: 'spec.owner',
  message: `spec.owner is immutable: ${described(before)} → ${described(after)}`,
  next: 'Create a new object under the new owner and delete this one',
});

function described(owner: Owner | undefined): string {
  if (owner === undefined) return 'no owner';
  const { kind, name, namespace } = owner;
  return `${word(kind)} ${namespace === undefined ? '' : `${word(namespace)}/`}${word(name)}`;
}

/** As it is where it is a word, else as JSON: `Team`, but `["Team"]`. */
const word = (value: unknown): string => (typeof value === 'string' ? bounded(value) : shown(value));

const shown = (value: unknown): string =>
  value === undefined || value === null ? 'missing' : bounded(JSON.stringify(value));

/** A denial is no place for a megabyte that somebody has put where a word belongs. */
const bounded = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 79)}…`);

const found = (violations: readonly Violation[]): Findings => ({ violations, warnings: [], patches: [] });
