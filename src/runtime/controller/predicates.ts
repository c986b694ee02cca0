/** Predicates select the changes that trigger a reconcile. */
import type { KubernetesObject } from '../objects/object.ts';

export type Change<T extends KubernetesObject = KubernetesObject> =
  | { readonly type: 'added'; readonly object: T; readonly initial: boolean }
  | { readonly type: 'updated'; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly object: T };

export type Predicate<T extends KubernetesObject = KubernetesObject> = (change: Change<T>) => boolean;

/**
 * Ignores changes of status and metadata: passes updates that increase the generation or start the deletion. Kinds
 * without a generation (ConfigMap) pass with every update, because otherwise none of their updates would.
 */
export const generationChanged: Predicate = (change) => {
  if (change.type !== 'updated') return true;
  const { metadata: now } = change.object;
  const { metadata: before } = change.old;
  if (now.generation === undefined) return now.resourceVersion !== before.resourceVersion;
  return now.generation !== before.generation || now.deletionTimestamp !== before.deletionTimestamp;
};

/** Ignores relists and resyncs: passes updates that changed the object. */
export const resourceVersionChanged: Predicate = (change) =>
  change.type !== 'updated' || change.object.metadata.resourceVersion !== change.old.metadata.resourceVersion;

export const labelsChanged: Predicate = (change) =>
  change.type !== 'updated' || !sameEntries(change.object.metadata.labels, change.old.metadata.labels);

export const annotationsChanged: Predicate = (change) =>
  change.type !== 'updated' || !sameEntries(change.object.metadata.annotations, change.old.metadata.annotations);

/** Passes objects with all of these labels, and updates that removed one of them. */
export function labelled(labels: Readonly<Record<string, string>>): Predicate {
  const has = (object: KubernetesObject) =>
    Object.entries(labels).every(([name, value]) => object.metadata.labels?.[name] === value);
  return (change) => has(change.object) || (change.type === 'updated' && has(change.old));
}

export function anyOf<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

export function allOf<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change));
}

export function not<T extends KubernetesObject>(predicate: Predicate<T>): Predicate<T> {
  return (change) => !predicate(change);
}

function sameEntries(a: Readonly<Record<string, string>> = {}, b: Readonly<Record<string, string>> = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
