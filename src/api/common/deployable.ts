/** The spec that all broker-managed kinds share: owner, target, fields of the kind, dependencies. */
import { boolean, type Fields, immutable, object, setOnce } from '../schema/index.ts';
import { costTags, dependencies, owner, sharedWith, targetRef } from './references.ts';

/** The CRD rule that also holds while the webhook is unavailable. */
const ownerNeverChanges = immutable(
  'owner',
  'spec.owner is fixed at creation: it cannot be changed, added or removed; to change the owner, create the object again under the new owner and delete this one',
);

const targetNeverMoves = setOnce(
  'targetRef',
  'spec.targetRef cannot be changed once it is set: to change the target, create the object again with the other target and delete this one',
);

/** `ownedSpec` builds a spec with an owner, the fields of the kind, dependencies and cost tags. */
export function ownedSpec<const F extends Fields>(description: string, fields: F) {
  return object(description, {
    owner: owner.optional(),
    ...fields,
    dependencies: dependencies.optional(),
    costTags: costTags.optional(),
  }).rules(ownerNeverChanges);
}

/** `deployableSpec` builds the spec of a kind that a broker provisions. */
export function deployableSpec<const F extends Fields>(description: string, fields: F) {
  return object(description, {
    owner: owner.optional(),
    targetRef: targetRef.optional(),
    ...fields,
    dependencies: dependencies.optional(),
    sharedWith: sharedWith.optional(),
    costTags: costTags.optional(),
    urgent: boolean(
      'Sends the request to the broker directly over HTTP, if the broker supports it, instead of queueing it.',
    ).optional(),
  }).rules(ownerNeverChanges, targetNeverMoves);
}
