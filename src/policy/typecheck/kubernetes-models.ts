/**
 * Schemas of built-in Kubernetes types without a cluster, from the fields of the models of the client library. A schema is made when
 * another one first refers to it.
 */
import type { Schema } from '../../cel/index.ts';
import { attributesOf } from './kubernetes-attributes.ts';

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

function schemaOf(model: string): Schema {
  if (!/^\w+$/.test(model)) return {};
  return {
    type: 'object',
    properties: Object.fromEntries(
      attributesOf(model).map(([name, type, format]) => [name, fieldSchema(type, format)]),
    ),
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
