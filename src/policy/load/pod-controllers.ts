/** For which kinds that create Pods a policy about Pods also holds. */
import type { Policy } from '../../api/index.ts';
import type { PodControllersModel } from '../model.ts';
import { readResourceType } from './resource-types.ts';

const POD_CONTROLLER_KINDS: readonly string[] = [
  'Deployment',
  'StatefulSet',
  'DaemonSet',
  'ReplicaSet',
  'Job',
  'CronJob',
];

/**
 * Unless the policy says otherwise, one that selects Pods only covers all six workload controllers: its expressions can
 * only have been written for a Pod. One that also names other types was written with those in mind, and holds for
 * controllers only if it says so.
 */
export function readPodControllers(
  resourceTypes: readonly string[],
  written: Policy['spec']['podControllers'],
): PodControllersModel | undefined {
  const types = resourceTypes.map(readResourceType);
  const pods = types.filter(
    ({ group, kind, subresource }) => group === '' && kind === 'Pod' && subresource === undefined,
  );
  if (pods.length === 0 || (written === undefined && pods.length < types.length)) return undefined;
  const additional = (written?.additional ?? []).map(({ resourceType, path }) => ({
    type: readResourceType(resourceType),
    path,
  }));
  const kinds = written?.kinds ?? POD_CONTROLLER_KINDS;
  return kinds.length === 0 && additional.length === 0 ? undefined : { kinds, additional };
}
