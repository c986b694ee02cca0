/** The DeploymentTarget controller: whether a target can be deployed to, and how many resources use it. */
import { type Broker, broker, type DeploymentTarget, deployableKinds, deploymentTarget } from '../../api/index.ts';
import {
  type Condition,
  controllerManagedBy,
  type DesiredCondition,
  type EventRecorder,
  getCondition,
  type KubernetesObject,
  type Manager,
  type Predicate,
} from '../../runtime/index.ts';
import { brokerIndex } from './brokers.ts';
import type { OwnedObject } from './ownership.ts';
import { recordReadyEvent } from './ready-event.ts';
import { applyStatus, statusDiffers } from './status.ts';
import { Throttle } from './throttle.ts';

/** Indexes deployable objects by the DeploymentTarget that they name. */
export const targetIndex = {
  'kidp-target': (object: KubernetesObject): string[] => {
    const { targetRef } = (object as OwnedObject).spec;
    return targetRef === undefined ? [] : [targetRef.name];
  },
};

interface TargetOptions {
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly settleMilliseconds?: number;
}

export function addTargetReconciler(manager: Manager, { recorder, settleMilliseconds }: TargetOptions): void {
  const throttle = new Throttle(manager.clock, settleMilliseconds);
  const builder = controllerManagedBy(manager, 'deployment-targets')
    .for<DeploymentTarget>(deploymentTarget.resource, { indexes: brokerIndex })
    .watches<Broker>(broker.resource, ({ metadata }) =>
      manager.caches
        .store<DeploymentTarget>(deploymentTarget.resource)
        .byIndex('kidp-broker', metadata.name)
        .map((target) => ({ name: target.metadata.name })),
    );
  for (const kind of deployableKinds) {
    builder.watches<OwnedObject>(
      kind.resource,
      ({ spec }) => (spec.targetRef === undefined ? [] : [{ name: spec.targetRef.name }]),
      { predicates: [createdDeletedOrRetargeted], indexes: targetIndex },
    );
  }
  builder.complete(async ({ name }, { client, read }) => {
    const object = await read.get<DeploymentTarget>(deploymentTarget.resource, { name });
    if (object === undefined) return;
    const brokerName = object.spec.brokerRef?.name;
    const served = brokerName === undefined ? undefined : await read.get<Broker>(broker.resource, { name: brokerName });
    const { ready, phase } = targetReadiness(object, served);
    const observedGeneration = object.metadata.generation ?? 0;
    const core = { conditions: [{ ...ready, observedGeneration }], fields: { phase, observedGeneration } };
    const wait = statusDiffers(object, core) ? 0 : throttle.wait(name);
    if (wait > 0) return { requeueAfterMilliseconds: wait };
    throttle.mark(name);
    const resources = deployableKinds.reduce(
      (count, kind) => count + read.store<OwnedObject>(kind.resource).byIndex('kidp-target', name).length,
      0,
    );
    const all = { ...core, fields: { ...core.fields, resources } };
    await applyStatus(client, deploymentTarget.resource, object, all, { now: manager.clock.now() });
    recordReadyEvent(recorder, object, ready);
    return;
  });
}

/** Only the number of resources matters here, so their updates are ignored. */
const createdDeletedOrRetargeted: Predicate<OwnedObject> = (change) =>
  change.type !== 'updated' || change.object.spec.targetRef?.name !== change.old.spec.targetRef?.name;

export function targetReadiness(
  { spec }: DeploymentTarget,
  served: Broker | undefined,
): { ready: DesiredCondition; phase: 'pending' | 'ready' | 'unknown' } {
  const say = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  const name = spec.brokerRef?.name;
  if (name === undefined) {
    const message = 'No Broker serves this target, so its deployments wait: set spec.brokerRef';
    return { ready: say('False', 'NoBroker', message), phase: 'pending' };
  }
  if (served === undefined) {
    const message = `Broker ${name} does not exist, so deployments wait: create it, or name another Broker in spec.brokerRef`;
    return { ready: say('False', 'BrokerNotFound', message), phase: 'pending' };
  }
  const condition = getCondition(served.status?.conditions as Condition[] | undefined, 'Ready');
  if (condition?.status === 'True')
    return { ready: say('True', 'ResourceReady', `Served by Broker ${name}`), phase: 'ready' };
  if (condition?.reason === 'Paused') {
    const message = `Broker ${name} is paused: new deployments wait until its spec.paused is removed`;
    return { ready: say('False', 'BrokerPaused', message), phase: 'ready' };
  }
  const why = condition === undefined ? 'It has no status yet' : `${condition.reason}: ${condition.message}`;
  return {
    ready: say(condition?.status ?? 'Unknown', 'BrokerNotReady', `Broker ${name} is not ready. ${why}`),
    phase: condition?.status === 'False' ? 'unknown' : 'pending',
  };
}
