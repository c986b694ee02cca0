/**
 * A value beside what it was before an update. The API server forgives what an update leaves as it was: "ratcheting". What counts as left
 * alone is narrower than equality: a field that the schema does not know is never taken as unchanged, elements of lists are only followed
 * where the list is a map by keys.
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

  /** What is under a key in both; undefined where it is not in both, or unknown to the schema. */
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

/** The elements a list had before, by the keys of a list that is a map. */
export class OldElements {
  readonly #keys: readonly string[];
  readonly #elements = new Map<string, unknown>();

  constructor(schema: CrdSchema, old: readonly unknown[]) {
    const isMap = schema.type === 'array' && schema['x-kubernetes-list-type'] === 'map';
    this.#keys = isMap ? (schema['x-kubernetes-list-map-keys'] ?? []) : [];
    if (this.#keys.length === 0) return;
    for (const each of old) {
      const key = this.#keyOf(each);
      // Of elements with the same key the first is meant.
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
