/**
 * Gathers from the caches what a decision needs besides the rollout: its Clusters, its Approvals, the operator's other
 * rollouts.
 */
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
import type { Latest } from '../../../deployable/latest.ts';
import type { RolloutSettings } from '../../settings.ts';
import { matchesRequest } from '../decide/approvals.ts';
import type { RetryTimes } from '../retry-times.ts';
import { type ClusterFacts, type Facts, phaseOf, type Rollout } from '../rollout.ts';

type Stores = <T extends KubernetesObject>(resource: Resource) => ReadonlyStore<T>;

/** An index of the OperatorDeployments by operator. */
export const operatorIndex = { 'rollout-operator': ({ spec }: Rollout): string[] => [spec.operator] };

interface FactsOptions {
  readonly stores: Stores;
  readonly settings: RolloutSettings;
  /** The newest known version of each rollout: the cache lags behind the writes of this process. */
  readonly latest: Pick<Latest<Rollout>, 'of'>;
  readonly retryTimes: Pick<RetryTimes, 'notBefore'>;
}

export function factsOf(object: Rollout, { stores, settings, latest, retryTimes }: FactsOptions): Facts {
  const { spec, metadata } = object;
  const clusters = stores<Cluster>(cluster.resource);
  const approvals = stores<Approval>(approval.resource);
  const installations = stores<OperatorInstallation>(operatorInstallation.resource);
  const installed = (name: string) => installations.get({ name: installationName(spec.operator, name) })?.spec;
  const blockedBy = stores<Rollout>(operatorDeployment.resource)
    .byIndex('rollout-operator', spec.operator)
    .map((each) => latest.of(each))
    .find((other) => other.metadata.uid !== metadata.uid && phaseOf(other.status ?? {}) === 'RollingBack');
  return {
    cluster: (name) => clusterFacts(clusters.get({ name })),
    approval: (name) => {
      const found = approvals.get({ name });
      return found !== undefined && matchesRequest(found, object, settings) ? approvalOutcome(found) : undefined;
    },
    installedBy: (name) => installed(name)?.deployment,
    restoredBy: (name) => installed(name)?.restoredBy,
    notBefore: (kind) => retryTimes.notBefore(object, kind),
    ...(blockedBy === undefined ? {} : { blockedBy: blockedBy.metadata.name }),
  };
}

/** A Cluster is available if it is Ready and not paused. A Cluster that was never probed is not available. */
export function clusterFacts(found: Cluster | undefined): ClusterFacts | undefined {
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
  const { metadata, spec, status } = found;
  const known = { uid: metadata.uid ?? '', environment: spec.environment };
  if (spec.paused === true) {
    return { ...known, available: false, paused: true, why: 'Cluster is paused (spec.paused)' };
  }
  const ready = getCondition(status?.conditions as Condition[] | undefined, 'Ready');
  if (ready?.status === 'True') return { ...known, available: true };
  return { ...known, available: false, why: `Cluster is not ready: ${ready?.message ?? 'not probed yet'}` };
}
