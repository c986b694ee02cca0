/** The cluster state that policies may read besides the request. Implementations read caches, never the network. */
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
  /** The current time in milliseconds since 1970, for `enforceAfter` and `expiresAt`. */
  readonly now: number;
  /** `namespace` returns a Namespace object, or undefined if it is not known. */
  namespace(name: string): Json | undefined;
  /**
   * `find` returns objects of a kind in a stable order, or undefined if the kind is not available (not declared, not
   * synced, no cluster).
   */
  find(query: ObjectQuery): readonly Json[] | undefined;
  /** `authorize` answers a question of `authorizer`, or returns undefined; then the decision lists the question. */
  authorize?(attributes: AuthorizationAttributes): AuthorizationAnswer | undefined;
  /** `kindOf` returns the kind of a resource by its plural. The kind of a subresource may differ. */
  kindOf?(group: string, version: string, plural: string): string | undefined;
  /** `schema` returns the schema of a custom resource, always the same object. Mutations use it to merge lists. */
  schema?(kind: GroupVersionKind): Schema | undefined;
}

/** `emptyWorld` is a world without any objects. */
export const emptyWorld = (now: number): World => ({ now, namespace: () => undefined, find: () => undefined });
