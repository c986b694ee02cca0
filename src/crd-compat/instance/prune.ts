/** Prunes the fields that the schema does not name, as the API server does. */
import type { CrdSchema } from '../schema.ts';
import { keyOfAlike } from './alike.ts';
import { pathText, type Step } from './fault.ts';
import { isObject, type JsonObject } from './json.ts';
import { coerceMetadata } from './metadata.ts';

interface Pruned {
  /** The pruned value, which shares its unchanged parts with the input; the value itself if nothing was pruned. */
  readonly value: unknown;
  /** The paths of the pruned fields, such as `.spec.colour`. */
  readonly pruned: readonly string[];
  /** The paths of metadata that is not an object: a stored object with such metadata cannot be read at all. */
  readonly unreadable: readonly string[];
}

interface PruneOptions {
  /**
   * Whether the value is a whole resource, whose apiVersion, kind and metadata need not be in the schema. The default
   * is true.
   */
  readonly resource?: boolean;
  /**
   * Whether the value is read from etcd: then metadata that cannot be decoded is dropped, while a request with it is
   * refused.
   */
  readonly stored?: boolean;
}

export function prune(value: unknown, schema: CrdSchema, options: PruneOptions = {}): Pruned {
  const pruner = new Pruner(options.stored === true);
  const resource = options.resource !== false;
  return { value: pruner.prune(value, schema, resource), pruned: pruner.pruned, unreadable: pruner.unreadable };
}

const TYPE_META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

class Pruner {
  readonly pruned: string[] = [];
  readonly unreadable: string[] = [];
  readonly #path: Step[] = [];
  readonly #stored: boolean;

  constructor(stored: boolean) {
    this.#stored = stored;
  }

  /** If `schema` is undefined, nothing is known about the value, and objects are emptied. */
  prune(value: unknown, schema: CrdSchema | undefined, resource: boolean): unknown {
    const keepsUnknown = schema?.['x-kubernetes-preserve-unknown-fields'] === true;
    if (Array.isArray(value)) return this.#list(value, schema?.items, keepsUnknown);
    return isObject(value) ? this.#object(value, schema ?? {}, keepsUnknown, resource) : value;
  }

  /** If a list keeps unknown fields, its elements keep theirs too, whatever their schema says. */
  #list(list: readonly unknown[], items: CrdSchema | undefined, keepsUnknown: boolean): unknown {
    if (keepsUnknown && items === undefined) return list;
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      // If nothing was pruned from an item, nothing is pruned when it is repeated.
      if (index > 0 && copy === undefined && list[index] === list[index - 1]) continue;
      // The same holds for an item that differs only in a scalar key.
      if (index === 1 && copy === undefined && keyOfAlike(list) !== undefined) break;
      const kept = this.#step(index, list[index], items, keepsUnknown);
      if (kept === list[index]) continue;
      copy ??= [...list];
      copy[index] = kept;
    }
    return copy ?? list;
  }

  #step(at: Step, value: unknown, schema: CrdSchema | undefined, keepsUnknown = false): unknown {
    if (typeof value !== 'object' || value === null) return value;
    this.#path.push(at);
    const embedded = schema?.['x-kubernetes-embedded-resource'] === true;
    const below =
      keepsUnknown && schema !== undefined ? { ...schema, 'x-kubernetes-preserve-unknown-fields': true } : schema;
    const kept = this.prune(value, below, embedded);
    this.#path.pop();
    return kept;
  }

  #object(value: JsonObject, schema: CrdSchema, keepsUnknown: boolean, resource: boolean): unknown {
    let copy: Record<string, unknown> | undefined;
    for (const key of Object.keys(value)) {
      const held = value[key];
      const kept =
        resource && TYPE_META.has(key) ? this.#typeMeta(key, held) : this.#entry(key, held, schema, keepsUnknown);
      if (kept === held) continue;
      copy ??= { ...value };
      if (kept === undefined) delete copy[key];
      else copy[key] = kept;
    }
    return copy ?? value;
  }

  #entry(key: string, value: unknown, { properties, additionalProperties }: CrdSchema, keepsUnknown: boolean): unknown {
    if (properties !== undefined && Object.hasOwn(properties, key)) return this.#step(key, value, properties[key]);
    if (additionalProperties !== undefined) {
      return this.#step(key, value, typeof additionalProperties === 'object' ? additionalProperties : undefined);
    }
    if (keepsUnknown) return value;
    this.pruned.push(pathText([...this.#path, key]));
    return undefined;
  }

  #typeMeta(key: string, value: unknown): unknown {
    if (key !== 'metadata') return this.#stored && typeof value !== 'string' ? undefined : value;
    const coerced = coerceMetadata(value, this.#stored);
    if (coerced.malformed === '') this.unreadable.push(pathText([...this.#path, 'metadata']));
    for (const name of coerced.unknown) this.pruned.push(pathText([...this.#path, 'metadata', name]));
    return coerced.value;
  }
}
