/** Gathers from the caches what a decision looks at besides the rollout: its clusters, its Approvals, the operator's other rollouts. */
import {
  type Approval,
  approval,
  approvalOutcome,
  type Cluster,
  cluster,
  installationName,
  type OperatorInstallation,
  operatorDeployment,
  operatorInstallation,
} from '../../../../api/index.ts';
import {
  type Condition,
  getCondition,
  type KubernetesObject,
  type ReadonlyStore,
  type Resource,
} from '../../../../runtime/index.ts';
import type { RolloutSettings } from '../../settings.ts';
import { isAskedFor } from '../decide/approvals.ts';
import { type ClusterFacts, type Facts, phaseOf, type Rollout } from '../rollout.ts';

type Stores = <T extends KubernetesObject>(resource: Resource) => ReadonlyStore<T>;

/** On the cache of OperatorDeployments, by the operator. */
export const operatorIndex = { 'rollout-operator': ({ spec }: Rollout): string[] => [spec.operator] };

interface FactsParts {
  readonly stores: Stores;
  readonly settings: RolloutSettings;
  /** The newest that is known of a rollout: the cache is a moment behind our own writes. */
  readonly newest: (rollout: Rollout) => Rollout;
  readonly notBefore: (rollout: Rollout, kind: string) => number;
}

export function factsOf(object: Rollout, { stores, settings, newest, notBefore }: FactsParts): Facts {
  const { spec, metadata } = object;
  const clusters = stores<Cluster>(cluster.resource);
  const approvals = stores<Approval>(approval.resource);
  const installations = stores<OperatorInstallation>(operatorInstallation.resource);
  const installed = (name: string) => installations.get({ name: installationName(spec.operator, name) })?.spec;
  const heldBy = stores<Rollout>(operatorDeployment.resource)
    .byIndex('rollout-operator', spec.operator)
    .map(newest)
    .find((other) => other.metadata.uid !== metadata.uid && phaseOf(other.status ?? {}) === 'RollingBack');
  return {
    cluster: (name) => clusterFacts(clusters.get({ name })),
    approval: (name) => {
      const found = approvals.get({ name });
      return found !== undefined && isAskedFor(found, object, settings) ? approvalOutcome(found) : undefined;
    },
    installedBy: (name) => installed(name)?.deployment,
    restoredBy: (name) => installed(name)?.restoredBy,
    notBefore: (kind) => notBefore(object, kind),
    ...(heldBy === undefined ? {} : { heldBy: heldBy.metadata.name }),
  };
}

/** What has never been looked at, or is not ready, is not worked on. */
export function clusterFacts(found: Cluster | undefined): ClusterFacts | undefined {
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
  const { metadata, spec, status } = found;
  const known = { uid: metadata.uid ?? '', environment: spec.environment };
  if (spec.paused === true) {
    return { ...known, available: false, paused: true, why: 'the Cluster is paused (spec.paused)' };
  }
  const ready = getCondition(status?.conditions as Condition[] | undefined, 'Ready');
  if (ready?.status === 'True') return { ...known, available: true };
  return { ...known, available: false, why: `the Cluster is not ready: ${ready?.message ?? 'nobody has looked yet'}` };
}
