/** The Broker controller: heartbeats, and how many DeploymentTargets use a Broker. */
import { type Broker, broker, type DeploymentTarget, deploymentTarget } from '../../api/index.ts';
import { controllerManagedBy, type DesiredCondition, type EventRecorder, type Manager } from '../../runtime/index.ts';
import { recordReadyEvent } from './ready-event.ts';
import { applyStatus } from './status.ts';

/** Indexes DeploymentTargets by the Broker that they name. */
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
  /** The health can change after this time without any event. */
  readonly requeueAfterMilliseconds?: number;
}

/**
 * `brokerHealth` derives the health of a Broker from its heartbeats. A new Broker has the full timeout to send its
 * first one.
 */
export function brokerHealth({ metadata, spec, status }: Broker, now: number): BrokerHealth {
  const { timeoutSeconds } = spec.heartbeat;
  const { lastHeartbeatTime, version } = status ?? {};
  const since = Date.parse(lastHeartbeatTime ?? metadata.creationTimestamp ?? new Date(now).toISOString());
  const left = since + timeoutSeconds * 1000 - now;
  if (left <= 0) {
    const last =
      lastHeartbeatTime === undefined
        ? 'No heartbeat was ever received'
        : `The last heartbeat was received at ${lastHeartbeatTime}`;
    return {
      ready: condition(
        'False',
        'HeartbeatMissed',
        `${last}; the timeout is ${timeoutSeconds}s. Check that the broker runs, reaches ${channelNames[spec.channel]}, and signs with a key listed in spec.identity`,
      ),
      phase: 'unknown',
    };
  }
  // The timeout has not passed at the exact moment, so the next check is a little later.
  const requeueAfterMilliseconds = left + 100;
  if (lastHeartbeatTime === undefined) {
    return {
      ready: condition(
        'Unknown',
        'NoHeartbeatYet',
        `Waiting for the first heartbeat; the timeout is ${timeoutSeconds}s from creation`,
      ),
      phase: 'pending',
      requeueAfterMilliseconds,
    };
  }
  if (spec.paused === true) {
    const message = 'spec.paused is set: the Broker receives no new deployments; existing ones are not affected';
    return { ready: condition('False', 'Paused', message), phase: 'ready', requeueAfterMilliseconds };
  }
  const missing = (spec.capabilities ?? []).filter((each) => !covers(status?.capabilities ?? [], each));
  const words =
    missing.length === 0 ? '' : `; spec.capabilities lists ${missing.join(', ')}, which the broker does not report`;
  return {
    ready: condition('True', 'ResourceReady', `Heartbeats are received from version ${version ?? 'unknown'}${words}`),
    phase: 'ready',
    requeueAfterMilliseconds,
  };
}

/** The capability `Database` covers `Database/postgresql`. */
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
