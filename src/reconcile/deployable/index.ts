/**
 * What brokers bring about: Databases, Services, Caches, Topics and Secrets, from an admitted object to a message that is known to
 * have arrived, and from a report to the status of the object.
 *
 * In: a manager, a way to reach brokers (`Dispatcher`), the gate (admission's decision about an object as it is stored). Out: dispatched
 * deployments, status, events, and the sink that takes reports. It must not know how a message travels, nor how admission decides.
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
  /** What admission says about an object as it is stored: `storedGate` of src/admission. */
  readonly gate: (kind: Kind, object: Deployable) => Promise<Admitted>;
  /** Calls back when the gate may answer otherwise than before; returns what ends it. */
  readonly gateChanges?: ((listener: () => void) => () => void) | undefined;
  readonly platform: {
    /** Where brokers post their reports; left out, they have Kafka only. */
    readonly statusUrl?: string | undefined;
    /** A public JSON Web Key that credentials are encrypted to. */
    readonly encryptionKey?: () =>
      | Readonly<Record<string, unknown>>
      | undefined
      | Promise<Readonly<Record<string, unknown>> | undefined>;
  };
  /** Opens credentials that a broker has encrypted to that key. */
  readonly decrypt?: ((jwe: string) => Promise<Record<string, string>>) | undefined;
  /** Encrypts credentials to a broker; undefined where it has published no key to encrypt to. */
  readonly seal?:
    | ((broker: string, values: Readonly<Record<string, string>>) => Promise<string | undefined>)
    | undefined;
  /** Where heartbeats and usage reports go: `brokerEvents` of src/reconcile/platform. */
  readonly events?: {
    heartbeat(event: HeartbeatEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
    usage(event: UsageEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  };
  /** Keeps what an object has cost, before its finalizer goes: `settleCosts` of src/reconcile/platform. */
  readonly settleCosts?: (object: OwnedObject) => Promise<void>;
  readonly registry?: Registry | undefined;
  readonly recorder?: Pick<EventRecorder, 'record'> | undefined;
  readonly clock?: Clock | undefined;
  readonly settings?: Partial<Settings> | undefined;
  /** Objects of one kind that are worked on at a time. */
  readonly concurrency?: number | undefined;
}

interface DeployableReconcilers {
  /** On every replica: it may take a report whether it leads or not. */
  readonly sink: ReportSink;
}

/** Objects of one kind that are worked on at a time: most of that is waiting for the API server and for brokers. */
const defaultConcurrency = 64;
/** A reconcile that takes longer is cut off and comes again; what it was about to send is in the outbox. */
const timeoutMilliseconds = 60_000;

/** Adds to the manager, before it starts, a controller for each deployable kind; returns where reports go. */
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
    // Every replica has the caches; what the leader says is counted once.
    objects: (name) => {
      const kind = deployableKinds.find((each) => each.kind === name);
      return kind === undefined || manager.election?.leading === false ? undefined : orNone(() => objects(kind));
    },
  });
  const factsFor =
    (kind: Kind) =>
    async (object: Deployable): Promise<Facts> => ({
      // What is being deleted goes, whatever policy says of it.
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

/** A heartbeat changes nothing here, and comes from every broker all the time. */
const capabilitiesChanged: Predicate<Broker> = (change) =>
  change.type !== 'updated' || change.object.status?.capabilities?.join() !== change.old.status?.capabilities?.join();

/** Before the caches are started there is nothing to see. */
function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
