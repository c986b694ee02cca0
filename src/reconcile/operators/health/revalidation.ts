/**
 * Deployments that were completed and go wrong afterwards: while the way back is still kept, one whose installations fail so often in a
 * row as it allows gets the condition `Degraded`, and whoever rolls out takes it back (kargo#5144). Decided from status alone, so
 * that a restart in between forgets nothing. What another rollout was taken back to does not count: who has broken it is the other one,
 * and one rollback must not set off the next, back through all there ever was.
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
/** The reason where no more clusters fail than may (`maxFailures`): people are told, and nothing is taken back. */
export const TOLERATED = 'WithinMaxFailures';
export const failuresThatMatter = 3;

const fieldManager = 'kidp-health';

/** Which installations a deployment has made. */
const deploymentIndex = {
  'kidp-deployment': (object: KubernetesObject): string[] => {
    const { deployment } = (object as OperatorInstallation).spec;
    return deployment === undefined ? [] : [deployment];
  },
};

export function addRevalidation(manager: Manager, options: { readonly watchedMilliseconds: number }): void {
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
        // What somebody does on a Cluster that they have paused says nothing about what was rolled out.
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

/** What to say, or undefined where nothing has to be said. */
export function degradedBy(
  { spec, status, metadata }: OperatorDeployment,
  installations: readonly OperatorInstallation[],
  { now, watchedMilliseconds }: { readonly now: number; readonly watchedMilliseconds: number },
): DesiredCondition | undefined {
  if (status?.phase !== 'Completed' || metadata.deletionTimestamp !== undefined) return undefined;
  const finished = Date.parse(status.finishedAt ?? '');
  if (Number.isNaN(finished) || now - finished > keptFor(spec, watchedMilliseconds)) return undefined;
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
    const message = `It was completed, and failed ${threshold} times in a row since on ${some}: ${why}`;
    // Those that have failed under way count as well.
    const failed = (status.clusters ?? []).filter(({ state }) => state === 'RolledBack' || state === 'Failed');
    const isTolerated = failing.length + failed.length <= (spec.maxFailures ?? 0);
    const reason = isTolerated ? TOLERATED : 'Unhealthy';
    return { type: DEGRADED, status: 'True', reason, message, observedGeneration };
  }
  if (known?.status !== 'True') return undefined;
  const message = 'Its installations are well again';
  return { type: DEGRADED, status: 'False', reason: 'Healthy', message, observedGeneration };
}

/** What it has put there itself, and nobody has come back to since. */
const isStillOf = ({ clusters = [] }: NonNullable<OperatorDeployment['status']>, { spec }: OperatorInstallation) =>
  spec.restoredBy === undefined &&
  clusters.some(
    ({ name, state, snapshot }) =>
      name === spec.cluster &&
      // One that it was completed without is looked at when it is back.
      (state === 'Healthy' || state === 'Validating') &&
      snapshot === spec.snapshot,
  );

/** What was there before is kept so long, and there is a way back without rendering anything. */
function keptFor({ blueGreenConfig }: OperatorDeployment['spec'], watchedMilliseconds: number): number {
  const { retentionPeriod } = blueGreenConfig ?? {};
  return retentionPeriod === undefined ? watchedMilliseconds : millisecondsOf(retentionPeriod);
}
