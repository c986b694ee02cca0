/**
 * Applies defaulting the way the API server does before admission: null fields are removed, and the schema of a custom resource sets
 * the defaults of unset fields. Without it, a rule on such a field would have another result here than in a cluster. The defaults of
 * built-in kinds are code of the API server, and not known here.
 */
import { GROUP, kindNamed, openApiOf, VERSION } from '../../api/index.ts';
import type { Json } from '../../policy/index.ts';

interface SchemaNode {
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
}

/** Schemas by `apiVersion kind`. */
export type Schemas = ReadonlyMap<string, SchemaNode>;

/** `schemasOf` returns the schemas of the CustomResourceDefinitions among the files. */
export function schemasOf(objects: readonly Json[]): Schemas {
  const schemas = new Map<string, SchemaNode>();
  for (const { kind, spec } of objects) {
    if (kind !== 'CustomResourceDefinition' || !isFields(spec) || !isFields(spec.names)) continue;
    for (const version of Array.isArray(spec.versions) ? spec.versions : []) {
      const schema = version?.schema?.openAPIV3Schema;
      if (isFields(schema)) schemas.set(`${spec.group}/${version.name} ${spec.names.kind}`, schema);
    }
  }
  return schemas;
}

/** `withDefaults` returns the object with defaults and without nulls; the same object if nothing changes. */
export function withDefaults<Object extends Json>(object: Object, schemas: Schemas): Object {
  const schema = schemaOf(String(object.apiVersion), String(object.kind), schemas);
  if (schema === undefined) return withoutNulls(object) as Object;
  return withTypedMetadata(filled(object, schema) as Object);
}

/** `withTypedMetadata` removes nulls from the metadata, which the API server reads with its own types, not with the schema. */
function withTypedMetadata<Object extends Json>(object: Object): Object {
  const metadata = withoutNulls(object.metadata);
  return metadata === object.metadata ? object : { ...object, metadata };
}

/** Fields that map names to strings: in them a null becomes an empty string, elsewhere it is removed. */
const TEXTS: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'matchLabels',
  'nodeSelector',
  'data',
  'stringData',
]);

/**
 * `withoutNulls` removes nulls the way built-in types of Kubernetes do. It is also used for custom resources without a known schema,
 * because their fields are rarely nullable.
 */
function withoutNulls(value: unknown, ofTexts = false): unknown {
  if (Array.isArray(value)) {
    return changedOrSame(
      value,
      value.map((item) => withoutNulls(item)),
    );
  }
  if (!isFields(value)) return value;
  let made: Record<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    const read = member === null ? (ofTexts ? '' : undefined) : withoutNulls(member, TEXTS.has(name));
    if (read === member) continue;
    made ??= { ...value };
    if (read === undefined) delete made[name];
    else made[name] = read;
  }
  return made ?? value;
}

/** `schemaOf` returns the schema of a custom resource; undefined if it is unknown. */
export function schemaOf(apiVersion: string, kind: string, schemas: Schemas): SchemaNode | undefined {
  const type = `${apiVersion} ${kind}`;
  return schemas.get(type) ?? ourSchema(type);
}

const ours = new Map<string, SchemaNode>();

function ourSchema(type: string): SchemaNode | undefined {
  const prefix = `${GROUP}/${VERSION} `;
  const kind = type.startsWith(prefix) ? kindNamed(type.slice(prefix.length)) : undefined;
  if (kind === undefined) return undefined;
  const schema = ours.get(kind.kind) ?? (openApiOf(kind) as SchemaNode);
  ours.set(kind.kind, schema);
  return schema;
}

function filled(value: unknown, schema: SchemaNode): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined
      ? value
      : changedOrSame(
          value,
          value.map((item) => filled(item, items)),
        );
  }
  return isFields(value) ? filledFields(value, schema) : value;
}

function filledFields(fields: Json, { properties = {}, additionalProperties }: SchemaNode): Json {
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    // A null in a field that is not nullable counts as unset.
    if (value === null && typeof schema === 'object' && schema.nullable !== true) continue;
    made[name] = typeof schema === 'object' ? filled(value, schema) : value;
  }
  for (const [name, schema] of Object.entries(properties)) {
    if (schema.default !== undefined && !Object.hasOwn(made, name))
      made[name] = filled(structuredClone(schema.default), schema);
  }
  const names = Object.keys(made);
  const same = names.length === Object.keys(fields).length && names.every((name) => made[name] === fields[name]);
  return same ? fields : made;
}

const changedOrSame = (before: readonly unknown[], after: readonly unknown[]): readonly unknown[] =>
  after.every((item, index) => item === before[index]) ? before : after;

const isFields = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
