/**
 * OpenAPI v3 schema → types to check against, and bounds of sizes for estimates. A schema may be large and may refer
 * to itself, so a type is made when the checker first asks for it.
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
  /** The root of a resource, which has metadata whether the schema says so or not. */
  readonly resource?: boolean;
  /**
   * What the schema leaves open: `dyn` lets expressions reach it and checks nothing; `hidden` makes it an error, as
   * it is in the validation rules of CRDs.
   */
  readonly unknownFields?: 'dyn' | 'hidden';
  /**
   * What values look like when expressions run: `converted` by `valueBySchema`, or the `json` as it came. Then formats
   * are text, objects may be used as maps, numbers may be whole, and properties go by their own names.
   */
  readonly values?: 'converted' | 'json';
  readonly resolve?: Resolve;
}

export interface SchemaTypes {
  readonly type: Type;
  /** For the environment: knows the object types that are named inside `type`. */
  readonly provider: TypeProvider;
  /** Largest sizes for `estimate`; `variable` is the name the root goes by. */
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

/** Kubernetes gives the keys of a map no bound of their own, and takes that as 0. */
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

/** Serialized sizes of what has a format. */
const FORMATS: Readonly<Record<string, { type: Type; min: number; max: number }>> = {
  byte: { type: types.BYTES, min: 2, max: MAX_TEXT },
  duration: { type: types.DURATION, min: 3, max: 32 },
  date: { type: types.TIMESTAMP, min: 12, max: 12 },
  'date-time': { type: types.TIMESTAMP, min: 21, max: 32 },
};

interface NamedNode {
  readonly name: string;
  readonly node: SchemaNode;
  /** A reserved word: it may be written as it is, too. */
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
    // JSON of one definition is of one type wherever it stands: containers and initContainers may be added.
    const reference = context.json ? (schema.$ref ?? schema.allOf?.[0]?.$ref) : undefined;
    this.#name = reference?.split('/').at(-1) ?? name;
    this.#context = context;
  }

  /** undefined: not to be seen by expressions. */
  get type(): Type | undefined {
    if (!this.#typed) {
      this.#typed = true;
      const bare = this.#bareType();
      // Null may stand for objects and times as it is; for the others the type has to say so. Validation rules of CRDs
      // see no null: a field that is null is not there.
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

  /** What is under an (escaped) field name. */
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
   * A property by its own name: what it goes by in expressions, and what it is; undefined where expressions cannot name
   * it.
   */
  property(key: string): NamedNode | undefined {
    let found = this.#named.get(key);
    if (found === undefined) {
      const name = escapeProperty(key);
      const node = name === undefined ? undefined : this.field(name);
      found = node === undefined ? null : { name: name as string, node, reserved: name !== key && isReserved(key) };
      // Names come from data as well: only those of the schema are worth remembering.
      if (found !== null || this.#named.size < MAX_REMEMBERED) this.#named.set(key, found);
    }
    return found ?? undefined;
  }

  /** What a list or map holds. */
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

  /** The most elements, entries or characters there can be, in bytes where Kubernetes counts bytes. */
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

  /** The fewest bytes it takes as JSON. */
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

/** Past this a schema that requires itself is taken as small: it has no instance anyway. */
const MAX_DEPTH = 50;

const PRIMITIVE: ReadonlySet<string> = new Set(['bool', 'int', 'double', 'string', 'bytes']);

const isSchema = (value: boolean | Schema | undefined): value is Schema => typeof value === 'object';

const atLeastZero = (value: number): number => Math.max(0, value);
