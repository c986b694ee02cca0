/** The condition of an owner that is being deleted and waits for its resources. */
import type { DesiredCondition, KubernetesObject } from '../../runtime/index.ts';
import { firstNames } from './ownership.ts';
import { conditionOf } from './status.ts';

const reason = 'WaitingForOwnedResources';

export function waitingForOwned(names: readonly string[]): DesiredCondition {
  const [resources, them] = names.length === 1 ? ['1 resource is', 'it'] : [`${names.length} resources are`, 'them'];
  return {
    type: 'Ready',
    status: 'False',
    reason,
    message: `Deletion waits for owned resources: ${resources} still owned (${firstNames(names)}). Delete ${them} first; resources are not deleted with their owner`,
  };
}

/** Whether the condition is already set: the number of remaining resources may be updated later. */
export const isWaiting = (object: KubernetesObject): boolean => conditionOf(object, 'Ready')?.reason === reason;
