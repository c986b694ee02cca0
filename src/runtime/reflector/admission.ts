/** Prepares an object once before it is stored: reduces its size and applies `transform`. */
import { apiVersionOf, type Condition, type KubernetesObject, type ObjectMeta } from '../objects/object.ts';
import type { ReflectorOptions } from './options.ts';

export type Admission<T> = (object: T) => T;

export function admission<T extends KubernetesObject>(
  options: Pick<ReflectorOptions<T>, 'resource' | 'stripManagedFields' | 'transform'>,
  onError: (error: Error) => void,
): Admission<T> {
  const { transform, stripManagedFields = false } = options;
  const apiVersion = apiVersionOf(options.resource);
  const { kind } = options.resource;
  // Consecutive objects often have the same namespace and, in a list, the same second of creation.
  let namespace: string | undefined;
  let time: string | undefined;
  const shared = sharedStrings();

  return (object) => {
    const { metadata } = object;
    // All objects share one string: JSON.parse shares only strings of fewer than ten characters.
    object.apiVersion = apiVersion;
    object.kind = kind;
    if (metadata.namespace !== undefined) {
      if (metadata.namespace === namespace) metadata.namespace = namespace;
      else namespace = metadata.namespace;
    }
    if (metadata.creationTimestamp !== undefined) {
      if (metadata.creationTimestamp === time) metadata.creationTimestamp = time;
      else time = metadata.creationTimestamp;
    }
    // Only events of a watch have managedFields; lists omit them. Set to undefined, not deleted: deleting a property
    // makes V8 store the object as a hash table, with four times the memory.
    if (stripManagedFields && metadata.managedFields !== undefined) {
      (metadata as { managedFields: ObjectMeta['managedFields'] | undefined }).managedFields = undefined;
    }
    for (const condition of conditionsOf(object)) {
      for (const field of wordsOfConditions) {
        const text = condition[field];
        if (typeof text === 'string') condition[field] = shared(text);
      }
    }
    if (transform === undefined) return object;
    try {
      return transform(object);
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
      return object;
    }
  };
}

/** A fifth of the memory of a ready object: thousands have the same conditions, from the same few seconds. */
const wordsOfConditions = ['type', 'reason', 'message', 'lastTransitionTime'] as const;

function conditionsOf(object: KubernetesObject): Partial<Condition>[] {
  const { conditions } = (object as { status?: { conditions?: unknown } }).status ?? {};
  return Array.isArray(conditions) ? conditions.filter((each) => typeof each === 'object' && each !== null) : [];
}

const longestShared = 64;
const mostShared = 1_024;

/** Returns the same string for equal texts, as far as they are remembered. */
function sharedStrings(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    if (text.length < 10 || text.length > longestShared) return text;
    const same = known.get(text);
    if (same !== undefined) return same;
    if (known.size >= mostShared) known.clear();
    known.set(text, text);
    return text;
  };
}
