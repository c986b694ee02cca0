/**
 * The controller runtime: everything that a controller needs to work with a Kubernetes API server.
 *
 * Stability: beta. Everything that this file exports follows semantic versioning from 1.0.0 on. Until then a minor
 * release may change it, and the changelog lists each change. Message texts are for people and may change; error codes
 * do not.
 *
 * Input: a kubeconfig or the service account of the Pod, and resources named by group, version and plural. Output: a
 * `Client`, caches kept up to date by reflectors, and the controllers, leader election, events and certificates built
 * on them. This module does not know the kinds of this project, policies, CEL or its users.
 *
 * This is the public API, `kidp/runtime`. Names that only the other modules of this project need are in `internal.ts`;
 * helpers for tests are in `testing/index.ts` (`kidp/runtime/testing`). The blank line after each heading below keeps
 * Biome from sorting exports across headings.
 */

// Client: a connection to an API server, and requests to it.

export type { Client, ListOptions, Patch, WatchEvent, WriteOptions } from './client/index.ts';
export { eachObject } from './client/index.ts';
export { type ClusterConfig, loadKubeconfig } from './kubeconfig/index.ts';
export { type ConnectOptions, connect } from './transport/index.ts';

// Errors: each has a stable `code`.

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

// Objects: the fields that every Kubernetes object has.

export {
  apiVersionOf,
  controllerOf,
  controllerReference,
  formatKey,
  type KubernetesObject,
  keyOf,
  type ObjectKey,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
  type UnknownObject,
} from './objects/index.ts';

// Conditions: read, merge and apply `status.conditions`.

export {
  applyConditions,
  type Condition,
  type DesiredCondition,
  getCondition,
  hasStatus,
  mergeConditions,
  removeCondition,
  setCondition,
  summarize,
} from './objects/index.ts';

// Finalizers: clean up before an object is deleted.

export { addFinalizer, type Cleanup, finalize, hasFinalizer, removeFinalizer } from './objects/index.ts';

// Caches: the objects of a resource, listed once and then watched.

export type { IndexFunction, ReadonlyStore, ReflectorOptions } from './reflector/index.ts';
export { Reflector } from './reflector/index.ts';

// Controllers: reconcile objects when they, or objects related to them, change.

export type { Mapper, Reader } from './controller/index.ts';
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

// Workqueue: deduplicated, rate-limited keys to work on.

export { Workqueue, type WorkqueueOptions } from './workqueue/index.ts';

// Manager: starts and stops the controllers and other runnables of a process together.

export { type HealthCheck, Manager, type ManagerOptions, type Runnable, stopSignal } from './manager/index.ts';

// Leader election: one replica acts, and its writes end with its Lease.

export type { Fence } from './client/index.ts';
export { type ElectionOptions, fenced, LeaderElection } from './leader/index.ts';

// Events: the entries that `kubectl describe` shows about an object.

export type { EventInput } from './events/index.ts';
export { EventRecorder } from './events/index.ts';

// Certificates and serving: HTTPS for webhooks, with a certificate that is rotated while the server runs.

export type { CertificateSource, PublishBundle } from './certificates/index.ts';
export {
  type Authority,
  type AuthorityOptions,
  clusterStore,
  directoryStore,
  memoryStore,
  startAuthority,
} from './certificates/index.ts';
export { type ServeOptions, type Serving, serveHttps } from './serving/https.ts';

// Logs, metrics and traces.

export { type Logger, pinoLogger, processMetrics, silentLogger } from './telemetry/index.ts';
export { noTracer, startTelemetry, type TelemetrySettings, type Tracer, telemetrySettings } from './tracing/index.ts';

// Time: passed in, so that tests can control it (`FakeClock` in `kidp/runtime/testing`).

export { type Clock, systemClock } from './clock.ts';
