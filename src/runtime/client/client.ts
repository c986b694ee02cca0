/**
 * What the rest of the house may ask of an API server. `transport` implements it over HTTP; everything above (reflector,
 * controller, lease, events, certificates) takes a `Client`, so that a fault can be put between the two.
 */
import type { KubernetesObject, ObjectKey, ObjectList, Resource, UnknownObject } from '../objects/object.ts';

export interface RequestOptions {
  signal?: AbortSignal;
  /** Give up after this long; the default is the client's (30 s). */
  timeoutMilliseconds?: number;
  /** A write that may only happen while we lead (see leader/fence.ts); reads ignore it. */
  fence?: Fence;
}

/**
 * The right to write, which ends. The transport sends a fenced write in two steps, so that a process that is stopped at
 * any point between the check and the wire cannot write late: first the headers with `Expect: 100-continue` and
 * `?timeout=` what remains, which the API server enforces from their arrival; then, once the server has answered 100 and
 * the fence still stands, the body.
 */
export interface Fence {
  /** How long writes are still allowed; zero or less: no longer. Looks at the clock each time. */
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
  /** Do not even parse metadata.managedFields: they are undefined. */
  omitManagedFields?: boolean;
}

export interface WriteOptions extends RequestOptions {
  subresource?: string;
  fieldManager?: string;
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  dryRun?: boolean;
  /**
   * Told when it goes out: it has a connection by then, and from then on it is the server that is waited for. Again where it is sent anew.
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
  /** Begin with all there is, as ADDED events, and a bookmark at their end. */
  sendInitialEvents?: boolean;
  /** Asks the server to end the watch after about this long. `timeoutMilliseconds` is only until it has begun. */
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
  /** A larger answer is not taken in: a `ConnectionError` that is `too-large`. The default is the client's. */
  maximumResponseBytes?: number;
}

export interface RawResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Warnings of the API server and of admission (the Warning header, unquoted). */
  warnings: readonly string[];
  text: string;
}

/** Every method rejects with an `ApiError` for an answer of the server and with a `ConnectionError` where there was none. */
export interface Client {
  get<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<T>;
  /** One page. */
  list<T extends KubernetesObject = UnknownObject>(resource: Resource, options?: ListOptions): Promise<ObjectList<T>>;
  /**
   * One page, its objects given out one by one while it still comes in; the list that is returned has none. Where it
   * rejects, some objects may have been given out. Without it, `list` does.
   */
  listEach?<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    options: ListEachOptions,
    each: (object: T) => void,
  ): Promise<ObjectList<T>>;
  /** Ends when the server ends the stream; rejects where it breaks. An ERROR event is yielded, not thrown. */
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
  /** Resolves once the server has taken the deletion (finalizers may keep the object). */
  delete(resource: Resource, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** Any status is an answer: nothing is thrown for a 4xx or 5xx. */
  request(request: RawRequest): Promise<RawResponse>;
  /** The same connections, as another user. */
  impersonate(identity: Impersonation): Client;
  /** Closes idle connections and ends watches. */
  close(): Promise<void>;
}
