/**
 * What the platform keeps for itself: Teams with their namespaces and rights, Applications, DeploymentTargets and Brokers; what uses
 * what; and what it all costs.
 *
 * In: a manager, and what brokers say of themselves and of costs (`events`). Out: Namespaces, Roles, quotas, network policies,
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

interface PlatformReconcilerOptions {
  /** Where the costs of what is gone are kept; no Team gets it. */
  readonly platformNamespace: string;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** How often counts and totals of one Team or Application are written at most. */
  readonly settleMilliseconds?: number;
}

/** What brokers say that is not about a deployment. On every replica; who reports is known. */
interface BrokerEvents {
  heartbeat(event: HeartbeatEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  usage(event: UsageEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
}

export interface PlatformReconcilers {
  readonly events: BrokerEvents;
  /** Keeps what an object has cost, before its finalizer goes. May be called again. */
  settleCosts(object: OwnedObject): Promise<void>;
}

export function addPlatformReconcilers(manager: Manager, options: PlatformReconcilerOptions): PlatformReconcilers {
  addTeamReconciler(manager, options);
  addApplicationReconciler(manager, options);
  addTargetReconciler(manager, options);
  addBrokerReconciler(manager, options);
  addTeamLabelReconcilers(manager);
  addBindingReconcilers(manager, options);
  const now = () => manager.clock.now();
  const settled = settledCosts(manager.client, options.platformNamespace, now);
  const view = cachedOwnership((resource) => manager.caches.store(resource));
  return {
    events: brokerEvents(manager, options),
    settleCosts: (object) => settle(object, { settled, view, now: now() }),
  };
}

/** Brokers and DeploymentTargets must be watched, as `addPlatformReconcilers` does. */
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
