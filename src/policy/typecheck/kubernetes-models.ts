/**
 * Schemas of built-in Kubernetes types without a cluster, from the models of the client library, which declare the
 * types of their fields. Each model is a small file that is loaded when a schema first refers to it.
 */
import { createRequire } from 'node:module';
import type { Schema } from '../../cel/index.ts';

const PREFIX = '#/kubernetes/';

export const modelReference = (model: string): Schema => {
  const known = REFERENCES.get(model) ?? { $ref: PREFIX + model };
  REFERENCES.set(model, known);
  return known;
};

/** Resolves a reference of `modelReference`; undefined for any other reference. */
export function kubernetesModel(reference: string): Schema | undefined {
  if (!reference.startsWith(PREFIX)) return undefined;
  const model = reference.slice(PREFIX.length);
  let schema = MODELS.get(model);
  if (schema === undefined) {
    schema = schemaOf(model);
    MODELS.set(model, schema);
  }
  return schema;
}

// Caches of constant schemas.
const REFERENCES = new Map<string, Schema>();
const MODELS = new Map<string, Schema>();

/** The metadata of every object. */
export const METADATA = modelReference('V1ObjectMeta');

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

const load = createRequire(import.meta.url);

function schemaOf(model: string): Schema {
  if (!/^\w+$/.test(model)) return {};
  const module = load(`@kubernetes/client-node/dist/gen/models/${model}.js`) as Readonly<
    Record<string, { readonly attributeTypeMap: readonly Attribute[] } | undefined>
  >;
  const attributes = module[model]?.attributeTypeMap ?? [];
  return {
    type: 'object',
    properties: Object.fromEntries(attributes.map((each) => [each.baseName, fieldSchema(each.type, each.format)])),
  };
}

/** Parses types such as `Array<V1Container>`. An untyped field (`any`) accepts any value. */
function fieldSchema(type: string, format: string): Schema {
  const list = /^Array<(.*)>$/.exec(type);
  if (list !== null) return { type: 'array', items: fieldSchema(list[1] as string, format) };
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
  if (map !== null) return { type: 'object', additionalProperties: fieldSchema(map[1] as string, format) };
  switch (type) {
    case 'string':
      return format === '' ? TEXT : { type: 'string', format };
    case 'boolean':
      return { type: 'boolean' };
    case 'number':
      return { type: format === 'double' ? 'number' : 'integer' };
    case 'Date':
    case 'V1MicroTime':
      return { type: 'string', format: 'date-time' };
    case 'IntOrString':
      return { 'x-kubernetes-int-or-string': true };
    case 'any':
    case 'object':
      return {};
    default:
      return modelReference(type);
  }
}

const TEXT: Schema = { type: 'string' };
