/** Determines the workload controllers that a policy for Pods also applies to. */
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
 * By default, a policy that selects Pods only also covers all six workload controllers, because its expressions must be
 * written for a Pod. A policy that also selects other types covers workload controllers only if it lists them.
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
