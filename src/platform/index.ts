/**
 * The composition root: it wires one replica of kidp together and starts it. `kidp serve` and `kidp up` are thin over it.
 *
 * In: a client of the cluster, addresses, settings, a logger. Out: a running platform (webhooks, controllers, status API, REST API) and
 * the steps that shut it down again. It must not know about command-line flags, terminals or local control planes.
 */
export { demandAccess, demandRights, joinRights } from './access.ts';
export { type Cleanup, createCleanup } from './cleanup.ts';
export { startComparing } from './crd-comparison.ts';
export type { DispatchOptions } from './dispatch.ts';
export { type Platform, type PlatformOptions, startPlatform } from './platform.ts';
export { startReplica } from './replica.ts';
export type { RestServing, RolloutsOptions } from './rollouts.ts';
