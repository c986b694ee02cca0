/** Brokers: whether they are heard of, and how many targets hang on them. */
import { type Broker, broker, type DeploymentTarget, deploymentTarget } from '../../api/index.ts';
import { controllerManagedBy, type DesiredCondition, type EventRecorder, type Manager } from '../../runtime/index.ts';
import { recordReadyEvent } from './ready-event.ts';
import { applyStatus } from './status.ts';

/** Which DeploymentTargets name a Broker. */
export const brokerIndex = {
  'kidp-broker': ({ spec }: DeploymentTarget): string[] => (spec.brokerRef === undefined ? [] : [spec.brokerRef.name]),
};

export function addBrokerReconciler(
  manager: Manager,
  { recorder }: { readonly recorder: Pick<EventRecorder, 'record'> },
): void {
  controllerManagedBy(manager, 'brokers')
    .for<Broker>(broker.resource)
    .watches<DeploymentTarget>(
      deploymentTarget.resource,
      ({ spec }) => (spec.brokerRef === undefined ? [] : [{ name: spec.brokerRef.name }]),
      { indexes: brokerIndex },
    )
    .complete(async ({ name }, { client, read }) => {
      const object = await read.get<Broker>(broker.resource, { name });
      if (object === undefined) return;
      const now = manager.clock.now();
      const { ready, phase, requeueAfterMilliseconds } = brokerHealth(object, now);
      const targets = read.store<DeploymentTarget>(deploymentTarget.resource).byIndex('kidp-broker', name).length;
      const observedGeneration = object.metadata.generation ?? 0;
      await applyStatus(
        client,
        broker.resource,
        object,
        {
          conditions: [{ ...ready, observedGeneration }],
          fields: { phase, targets, observedGeneration },
        },
        { now },
      );
      recordReadyEvent(recorder, object, ready);
      return requeueAfterMilliseconds === undefined
        ? undefined
        : { requeueAfterMilliseconds: requeueAfterMilliseconds };
    });
}

interface BrokerHealth {
  readonly ready: DesiredCondition;
  readonly phase: 'pending' | 'ready' | 'unknown';
  /** Time alone may change it after so long. */
  readonly requeueAfterMilliseconds?: number;
}

/** What its heartbeats come to. A Broker that is new has as long as one that was heard of. */
export function brokerHealth({ metadata, spec, status }: Broker, now: number): BrokerHealth {
  const { timeoutSeconds } = spec.heartbeat;
  const { lastHeartbeatTime, version } = status ?? {};
  const since = Date.parse(lastHeartbeatTime ?? metadata.creationTimestamp ?? new Date(now).toISOString());
  const left = since + timeoutSeconds * 1000 - now;
  if (left <= 0) {
    const last =
      lastHeartbeatTime === undefined ? 'It was never heard of' : `It was last heard of at ${lastHeartbeatTime}`;
    return {
      ready: condition(
        'False',
        'HeartbeatMissed',
        `${last}, and counts as gone after ${timeoutSeconds} s: see whether it runs, reaches ${channelNames[spec.channel]}, and signs with a key that spec.identity names`,
      ),
      phase: 'unknown',
    };
  }
  // A moment later than it may be: at the very moment it is not gone yet.
  const requeueAfterMilliseconds = left + 100;
  if (lastHeartbeatTime === undefined) {
    return {
      ready: condition(
        'Unknown',
        'NoHeartbeatYet',
        `It was not heard of yet; it has ${timeoutSeconds} s from its creation`,
      ),
      phase: 'pending',
      requeueAfterMilliseconds,
    };
  }
  if (spec.paused === true) {
    const message = 'spec.paused is set: it gets no new work, and what it already has goes on';
    return { ready: condition('False', 'Paused', message), phase: 'ready', requeueAfterMilliseconds };
  }
  const missing = (spec.capabilities ?? []).filter((each) => !covers(status?.capabilities ?? [], each));
  const words =
    missing.length === 0 ? '' : `; it does not say that it can do ${missing.join(', ')}, as spec.capabilities does`;
  return {
    ready: condition('True', 'ResourceReady', `Version ${version ?? 'unknown'} is heard of${words}`),
    phase: 'ready',
    requeueAfterMilliseconds,
  };
}

/** `Database` covers `Database/postgresql`. */
const covers = (said: readonly string[], wanted: string): boolean =>
  said.includes(wanted) ||
  said.includes(wanted.split('/')[0] ?? wanted) ||
  said.some((each) => each.startsWith(`${wanted}/`));

const channelNames = { Kafka: 'Kafka', HTTP: 'the status API', Both: 'Kafka or the status API' } as const;

const condition = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
  type: 'Ready',
  status,
  reason,
  message,
});
