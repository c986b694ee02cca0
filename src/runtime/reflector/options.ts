/** The options of a reflector, and the calls it makes. */
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import type { KubernetesObject, Resource } from '../objects/object.ts';
import type { IndexFunction } from './store.ts';

/**
 * Called one at a time, after the store has changed. Keep them short, as in "put the key into a queue": the next event waits.
 * What one throws is reported to the observer and stops nothing.
 */
export interface ReflectorHandlers<T> {
  /** `initial`: it was there before we looked, as far as we know. */
  added?(object: T, initial: boolean): void;
  updated?(object: T, old: T): void;
  /** The last state known; where the end was missed (a relist), that is not the very last there was. */
  deleted?(object: T): void;
}

export type ReflectorStatus =
  | { readonly state: 'idle' }
  | { readonly state: 'listing' }
  | { readonly state: 'watching' }
  /** It goes on trying. What is in the store is as old as the last success. */
  | { readonly state: 'failing'; readonly error: Error; readonly attempts: number }
  | { readonly state: 'stopped' };

/** For metrics and logs. */
export interface ReflectorObserver {
  listed?(result: { objects: number; milliseconds: number }): void;
  /** A watch begins from this version. */
  watched?(resourceVersion: string): void;
  event?(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'): void;
  /** The watched history is gone: all objects are listed again. */
  relisted?(cause: Error): void;
  /** Something went wrong; for a list or watch, it is tried again. */
  failed?(error: Error, during: 'list' | 'watch' | 'handler' | 'transform' | 'index'): void;
  /** Whenever the store is known to be up to date as of this version. */
  current?(resourceVersion: string): void;
  status?(status: ReflectorStatus): void;
}

export interface ReflectorOptions<T extends KubernetesObject> {
  client: Client;
  resource: Resource;
  /** One namespace; without it, all. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  handlers?: ReflectorHandlers<T>;
  /** Leave metadata.managedFields out: about half of what an object takes in memory, and few read it. */
  stripManagedFields?: boolean;
  /** Makes an object smaller or other before anybody sees it. It may change the one it is given, but not its name. */
  transform?: (object: T) => T;
  observer?: ReflectorObserver;
  /** Objects a page; by default 10,000 in the first, which the server has in its cache, and 500 in those after it. */
  pageSize?: number;
  backoff?: { baseMilliseconds?: number; maximumMilliseconds?: number };
  /** A watch from which neither event nor bookmark came for so long is taken for dead. The server sends a bookmark about every minute. */
  silenceMilliseconds?: number;
  /** A watch is ended by the server after a time between this and twice this, so that not all come back at once. */
  watchSeconds?: number;
  clock?: Clock;
}
