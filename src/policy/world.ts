/** What a decision may look at besides the request: caches, never the network. */
import type { AuthorizationAnswer, AuthorizationAttributes, Schema } from '../cel/index.ts';
import type { GroupVersionKind, Json } from './request.ts';

export interface ObjectQuery {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly selector?: LabelSelector;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface World {
  /** In milliseconds since 1970: `enforceAfter` and `expiresAt` hang on it. */
  readonly now: number;
  /** The Namespace itself; undefined where it is not known. */
  namespace(name: string): Json | undefined;
  /** Objects of a kind, in a stable order; undefined where that kind cannot be had here: not declared, not synced, no cluster. */
  find(query: ObjectQuery): readonly Json[] | undefined;
  /** The answer to a question of `authorizer`, or undefined where it must be asked first: then the decision lists it. */
  authorize?(attributes: AuthorizationAttributes): AuthorizationAnswer | undefined;
  /** The kind of a resource, by its plural: that of a subresource may be another. */
  kindOf?(group: string, version: string, plural: string): string | undefined;
  /** The schema of a custom resource, the same object each time: mutations merge lists by it. */
  schema?(kind: GroupVersionKind): Schema | undefined;
}

/** A world in which nothing else is known. */
export const emptyWorld = (now: number): World => ({ now, namespace: () => undefined, find: () => undefined });
