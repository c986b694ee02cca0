/**
 * What the API server makes of an object before admission sees it: fields that are null are left out, and the schema of a custom
 * resource fills in what is left out. Without it a rule about such a field would be answered otherwise here than there. Defaults of
 * Kubernetes' own kinds are code of the API server's, and not known here.
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

/** By `apiVersion kind`. */
export type Schemas = ReadonlyMap<string, SchemaNode>;

/** Of the CustomResourceDefinitions among the files. */
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

/** The same object where there is nothing to fill in or to leave out. */
export function withDefaults<Object extends Json>(object: Object, schemas: Schemas): Object {
  const schema = schemaOf(String(object.apiVersion), String(object.kind), schemas);
  if (schema === undefined) return withoutNulls(object) as Object;
  return withTypedMetadata(filled(object, schema) as Object);
}

/** Whatever the schema says of it, metadata is read by the API server's own types. */
function withTypedMetadata<Object extends Json>(object: Object): Object {
  const metadata = withoutNulls(object.metadata);
  return metadata === object.metadata ? object : { ...object, metadata };
}

/** Maps from names to text: there a null is read as empty text, elsewhere as nothing. */
const TEXTS: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'matchLabels',
  'nodeSelector',
  'data',
  'stringData',
]);

/** Reads JSON as Kubernetes' built-in types do. Custom resources without a known schema are read alike, because their fields are rarely nullable. */
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

/** The cached schema of a custom resource; undefined if it is unknown. */
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
    // A null where the schema knows none counts as left out.
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
