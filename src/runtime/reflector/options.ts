/** The options of a reflector, and the calls it makes. */
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import type { KubernetesObject, Resource } from '../objects/object.ts';
import type { IndexFunction } from './store.ts';

/**
 * Handlers are called one at a time, after the store has changed. Keep them short, for example enqueue a key: the next
 * event waits. An error that a handler throws is reported to the observer and stops nothing.
 */
export interface ReflectorHandlers<T> {
  /** `initial` means that the object existed before the reflector started, as far as it knows. */
  added?(object: T, initial: boolean): void;
  updated?(object: T, old: T): void;
  /**
   * Called with the last known state. If the deletion was missed (a relist), the object may have changed after that
   * state.
   */
  deleted?(object: T): void;
}

export type ReflectorStatus =
  | { readonly state: 'idle' }
  | { readonly state: 'listing' }
  | { readonly state: 'watching' }
  /** The reflector keeps trying. The store is as old as the last success. */
  | { readonly state: 'failing'; readonly error: Error; readonly attempts: number }
  | { readonly state: 'stopped' };

/** Observes a reflector for metrics and logs. */
export interface ReflectorObserver {
  listed?(result: { objects: number; milliseconds: number }): void;
  /** A watch starts from this version. */
  watched?(resourceVersion: string): void;
  event?(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'): void;
  /** The watched history is no longer available: all objects are listed again. */
  relisted?(cause: Error): void;
  /** Something failed. A list or watch is retried. */
  failed?(error: Error, during: 'list' | 'watch' | 'handler' | 'transform' | 'index'): void;
  /** The store is known to be up to date as of this version. */
  current?(resourceVersion: string): void;
  status?(status: ReflectorStatus): void;
}

export interface ReflectorOptions<T extends KubernetesObject> {
  client: Client;
  resource: Resource;
  /** One namespace; default: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  handlers?: ReflectorHandlers<T>;
  /** Removes metadata.managedFields: about half of the memory of an object, and rarely read. */
  stripManagedFields?: boolean;
  /** Reduces or changes an object before it is stored. It may modify its argument, but not the name. */
  transform?: (object: T) => T;
  observer?: ReflectorObserver;
  /**
   * The number of objects in a page. Default: 10,000 in the first page, which the server has in its cache, and 500 in
   * further pages.
   */
  pageSize?: number;
  backoff?: { baseMilliseconds?: number; maximumMilliseconds?: number };
  /**
   * A watch without an event or bookmark for this time is considered dead. The server sends a bookmark about every
   * minute.
   */
  silenceMilliseconds?: number;
  /** The server ends a watch after a time between this and twice this, so that not all watches restart at once. */
  watchSeconds?: number;
  clock?: Clock;
}
