/** The part of an OpenAPI v3 schema that types and values depend on. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** `Resolve` returns the schema that a `$ref` names. */
export type Resolve = (reference: string) => Schema | undefined;

/** `dereference` follows a `$ref`, including the single `allOf` that Kubernetes wraps around it. */
export function dereference(schema: Schema, resolve: Resolve | undefined): Schema {
  let current = schema;
  // A chain of references is followed, but a cycle ends.
  for (let hops = 0; hops < 10; hops++) {
    const only = current.allOf?.length === 1 && current.type === undefined ? current.allOf[0] : undefined;
    const reference = current.$ref ?? only?.$ref;
    const found = reference === undefined ? only : resolve?.(reference);
    if (found === undefined) return current;
    current = current.default === undefined ? found : { ...found, default: current.default };
  }
  return current;
}

const TEXT: Schema = { type: 'string' };

/**
 * `withTypeMeta` adds apiVersion, kind, metadata.name and metadata.generateName, which the root of a resource always
 * has.
 */
export function withTypeMeta(schema: Schema): Schema {
  const metadata = schema.properties?.metadata;
  const named = metadata?.properties?.name !== undefined && metadata.properties.generateName !== undefined;
  if (named && schema.properties?.kind !== undefined && schema.properties.apiVersion !== undefined) return schema;
  const properties = {
    ...schema.properties,
    kind: TEXT,
    apiVersion: TEXT,
    metadata: named ? (metadata as Schema) : { type: 'object', properties: { name: TEXT, generateName: TEXT } },
  };
  return { ...schema, properties };
}
