/**
 * A value and its old value in an update. The API server does not report faults in values that an update leaves
 * unchanged ("ratcheting"). "Unchanged" is narrower than equality: a field that the schema does not name never counts
 * as unchanged, and elements of lists are matched only if the list has type map.
 */
import { same } from '../canonical.ts';
import type { CrdSchema } from '../schema.ts';
import { isInt64, isObject, type JsonObject } from './json.ts';

export class Correlation {
  readonly value: unknown;
  readonly old: unknown;
  readonly #schema: CrdSchema;
  #children: Map<string | number, Correlation> | undefined;
  #oldByKey: OldElements | undefined;
  #unchanged: boolean | undefined;

  constructor(value: unknown, old: unknown, schema: CrdSchema) {
    this.value = value;
    this.old = old;
    this.#schema = schema;
  }

  /** The values under a key in both; undefined if one of them lacks the key, or the schema does not name it. */
  key(name: string): Correlation | undefined {
    const known = this.#children?.get(name);
    if (known !== undefined) return known;
    const { value, old } = this;
    if (!isObject(value) || !isObject(old) || !Object.hasOwn(value, name) || !Object.hasOwn(old, name))
      return undefined;
    const { properties, additionalProperties } = this.#schema;
    const schema =
      properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : schemaOf(additionalProperties);
    return schema === undefined ? undefined : this.#remember(name, value[name], old[name], schema);
  }

  index(position: number): Correlation | undefined {
    const known = this.#children?.get(position);
    if (known !== undefined) return known;
    const { value, old } = this;
    const { items } = this.#schema;
    if (!Array.isArray(value) || !Array.isArray(old) || items === undefined || position >= value.length)
      return undefined;
    if (this.#schema['x-kubernetes-list-type'] !== 'map') return undefined;
    this.#oldByKey ??= new OldElements(this.#schema, old);
    const before = this.#oldByKey.find(value[position]);
    return before === undefined ? undefined : this.#remember(position, value[position], before, items);
  }

  #remember(step: string | number, value: unknown, old: unknown, schema: CrdSchema): Correlation {
    const made = new Correlation(value, old, schema);
    this.#children ??= new Map();
    this.#children.set(step, made);
    return made;
  }

  get unchanged(): boolean {
    this.#unchanged ??= this.#isUnchanged();
    return this.#unchanged;
  }

  #isUnchanged(): boolean {
    const { value, old } = this;
    if (Array.isArray(value)) return Array.isArray(old) && this.#sameList(value, old);
    if (isObject(value)) return isObject(old) && this.#sameObject(value, old);
    return same(value, old);
  }

  #sameList(value: readonly unknown[], old: readonly unknown[]): boolean {
    if (value.length !== old.length) return false;
    for (let position = 0; position < value.length; position++) {
      const child = this.index(position);
      if (child === undefined) return this.#oldByKey === undefined && same(value, old);
      if (!child.unchanged) return false;
    }
    return true;
  }

  #sameObject(value: JsonObject, old: JsonObject): boolean {
    const keys = Object.keys(value);
    if (keys.length !== Object.keys(old).length) return false;
    for (const key of keys) if (this.key(key)?.unchanged !== true) return false;
    return true;
  }
}

const schemaOf = (schema: boolean | CrdSchema | undefined): CrdSchema | undefined =>
  typeof schema === 'object' ? schema : undefined;

/** The old elements of a list of type map, by their keys. */
export class OldElements {
  readonly #keys: readonly string[];
  readonly #elements = new Map<string, unknown>();

  constructor(schema: CrdSchema, old: readonly unknown[]) {
    const isMap = schema.type === 'array' && schema['x-kubernetes-list-type'] === 'map';
    this.#keys = isMap ? (schema['x-kubernetes-list-map-keys'] ?? []) : [];
    if (this.#keys.length === 0) return;
    for (const each of old) {
      const key = this.#keyOf(each);
      // If several elements have the same key, the first one counts.
      if (key !== undefined && !this.#elements.has(key)) this.#elements.set(key, each);
    }
  }

  find(element: unknown): unknown {
    const key = this.#keyOf(element);
    return key === undefined ? undefined : this.#elements.get(key);
  }

  #keyOf(element: unknown): string | undefined {
    if (!isObject(element)) return undefined;
    let key = '';
    for (const name of this.#keys) {
      const value = Object.hasOwn(element, name) ? element[name] : undefined;
      const part = scalarKey(value);
      if (part === undefined) return undefined;
      key += part;
    }
    return key;
  }
}

function scalarKey(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return `${JSON.stringify(value)},`;
    case 'boolean':
      return `${value},`;
    case 'number':
    case 'bigint':
      return `${isInt64(value) ? 'i' : 'f'}${value},`;
    default:
      return undefined;
  }
}
