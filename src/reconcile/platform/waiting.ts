/** An owner goes last: what it says while it waits. */
import type { DesiredCondition, KubernetesObject } from '../../runtime/index.ts';
import { firstNames } from './ownership.ts';
import { conditionOf } from './status.ts';

const reason = 'WaitingForOwnedResources';

export function waitingForOwned(names: readonly string[]): DesiredCondition {
  const [resources, them] =
    names.length === 1 ? ['1 resource still belongs', 'it'] : [`${names.length} resources still belong`, 'them'];
  return {
    type: 'Ready',
    status: 'False',
    reason,
    message: `It is being deleted, and goes when nothing belongs to it: ${resources} to it (${firstNames(names)}). Delete ${them}; nothing is deleted because its owner is`,
  };
}

/** Whether it says so already: how many are left may be told a little later. */
export const isWaiting = (object: KubernetesObject): boolean => conditionOf(object, 'Ready')?.reason === reason;
