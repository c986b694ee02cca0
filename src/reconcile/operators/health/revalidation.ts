/**
 * Revalidates completed rollouts: while a rollback is still possible, a rollout whose installations reach the failure
 * threshold gets the condition `Degraded`, and the rollout reconciler rolls it back (kargo#5144). The decision uses
 * only statuses, so a restart loses nothing. A version that was restored by another rollback does not count: the other
 * rollout is the cause, and one rollback must not trigger the next, back through the whole history.
 */
import {
  type Cluster,
  cluster,
  millisecondsOf,
  type OperatorDeployment,
  type OperatorInstallation,
  operatorDeployment,
  operatorInstallation,
} from '../../../api/index.ts';
import {
  applyConditions,
  type Condition,
  controllerManagedBy,
  type DesiredCondition,
  getCondition,
  type KubernetesObject,
  type Manager,
} from '../../../runtime/index.ts';

export const DEGRADED = 'Degraded';
/** The reason if no more clusters fail than spec.maxFailures allows: nothing is rolled back. */
export const TOLERATED = 'WithinMaxFailures';
export const defaultFailureThreshold = 3;

const fieldManager = 'kidp-health';

/** An index of OperatorInstallations by the rollout that made them. */
const deploymentIndex = {
  'kidp-deployment': (object: KubernetesObject): string[] => {
    const { deployment } = (object as OperatorInstallation).spec;
    return deployment === undefined ? [] : [deployment];
  },
};

export function addRevalidation(manager: Manager, options: { readonly windowMilliseconds: number }): void {
  controllerManagedBy(manager, 'operator-revalidation')
    .for<OperatorDeployment>(operatorDeployment.resource)
    .watches<OperatorInstallation>(
      operatorInstallation.resource,
      ({ spec }) => (spec.deployment === undefined ? [] : [{ name: spec.deployment }]),
      { indexes: deploymentIndex },
    )
    .complete(async ({ name }, { client, read }) => {
      const object = await read.get<OperatorDeployment>(operatorDeployment.resource, { name });
      if (object === undefined) return;
      const clusters = manager.caches.store<Cluster>(cluster.resource);
      const installations = read
        .store<OperatorInstallation>(operatorInstallation.resource)
        .byIndex('kidp-deployment', name)
        // On a paused Cluster users change things on purpose, so its health says nothing about the rollout.
        .filter(({ spec }) => clusters.get({ name: spec.cluster })?.spec.paused !== true);
      const now = manager.clock.now();
      const condition = degradedBy(object, installations, { now, ...options });
      if (condition === undefined) return;
      const typed = object as OperatorDeployment & { status?: { conditions?: Condition[] } };
      await applyConditions(client, operatorDeployment.resource, typed, [condition], {
        fieldManager,
        now: new Date(now),
      });
    });
}

/** The condition Degraded, or undefined if it does not change. */
export function degradedBy(
  { spec, status, metadata }: OperatorDeployment,
  installations: readonly OperatorInstallation[],
  { now, windowMilliseconds }: { readonly now: number; readonly windowMilliseconds: number },
): DesiredCondition | undefined {
  if (status?.phase !== 'Completed' || metadata.deletionTimestamp !== undefined) return undefined;
  const finished = Date.parse(status.finishedAt ?? '');
  if (Number.isNaN(finished) || now - finished > rollbackWindow(spec, windowMilliseconds)) return undefined;
  const threshold = spec.health.failureThreshold;
  const failing = installations.filter(
    (each) =>
      isStillOf(status, each) &&
      each.status?.health === 'Unhealthy' &&
      each.status.observedGeneration === (each.metadata.generation ?? 0) &&
      (each.status.failuresInRow ?? 0) >= threshold,
  );
  const known = getCondition(status.conditions as Condition[] | undefined, DEGRADED);
  const observedGeneration = metadata.generation ?? 0;
  if (failing.length > 0) {
    const names = failing.map((each) => each.spec.cluster).sort();
    const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''}`;
    const why = failing[0]?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    const message = `unhealthy since completion, ${threshold} failed checks in a row on ${some}: ${why}`;
    // Clusters that failed during the rollout count too.
    const failed = (status.clusters ?? []).filter(({ state }) => state === 'RolledBack' || state === 'Failed');
    const isTolerated = failing.length + failed.length <= (spec.maxFailures ?? 0);
    const reason = isTolerated ? TOLERATED : 'Unhealthy';
    return { type: DEGRADED, status: 'True', reason, message, observedGeneration };
  }
  if (known?.status !== 'True') return undefined;
  const message = 'all installations are healthy again';
  return { type: DEGRADED, status: 'False', reason: 'Healthy', message, observedGeneration };
}

/** Whether the installation is from this rollout, and not restored by a rollback of a later one. */
const isStillOf = ({ clusters = [] }: NonNullable<OperatorDeployment['status']>, { spec }: OperatorInstallation) =>
  spec.restoredBy === undefined &&
  clusters.some(
    ({ name, state, snapshot }) =>
      name === spec.cluster &&
      // A cluster that was set aside at completion counts once it is reachable again.
      (state === 'Healthy' || state === 'Validating') &&
      snapshot === spec.snapshot,
  );

/** How long a rollback is possible: as long as the previous version is kept. */
function rollbackWindow({ blueGreenConfig }: OperatorDeployment['spec'], windowMilliseconds: number): number {
  const { retentionPeriod } = blueGreenConfig ?? {};
  return retentionPeriod === undefined ? windowMilliseconds : millisecondsOf(retentionPeriod);
}
