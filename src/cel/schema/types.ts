/**
 * Derives types for the checker and size bounds for estimates from an OpenAPI v3 schema. A schema may be large and
 * recursive, so a type is created when the checker first needs it.
 */
import type { SizeBounds } from '../cost/estimate.ts';
import type { ObjectType, TypeProvider } from '../environment.ts';
import * as types from '../types.ts';
import { DYN, type Type } from '../types.ts';
import { escapeProperty, isReserved } from './escape.ts';
import { dereference, type Resolve, type Schema, withTypeMeta } from './schema.ts';

export interface SchemaOptions {
  /** The name of the root's type in errors, and of types inside it: `Deployment.spec`. */
  readonly name: string;
  /** Whether the root is a resource, which has metadata even if the schema does not declare it. */
  readonly resource?: boolean;
  /**
   * The treatment of undeclared fields: `dyn` allows them without type checks; `hidden` makes them an error, as in the
   * validation rules of CRDs.
   */
  readonly unknownFields?: 'dyn' | 'hidden';
  /**
   * The form of values at run time: `converted` by `valueBySchema`, or plain `json`. With `json`, formats are strings,
   * objects may be used as maps, numbers may be integers, and properties keep their own names.
   */
  readonly values?: 'converted' | 'json';
  readonly resolve?: Resolve;
}

export interface SchemaTypes {
  readonly type: Type;
  /** The type provider for the environment: it resolves the object types inside `type`. */
  readonly provider: TypeProvider;
  /** Returns the maximum sizes for `estimate`; `variable` is the name of the root. */
  bounds(variable: string): SizeBounds;
  readonly root: SchemaNode;
}

export function typesFromSchema(schema: Schema, options: SchemaOptions): SchemaTypes {
  const registry = new Map<string, ObjectType>();
  const context: Context = {
    registry,
    hidden: options.unknownFields === 'hidden',
    json: options.values === 'json',
    resolve: options.resolve,
  };
  const root = new SchemaNode(schema, options.name, options.resource ?? true, context);
  return {
    type: root.type ?? DYN,
    provider: (name) => registry.get(name),
    bounds: (variable) => (path) => (path[0] === variable ? boundAt(root, path.slice(1)) : undefined),
    root,
  };
}

/** Kubernetes declares no bound for the keys of a map, and uses 0. */
function boundAt(root: SchemaNode, path: readonly string[]): number | undefined {
  if (path.at(-1) !== '@keys') return root.at(path)?.maxElements;
  return root.at(path.slice(0, -1))?.element === undefined ? undefined : 0;
}

interface Context {
  readonly registry: Map<string, ObjectType>;
  readonly hidden: boolean;
  readonly json: boolean;
  readonly resolve: Resolve | undefined;
}

const MAX_REQUEST = 3 * 1024 * 1024;
const MAX_TEXT = MAX_REQUEST - 2;

/** The serialized sizes of string formats. */
const FORMATS: Readonly<Record<string, { type: Type; min: number; max: number }>> = {
  byte: { type: types.BYTES, min: 2, max: MAX_TEXT },
  duration: { type: types.DURATION, min: 3, max: 32 },
  date: { type: types.TIMESTAMP, min: 12, max: 12 },
  'date-time': { type: types.TIMESTAMP, min: 21, max: 32 },
};

interface NamedNode {
  readonly name: string;
  readonly node: SchemaNode;
  /** Whether the name is a reserved word, which may also be written without escaping. */
  readonly reserved: boolean;
}

const MAX_REMEMBERED = 1000;

export class SchemaNode {
  readonly schema: Schema;
  readonly #name: string;
  readonly #context: Context;
  readonly #fields = new Map<string, SchemaNode | undefined>();
  readonly #named = new Map<string, NamedNode | null>();
  #element: SchemaNode | undefined;
  #type: Type | undefined;
  #typed = false;

  constructor(schema: Schema, name: string, resource: boolean, context: Context) {
    const found = dereference(schema, context.resolve);
    this.schema = resource || found['x-kubernetes-embedded-resource'] === true ? withTypeMeta(found) : found;
    // Plain JSON of one definition has one type everywhere, so containers and initContainers can be concatenated.
    const reference = context.json ? (schema.$ref ?? schema.allOf?.[0]?.$ref) : undefined;
    this.#name = reference?.split('/').at(-1) ?? name;
    this.#context = context;
  }

  /** The type; undefined if expressions cannot see the value. */
  get type(): Type | undefined {
    if (!this.#typed) {
      this.#typed = true;
      const bare = this.#bareType();
      // Objects and times are nullable as they are; the other types need a wrapper. Validation rules of CRDs see no
      // null: a field that is null is absent.
      const nullable = this.schema.nullable === true && !this.#context.hidden;
      this.#type = bare !== undefined && nullable && PRIMITIVE.has(bare.kind) ? types.wrapper(bare) : bare;
    }
    return this.#type;
  }

  #bareType(): Type | undefined {
    const { schema } = this;
    if (schema['x-kubernetes-int-or-string'] === true) return DYN;
    switch (schema.type) {
      case 'array': {
        const element = this.element?.type;
        return element === undefined ? this.#open() : types.list(element);
      }
      case 'object':
        return this.#objectType();
      case 'string':
        return this.#context.json ? types.STRING : (FORMATS[schema.format ?? '']?.type ?? types.STRING);
      case 'boolean':
        return types.BOOL;
      case 'number':
        return this.#context.json ? DYN : types.DOUBLE;
      case 'integer':
        return types.INT;
      default:
        return this.#open();
    }
  }

  #open(): Type | undefined {
    return this.#context.hidden ? undefined : DYN;
  }

  #objectType(): Type | undefined {
    const { schema } = this;
    const { json } = this.#context;
    if (isSchema(schema.additionalProperties)) {
      const element = this.element?.type;
      return element === undefined ? undefined : types.map(types.STRING, element);
    }
    const fields = schema.properties ?? {};
    if (!this.#context.hidden && Object.keys(fields).length === 0) return DYN;
    const open = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
    this.#context.registry.set(this.#name, {
      name: this.#name,
      constructible: false,
      field: (name) => this.field(name)?.type ?? (open ? this.#open() : undefined),
      fieldNames: () =>
        json ? Object.keys(fields) : Object.keys(fields).flatMap((each) => escapeProperty(each) ?? []),
    });
    return json ? types.record(this.#name) : types.object(this.#name);
  }

  get hidesUnknown(): boolean {
    return this.#context.hidden;
  }

  /** Returns the node under an (escaped) field name. */
  field(name: string): SchemaNode | undefined {
    if (!this.#fields.has(name)) this.#fields.set(name, this.#findField(name));
    return this.#fields.get(name);
  }

  #findField(name: string): SchemaNode | undefined {
    const properties = this.schema.properties ?? {};
    const { json } = this.#context;
    const written = Object.hasOwn(properties, name) && (json || escapeProperty(name) === name || isReserved(name));
    if (json && !written) return undefined;
    const property = written ? name : Object.keys(properties).find((each) => escapeProperty(each) === name);
    if (property === undefined) return undefined;
    return new SchemaNode(properties[property] as Schema, `${this.#name}.${name}`, false, this.#context);
  }

  /**
   * Returns a property by its own name: its name in expressions and its node; undefined if expressions cannot name it.
   */
  property(key: string): NamedNode | undefined {
    let found = this.#named.get(key);
    if (found === undefined) {
      const name = escapeProperty(key);
      const node = name === undefined ? undefined : this.field(name);
      found = node === undefined ? null : { name: name as string, node, reserved: name !== key && isReserved(key) };
      // Names also come from data, so only those of the schema are cached.
      if (found !== null || this.#named.size < MAX_REMEMBERED) this.#named.set(key, found);
    }
    return found ?? undefined;
  }

  /** The node of the elements of a list or map. */
  get element(): SchemaNode | undefined {
    if (this.#element !== undefined) return this.#element;
    const { items, additionalProperties } = this.schema;
    const inner =
      this.schema.type === 'array' ? items : isSchema(additionalProperties) ? additionalProperties : undefined;
    if (inner === undefined) return undefined;
    const step = this.schema.type === 'array' ? '@idx' : '@elem';
    this.#element = new SchemaNode(inner, `${this.#name}.${step}`, false, this.#context);
    return this.#element;
  }

  at(path: readonly string[]): SchemaNode | undefined {
    let node: SchemaNode | undefined = this;
    for (const each of path) {
      if (node === undefined) return undefined;
      if (each === '@items' || each === '@values') node = node.element;
      else node = each.startsWith('@') ? undefined : node.field(each);
    }
    return node;
  }

  /** The maximum number of elements, entries or characters; in bytes where Kubernetes counts bytes. */
  get maxElements(): number {
    const { schema } = this;
    if (schema['x-kubernetes-int-or-string'] === true) {
      return schema.maxLength === undefined ? MAX_TEXT : atLeastZero(schema.maxLength) * 4;
    }
    switch (schema.type) {
      case 'array':
        if (schema.maxItems !== undefined) return atLeastZero(schema.maxItems);
        return Math.floor(MAX_TEXT / ((this.element?.minSerialized() ?? 0) + 1));
      case 'object':
        if (!isSchema(schema.additionalProperties)) return 0;
        if (schema.maxProperties !== undefined) return atLeastZero(schema.maxProperties);
        return Math.floor(MAX_TEXT / ((this.element?.minSerialized() ?? 0) + 6));
      case 'string':
        return this.#maxText();
      default:
        return 0;
    }
  }

  #maxText(): number {
    const { schema } = this;
    const format = FORMATS[schema.format ?? ''];
    if (format !== undefined && format.type !== types.BYTES) return format.max;
    if (schema.maxLength !== undefined) return atLeastZero(schema.maxLength) * (format === undefined ? 4 : 1);
    if (format === undefined && schema.enum !== undefined && schema.enum.length > 0) {
      return Math.max(...schema.enum.map((each) => (typeof each === 'string' ? Buffer.byteLength(each) : 0)));
    }
    return MAX_TEXT;
  }

  /** Returns the minimum size of the value as JSON, in bytes. */
  minSerialized(depth = 0): number {
    const { schema } = this;
    if (schema['x-kubernetes-int-or-string'] === true) return 1;
    switch (schema.type) {
      case 'object':
        return isSchema(schema.additionalProperties) || depth > MAX_DEPTH ? 2 : this.#minObject(depth);
      case 'string':
        return FORMATS[schema.format ?? '']?.min ?? 2;
      case 'boolean':
        return 4;
      case 'number':
      case 'integer':
        return 1;
      default:
        return 2;
    }
  }

  #minObject(depth: number): number {
    let size = 2;
    for (const name of new Set(this.schema.required)) {
      const property = this.schema.properties?.[name];
      if (property === undefined || property.default !== undefined) continue;
      const node = new SchemaNode(property, name, false, this.#context);
      if (node.type !== undefined) size += Buffer.byteLength(name) + node.minSerialized(depth + 1) + 4;
    }
    return size;
  }
}

/** Below this depth, a schema that requires itself counts as small: it has no instance anyway. */
const MAX_DEPTH = 50;

const PRIMITIVE: ReadonlySet<string> = new Set(['bool', 'int', 'double', 'string', 'bytes']);

const isSchema = (value: boolean | Schema | undefined): value is Schema => typeof value === 'object';

const atLeastZero = (value: number): number => Math.max(0, value);
