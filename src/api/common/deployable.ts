/** The pattern that all broker-managed kinds share: owner, target and dependencies above, what the kind adds below. */
import { boolean, type Fields, immutable, object, setOnce } from '../schema/index.ts';
import { costTags, dependencies, owner, sharedWith, targetRef } from './references.ts';

/** The second line behind the webhook: it also holds where no webhook is asked. */
const ownerNeverChanges = immutable(
  'owner',
  'spec.owner is fixed at creation: it cannot be changed, added or removed; to move this to another owner, create it anew under the new owner and delete this one',
);

const targetNeverMoves = setOnce(
  'targetRef',
  'spec.targetRef cannot be changed once it is set: to move this elsewhere, create it anew with the other target and delete this one',
);

/** A spec with an owner. What the kind adds stands between whom it belongs to and what it uses. */
export function ownedSpec<const F extends Fields>(description: string, fields: F) {
  return object(description, {
    owner: owner.optional(),
    ...fields,
    dependencies: dependencies.optional(),
    costTags: costTags.optional(),
  }).rules(ownerNeverChanges);
}

/** A spec that a broker brings about. */
export function deployableSpec<const F extends Fields>(description: string, fields: F) {
  return object(description, {
    owner: owner.optional(),
    targetRef: targetRef.optional(),
    ...fields,
    dependencies: dependencies.optional(),
    sharedWith: sharedWith.optional(),
    costTags: costTags.optional(),
    urgent: boolean(
      'Ask the broker directly over HTTP, where it can be, instead of queueing the deployment.',
    ).optional(),
  }).rules(ownerNeverChanges, targetNeverMoves);
}
