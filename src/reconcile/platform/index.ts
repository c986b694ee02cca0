/**
 * The platform controllers: Teams with namespaces and access, Applications, DeploymentTargets, Brokers, bindings and
 * costs.
 *
 * In: a manager, and the heartbeat and usage events of brokers. Out: Namespaces, Roles, quotas, network policies,
 * connection Secrets, and the status of those kinds. It must not know how anything is deployed.
 */
import type { HeartbeatEvent, ReportOutcome, UsageEvent, VerifiedBroker } from '../../broker/index.ts';
import type { EventRecorder, Manager } from '../../runtime/index.ts';
import { addBindingReconcilers } from '../bindings/index.ts';
import { settledCosts } from '../costs/settled.ts';
import { recordUsage, settle } from '../costs/usage.ts';
import { addApplicationReconciler } from './applications.ts';
import { addBrokerReconciler } from './brokers.ts';
import { recordHeartbeat } from './heartbeats.ts';
import { lookupOver } from './lookup.ts';
import type { Reservations } from './namespace-claim.ts';
import { cachedOwnership, type OwnedObject } from './ownership.ts';
import { addTargetReconciler } from './targets.ts';
import { addTeamLabelReconcilers } from './team-label.ts';
import { addTeamReconciler } from './teams.ts';

export {
  allOwned,
  costTagsOf,
  describeObject,
  firstNames,
  keyAsOwner,
  listedOwnership,
  type OwnedObject,
  type OwnerPath,
  ownedKinds,
  ownerPath,
} from './ownership.ts';

/** The platform namespace stores the costs of deleted resources. */
interface PlatformReconcilerOptions extends Reservations {
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** The minimum interval between updates of the counts and totals of one Team or Application. */
  readonly settleMilliseconds?: number;
  /** False if the platform cannot read Secrets: dependencies are then not bound. */
  readonly connections?: boolean;
}

/** Handlers for broker events that do not concern a deployment. They run on every replica; the sender is verified. */
interface BrokerEvents {
  heartbeat(event: HeartbeatEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  usage(event: UsageEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
}

export interface PlatformReconcilers {
  readonly events: BrokerEvents;
  /** Persists the costs of an object before its finalizer is removed. Idempotent. */
  settleCosts(object: OwnedObject): Promise<void>;
}

export function addPlatformReconcilers(manager: Manager, options: PlatformReconcilerOptions): PlatformReconcilers {
  addTeamReconciler(manager, options);
  addApplicationReconciler(manager, options);
  addTargetReconciler(manager, options);
  addBrokerReconciler(manager, options);
  addTeamLabelReconcilers(manager);
  if (options.connections !== false) addBindingReconcilers(manager, options);
  const now = () => manager.clock.now();
  const settled = settledCosts(manager.client, options.platformNamespace, now);
  const view = cachedOwnership((resource) => manager.caches.store(resource));
  return {
    events: brokerEvents(manager, options),
    settleCosts: (object) => settle(object, { settled, view, now: now() }),
  };
}

/** The caches must watch Brokers and DeploymentTargets, which `addPlatformReconcilers` ensures. */
function brokerEvents(
  { client, caches, clock }: Pick<Manager, 'client' | 'caches' | 'clock'>,
  { platformNamespace }: Pick<PlatformReconcilerOptions, 'platformNamespace'>,
): BrokerEvents {
  const lookup = lookupOver(caches, client);
  const settled = settledCosts(client, platformNamespace, () => clock.now());
  return {
    heartbeat: (event, from, signal) => recordHeartbeat(event, from, { client, lookup, clock }, signal),
    usage: (event, from, signal) => recordUsage(event, from, { client, lookup, settled }, signal),
  };
}
