/**
 * Controllers for the deployable kinds (Database, Service, Cache, Topic, Secret): from an admitted object to an
 * acknowledged message, and from a report to the status.
 *
 * In: a manager, a `Dispatcher` that reaches brokers, and the gate (the admission decision for the stored object). Out:
 * dispatched deployments, status, events, and the sink for reports. It must not know how a message travels, nor how
 * admission decides.
 */
import type { Registry } from 'prom-client';
import {
  application,
  type Broker,
  broker,
  type DeploymentTarget,
  deployableKinds,
  deploymentTarget,
  type Kind,
  type Team,
  team,
} from '../../api/index.ts';
import type {
  Dispatcher,
  HeartbeatEvent,
  ReportOutcome,
  ReportSink,
  UsageEvent,
  VerifiedBroker,
} from '../../broker/index.ts';
import {
  annotationsChanged,
  anyOf,
  type Clock,
  type Controller,
  controllerManagedBy,
  type EventRecorder,
  generationChanged,
  type KubernetesObject,
  keyOf,
  type Manager,
  type ObjectKey,
  type Predicate,
} from '../../runtime/index.ts';
import {
  allOwned,
  cachedOwnership,
  keyAsOwner,
  type OwnedObject,
  ownerIndex,
  teamIndex,
} from '../platform/ownership.ts';
import { Breakers } from './breakers.ts';
import { type Admitted, type Deployable, defaultSettings, type Facts, type Settings } from './deployable.ts';
import { type Stores, surroundingsOf } from './facts.ts';
import { Latest } from './latest.ts';
import { messageOf } from './message.ts';
import { deployableMetrics } from './metrics.ts';
import { OwnWrites } from './own-writes.ts';
import { Receipts } from './receipts.ts';
import { Deployer } from './reconcile.ts';
import { sealedBindings } from './seal.ts';
import { reportSink } from './sink.ts';
import { sweepOnChange } from './sweep.ts';
import { watchUnconfirmedDeletions } from './unconfirmed-deletions.ts';

export type { Admitted, Deployable, DeployableStatus, Facts, Settings, Step } from './deployable.ts';
export { defaultSettings } from './deployable.ts';
export { nextStep } from './next-step.ts';

export interface DeployableOptions {
  readonly dispatcher: Dispatcher;
  /** The admission decision for the stored object: `storedGate` of src/admission. */
  readonly gate: (kind: Kind, object: Deployable) => Promise<Admitted>;
  /** Calls the listener when a decision of the gate may have changed; returns a function that unsubscribes. */
  readonly gateChanges?: ((listener: () => void) => () => void) | undefined;
  readonly platform: {
    /** The address for reports over HTTP; without it, brokers report over Kafka only. */
    readonly statusUrl?: string | undefined;
    /** A public JSON Web Key that credentials are encrypted to. */
    readonly encryptionKey?: () =>
      | Readonly<Record<string, unknown>>
      | undefined
      | Promise<Readonly<Record<string, unknown>> | undefined>;
  };
  /** False if the platform has no access to Secrets: a deployment with credentials then fails with what to do. */
  readonly connections?: boolean | undefined;
  /** Decrypts credentials encrypted to that key. */
  readonly decrypt?: ((jwe: string) => Promise<Record<string, string>>) | undefined;
  /** Encrypts credentials to a broker; undefined if the broker has published no key. */
  readonly seal?:
    | ((broker: string, values: Readonly<Record<string, string>>) => Promise<string | undefined>)
    | undefined;
  /** Handlers for heartbeats and usage reports: `brokerEvents` of src/reconcile/platform. */
  readonly events?: {
    heartbeat(event: HeartbeatEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
    usage(event: UsageEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  };
  /** Persists the costs of an object before its finalizer is removed: `settleCosts` of src/reconcile/platform. */
  readonly settleCosts?: (object: OwnedObject) => Promise<void>;
  readonly registry?: Registry | undefined;
  readonly recorder?: Pick<EventRecorder, 'record'> | undefined;
  readonly clock?: Clock | undefined;
  readonly settings?: Partial<Settings> | undefined;
  /** The number of concurrent reconciles per kind. */
  readonly concurrency?: number | undefined;
}

interface DeployableReconcilers {
  /** Runs on every replica: any replica may receive a report. */
  readonly sink: ReportSink;
}

/** The concurrency per kind: most of the time goes into waiting for the API server and brokers. */
const defaultConcurrency = 64;
/** A longer reconcile is aborted and requeued; messages to be sent are in the outbox. */
const timeoutMilliseconds = 60_000;

/**
 * `addDeployableReconcilers` adds a controller per deployable kind before the manager starts, and returns the report
 * sink.
 */
export function addDeployableReconcilers(manager: Manager, options: DeployableOptions): DeployableReconcilers {
  const { dispatcher, gate, platform, recorder, registry, concurrency = defaultConcurrency } = options;
  const settings: Settings = { ...defaultSettings, ...options.settings };
  const clock = options.clock ?? manager.clock;
  const stores: Stores = (resource) => manager.caches.store(resource);
  const latest = new Latest();
  const receipts = new Receipts();
  const breakers = new Breakers({ mostAtOnce: Math.max(1, Math.ceil(concurrency * 0.75)) });
  const objects = (kind: Kind) => stores<Deployable>(kind.resource);
  const metrics = deployableMetrics({
    registry,
    now: () => clock.now(),
    // Every replica has the caches; only the leader counts.
    objects: (name) => {
      const kind = deployableKinds.find((each) => each.kind === name);
      return kind === undefined || manager.election?.leading === false ? undefined : orNone(() => objects(kind));
    },
  });
  const factsFor =
    (kind: Kind) =>
    async (object: Deployable): Promise<Facts> => ({
      // A deletion is never blocked by policies.
      admission: object.metadata.deletionTimestamp === undefined ? await gate(kind, object) : { admitted: true },
      ...surroundingsOf(object, stores),
      settings,
    });
  const controllers = deployableKinds.map((kind) => {
    const ownWrites = new OwnWrites();
    const deployer = new Deployer({
      kind,
      facts: factsFor(kind),
      message: async (object, entry, facts, { address }) => {
        const { statusUrl, encryptionKey } = platform;
        const reply = {
          ...(statusUrl === undefined ? {} : { statusUrl }),
          encryptionKey: await encryptionKey?.(),
        };
        const sealed =
          entry.action === 'Deploy'
            ? await sealedBindings(object, address.name, manager.client, options.seal)
            : undefined;
        return messageOf(object, entry, facts, address, reply, clock.now(), sealed);
      },
      dispatcher,
      settle: options.settleCosts as ((object: KubernetesObject) => Promise<void>) | undefined,
      breakers,
      latest,
      ownWrites,
      receipts,
      clock,
      settings,
      recorder,
      metrics,
    });
    return { kind, controller: controllerFor(manager, kind, deployer, { stores, ownWrites, concurrency }) };
  });
  if (options.gateChanges !== undefined) {
    const kinds = controllers.map(({ kind, controller }) => ({
      objects: () => objects(kind),
      enqueue: (key: ObjectKey) => controller.enqueue(key),
    }));
    manager.add(sweepOnChange({ changes: options.gateChanges, kinds, clock }));
  }
  const { caches, log } = manager;
  manager.add(watchUnconfirmedDeletions({ kinds: deployableKinds, caches, metrics, recorder, log }));
  const sink = reportSink({
    client: manager.client,
    cached: (kind, key) => orNone(() => objects(kind).get(key)),
    latest,
    receipts,
    connections: options.connections,
    decrypt: options.decrypt,
    events: options.events,
    recorder,
    metrics,
    settings,
    clock,
  });
  return { sink };
}

const targetIndex = {
  'deployable-target': (object: KubernetesObject): string[] => namesOf((object as Deployable).spec.targetRef?.name),
  'deployable-broker': (object: KubernetesObject): string[] =>
    namesOf((object as Deployable).status?.targetRef?.broker),
};

const namesOf = (name: string | undefined): string[] => (name === undefined ? [] : [name]);

function controllerFor(
  manager: Manager,
  kind: Kind,
  deployer: Deployer,
  { stores, ownWrites, concurrency }: { stores: Stores; ownWrites: OwnWrites; concurrency: number },
): Controller {
  const objects = () => stores<Deployable>(kind.resource);
  const ofTarget = (name: string) => objects().byIndex('deployable-target', name).map(keyOf);
  const ofBroker = ({ metadata: { name } }: KubernetesObject) => [
    ...objects().byIndex('deployable-broker', name).map(keyOf),
    ...stores<DeploymentTarget>(deploymentTarget.resource)
      .list()
      .filter(({ spec }) => spec.brokerRef?.name === name)
      .flatMap(({ metadata }) => ofTarget(metadata.name)),
  ];
  const below = (owner: KubernetesObject) =>
    allOwned(keyAsOwner(owner), cachedOwnership(stores))
      .filter((each) => each.kind === kind.kind)
      .map(keyOf);
  return controllerManagedBy(manager, kind.plural)
    .for<Deployable>(kind.resource, { indexes: { ...ownerIndex, ...targetIndex }, predicates: [ownWrites.isForeign] })
    .watches<DeploymentTarget>(deploymentTarget.resource, ({ metadata }) => ofTarget(metadata.name), {
      predicates: [anyOf(generationChanged, annotationsChanged)],
    })
    .watches<Broker>(broker.resource, ofBroker, { predicates: [anyOf<Broker>(generationChanged, capabilitiesChanged)] })
    .watches<Team>(team.resource, below, { predicates: [generationChanged], indexes: teamIndex })
    .watches<OwnedObject>(application.resource, below, { predicates: [generationChanged], indexes: ownerIndex })
    .withOptions({ maxConcurrentReconciles: concurrency, timeoutMilliseconds })
    .complete((key, context) => deployer.reconcile(key, context));
}

/** Heartbeats are frequent and change nothing here. */
const capabilitiesChanged: Predicate<Broker> = (change) =>
  change.type !== 'updated' || change.object.status?.capabilities?.join() !== change.old.status?.capabilities?.join();

/** Before the caches are started there is nothing to read. */
function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
