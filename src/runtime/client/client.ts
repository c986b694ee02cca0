/**
 * `Client` is every request that this project makes of an API server. `transport` implements it over HTTP; everything above
 * (reflector, controller, lease, events, certificates) takes a `Client`, so that tests can inject faults.
 */
import type { KubernetesObject, ObjectKey, ObjectList, Resource, UnknownObject } from '../objects/object.ts';

export interface RequestOptions {
  signal?: AbortSignal;
  /** Give up after this long; the default is the client's (30 s). */
  timeoutMilliseconds?: number;
  /** Allows a write only while this process is the leader (see leader/fence.ts); reads ignore it. */
  fence?: Fence;
}

/**
 * The right to write, which ends. The transport sends a fenced write in two steps, so that a process that is stopped at
 * any point between the check and the wire cannot write late: first the headers with `Expect: 100-continue` and
 * `?timeout=` what remains, which the API server enforces from their arrival; then, once the server has answered 100 and
 * the fence still stands, the body.
 */
export interface Fence {
  /** The time for which writes are still allowed, read from the clock at each call; zero or less if they are not. */
  remainingMilliseconds(): number;
  /** Aborted when the right is lost. */
  readonly signal: AbortSignal;
}

export interface ReadOptions extends RequestOptions {
  subresource?: string;
}

export interface ListOptions extends RequestOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface ListEachOptions extends ListOptions {
  /** Skips metadata.managedFields while parsing; they are undefined. */
  omitManagedFields?: boolean;
}

export interface WriteOptions extends RequestOptions {
  subresource?: string;
  fieldManager?: string;
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  dryRun?: boolean;
  /**
   * Called when the request is sent on a connection: from then on the server is waited for. Called again for each retry.
   */
  onSent?: () => void;
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  force?: boolean;
}

export interface DeleteOptions extends RequestOptions {
  dryRun?: boolean;
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
}

type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string }
  | { op: 'move' | 'copy'; from: string; path: string };

export type Patch =
  | { type: 'merge'; body: unknown }
  | { type: 'json'; body: readonly JsonPatchOperation[] }
  | { type: 'strategic'; body: unknown };

export interface WatchOptions extends RequestOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  allowWatchBookmarks?: boolean;
  /** Starts with all existing objects as ADDED events, followed by a bookmark. */
  sendInitialEvents?: boolean;
  /** Asks the server to end the watch after about this long. `timeoutMilliseconds` covers only the time until it has started. */
  timeoutSeconds?: number;
  /** Called once the server has begun the watch, before any event. */
  onOpen?: () => void;
}

export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string; annotations?: Record<string, string> } } }
  | { type: 'ERROR'; object: unknown };

export interface Impersonation {
  user: string;
  groups?: readonly string[];
  uid?: string;
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** A request outside the resource model: `/version`, `/readyz`, discovery, a subresource of one's own. */
export interface RawRequest extends RequestOptions {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  contentType?: string;
  /** A larger answer is rejected with a `ConnectionError` of failure `too-large`. Default: the limit of the client. */
  maximumResponseBytes?: number;
}

export interface RawResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Warnings of the API server and of admission (the Warning header, unquoted). */
  warnings: readonly string[];
  text: string;
}

/** A client of an API server. Every method rejects with an `ApiError` if the server answers with an error, and with a `ConnectionError` if there is no answer. */
export interface Client {
  get<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<T>;
  /** One page. */
  list<T extends KubernetesObject = UnknownObject>(resource: Resource, options?: ListOptions): Promise<ObjectList<T>>;
  /**
   * Lists one page and passes its objects to `each` one by one while the page is received; the returned list has none. If it
   * rejects, `each` may have been called for some objects. Optional: callers fall back to `list`.
   */
  listEach?<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    options: ListEachOptions,
    each: (object: T) => void,
  ): Promise<ObjectList<T>>;
  /** Ends when the server ends the stream and rejects if the stream breaks. An ERROR event is yielded, not thrown. */
  watch<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    options?: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>;
  create<T extends KubernetesObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubernetesObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubernetesObject>(resource: Resource, object: T, options: ApplyOptions): Promise<T>;
  /** Resolves once the server has accepted the deletion (finalizers may keep the object). */
  delete(resource: Resource, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** Resolves for every HTTP status: it does not throw for 4xx or 5xx. */
  request(request: RawRequest): Promise<RawResponse>;
  /** Returns a client that uses the same connections as another user. */
  impersonate(identity: Impersonation): Client;
  /** Closes idle connections and ends watches. */
  close(): Promise<void>;
}
