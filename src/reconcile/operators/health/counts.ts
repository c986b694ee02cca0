/** Counts the installations of each Operator and the healthy ones, and sets the condition `Healthy`. */
import { type Operator, type OperatorInstallation, operator, operatorInstallation } from '../../../api/index.ts';
import { controllerManagedBy, type DesiredCondition, type Manager, type Predicate } from '../../../runtime/index.ts';
import { applyStatus } from '../../platform/status.ts';
import { Throttle } from '../../platform/throttle.ts';
import { BY_OPERATOR, byOperator } from '../by-operator.ts';
import type { HealthMetrics } from './metrics.ts';

const fieldManager = 'kidp-health';

export function addCounts(
  manager: Manager,
  { metrics, settleMilliseconds }: { readonly metrics: HealthMetrics; readonly settleMilliseconds?: number },
): void {
  const throttle = new Throttle(manager.clock, settleMilliseconds);
  controllerManagedBy(manager, 'operator-health')
    .for<Operator>(operator.resource)
    .watches<OperatorInstallation>(operatorInstallation.resource, ({ spec }) => [{ name: spec.operator }], {
      predicates: [healthChanged],
      indexes: byOperator,
    })
    .complete(async ({ name }, { client, read }) => {
      const object = await read.get<Operator>(operator.resource, { name });
      if (object === undefined) {
        metrics.deleted(name);
        return;
      }
      const wait = throttle.wait(name);
      if (wait > 0) return { requeueAfterMilliseconds: wait };
      throttle.mark(name);
      const installations = read.store<OperatorInstallation>(operatorInstallation.resource).byIndex(BY_OPERATOR, name);
      const { healthy, condition } = countOf(installations);
      metrics.operator(name, installations.length, healthy);
      const observed = { ...condition, observedGeneration: object.metadata.generation ?? 0 };
      const fields = { installations: installations.length, healthyInstallations: healthy };
      await applyStatus(
        client,
        operator.resource,
        object,
        { conditions: [observed], fields },
        {
          now: manager.clock.now(),
          fieldManager,
        },
      );
      return;
    });
}

const healthChanged: Predicate<OperatorInstallation> = (change) =>
  change.type !== 'updated' || change.object.status?.health !== change.old.status?.health;

export function countOf(installations: readonly OperatorInstallation[]): {
  readonly healthy: number;
  readonly condition: DesiredCondition;
} {
  const of = (health: string) => installations.filter(({ status }) => status?.health === health);
  const [healthy, unhealthy] = [of('Healthy').length, of('Unhealthy')];
  const result = (status: DesiredCondition['status'], reason: string, message: string) => ({
    healthy,
    condition: { type: 'Healthy', status, reason, message },
  });
  if (unhealthy.length > 0) {
    const names = unhealthy.map(({ spec }) => spec.cluster).sort();
    const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''}`;
    return result(
      'False',
      'Unhealthy',
      `unhealthy on ${unhealthy.length} of ${installations.length} clusters: ${some}`,
    );
  }
  if (installations.length === 0) return result('Unknown', 'NotInstalled', 'not installed on any cluster');
  if (healthy < installations.length) {
    return result(
      'Unknown',
      'HealthUnknown',
      `healthy on ${healthy} of ${installations.length} clusters, unknown on the others`,
    );
  }
  return result('True', 'Healthy', `healthy on ${healthy} of ${installations.length} clusters`);
}
