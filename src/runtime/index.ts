/**
 * The controller runtime: everything a controller needs between itself and a Kubernetes API server.
 *
 * In: a kubeconfig or the service account of the Pod, and resources named by group, version and plural.
 * Out: a `Client`, caches kept up to date by reflectors, and the controllers, leader election, events and certificates built on them.
 * It must not know: any kind of ours, policies, CEL, or its users.
 *
 * This is the public API, `kidp/runtime`. Names that only the other modules of this project need are in `internal.ts`; helpers for
 * tests are in `testing/index.ts` (`kidp/runtime/testing`).
 */

export type { CertificateSource, PublishBundle } from './certificates/index.ts';
// Certificates and serving: HTTPS for webhooks, with a certificate that is rotated while the server runs.
export {
  type Authority,
  type AuthorityOptions,
  clusterStore,
  directoryStore,
  memoryStore,
  startAuthority,
} from './certificates/index.ts';
// Client: requests to an API server.
// Leader election: one replica acts, and its writes end with its Lease.
export type { Client, Fence, ListOptions, Patch, WatchEvent, WriteOptions } from './client/index.ts';
export { eachObject } from './client/index.ts';
// Time: passed in, so that tests can control it (`FakeClock` in `kidp/runtime/testing`).
export { type Clock, systemClock } from './clock.ts';
export type { Mapper, Reader } from './controller/index.ts';
// Controllers: from watched changes to reconciles.
export {
  allOf,
  annotationsChanged,
  anyOf,
  Controller,
  type ControllerBuilder,
  type ControllerOptions,
  controllerManagedBy,
  generationChanged,
  labelled,
  labelsChanged,
  not,
  type Predicate,
  type Reconcile,
  type ReconcileContext,
  type Request,
  type Result,
  resourceVersionChanged,
  TerminalError,
} from './controller/index.ts';
// Errors: each carries a stable `code`.
export {
  ApiError,
  ConfigError,
  ConnectionError,
  FenceError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNotFound,
  isTooManyRequests,
} from './errors.ts';
// Events: what `kubectl describe` shows about an object.
export type { EventInput } from './events/index.ts';
export { EventRecorder } from './events/index.ts';
export { type ClusterConfig, loadKubeconfig } from './kubeconfig/index.ts';
export { type ElectionOptions, fenced, LeaderElection } from './leader/index.ts';
// Manager: starts and stops controllers and other runnables of a process together.
export { type HealthCheck, Manager, type ManagerOptions, type Runnable, stopSignal } from './manager/index.ts';
// Conditions: reading, merging and applying `status.conditions`.
// Finalizers: cleanup before an object is deleted.
// Objects: what every Kubernetes object has.
export {
  addFinalizer,
  apiVersionOf,
  applyConditions,
  type Cleanup,
  type Condition,
  controllerOf,
  controllerReference,
  type DesiredCondition,
  finalize,
  formatKey,
  getCondition,
  hasFinalizer,
  hasStatus,
  type KubernetesObject,
  keyOf,
  mergeConditions,
  type ObjectKey,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
  removeCondition,
  removeFinalizer,
  setCondition,
  summarize,
  type UnknownObject,
} from './objects/index.ts';
// Caches: the objects of a resource, listed once and then watched.
export type { IndexFunction, ReadonlyStore, ReflectorOptions } from './reflector/index.ts';
export { Reflector } from './reflector/index.ts';
export { type ServeOptions, type Serving, serveHttps } from './serving/https.ts';
// Logs, metrics and traces.
export { type Logger, pinoLogger, processMetrics, silentLogger } from './telemetry/index.ts';
export { noTracer, startTelemetry, type TelemetrySettings, type Tracer, telemetrySettings } from './tracing/index.ts';
export { type ConnectOptions, connect } from './transport/index.ts';
// Workqueue: deduplicated, rate-limited keys to work on.
export { Workqueue, type WorkqueueOptions } from './workqueue/index.ts';
