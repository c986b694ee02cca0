/**
 * The parts of the runtime that the other modules of this project use and that are not part of the public API (`index.ts`). The
 * package does not export this file, so its names change without notice.
 */

// Certificates: issuing them directly, for the control plane and for tests.
export type { Bundle, CertificateLives, Publication } from './certificates/index.ts';
export { issueAuthority, issueLeaf, type KeyKind, type KeyPair } from './certificates/index.ts';
export type { RawRequest, RawResponse, WatchOptions } from './client/index.ts';
// Client: connections shared between clusters, discovery, and the options of single requests.
export {
  clientUntil,
  type DefinitionLike,
  discover,
  isAllowed,
  type ResourceMapping,
  type Right,
  resourceMapping,
  type ServedResource,
  servedByDefinition,
} from './client/index.ts';
// Errors and time.
export { sleep } from './clock.ts';
// Controllers.
export type { Caches, Selection } from './controller/index.ts';
export { liveReader } from './controller/index.ts';
export type { ConnectionFailure, StatusDetails } from './errors.ts';
// Resources of Kubernetes itself.
export { events } from './events/index.ts';
export type { KubeconfigOptions, Material } from './kubeconfig/index.ts';
export { type Lease, leases } from './leader/index.ts';
// Processes.
export { giveMemoryBack } from './manager/index.ts';
export { coreNamespaces, coreSecrets } from './objects/index.ts';
// Requests to servers that are neither ours nor an API server.
export * from './outbound/index.ts';
export { packageFile } from './package-files.ts';
// HTTP servers.
export * from './serving/index.ts';
// Long work between which the event loop runs.
export { inSlices, Slice } from './slices.ts';
// Traces.
export type { LogFields } from './telemetry/index.ts';
// Texts of others.
export { escapeUnsafe, plainLine, plainName, plainText, plainValues } from './text.ts';
export type { PastSpan, SpanAttributes, SpanOptions } from './tracing/index.ts';
export {
  childTraceparent,
  currentTraceId,
  currentTraceparent,
  formatTraceparent,
  newTraceparent,
  parseTraceparent,
  type TraceParent,
  withTraceparent,
} from './tracing/index.ts';
export type { Budgets } from './transport/index.ts';
export { ConnectionBudget, resourcePath } from './transport/index.ts';
export { TokenBucket } from './workqueue/index.ts';
// YAML from outside.
export { faultIn, MOST_LEVELS, parseDocuments, parseYaml, TooDeep } from './yaml/index.ts';
