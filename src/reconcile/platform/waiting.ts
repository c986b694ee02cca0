/** An owner goes last: what it says while it waits. */
import type { DesiredCondition } from '../../runtime/index.ts';
import { firstNames } from './ownership.ts';

export function waitingForOwned(names: readonly string[]): DesiredCondition {
  const [resources, them] =
    names.length === 1 ? ['1 resource still belongs', 'it'] : [`${names.length} resources still belong`, 'them'];
  return {
    type: 'Ready',
    status: 'False',
    reason: 'WaitingForOwnedResources',
    message: `It is being deleted, and goes when nothing belongs to it: ${resources} to it (${firstNames(names)}). Delete ${them}; nothing is deleted because its owner is`,
  };
}
