/** From a kind to the JSON Schema that an editor completes and checks a manifest with. */
import { API_VERSION } from './constants.ts';
import type { Kind } from './kind.ts';
import type { OpenApiSchema } from './schema/index.ts';

/** Draft 7, because that is what editors know best. */
export interface JsonSchema {
  $schema?: string;
  title?: string;
  description?: string;
  type?: string | readonly string[];
  const?: string;
  enum?: readonly string[];
  format?: string;
  pattern?: string;
  default?: unknown;
  required?: readonly string[];
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  uniqueItems?: boolean;
}

export function schemaFor(kind: Kind): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: kind.kind,
    description: kind.description,
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    additionalProperties: false,
    properties: {
      apiVersion: { description: 'The version of the API.', const: API_VERSION },
      kind: { description: 'The kind of the object.', const: kind.kind },
      metadata: metadata(kind),
      spec: toJsonSchema(kind.spec.openapi),
      status: toJsonSchema(kind.status.openapi),
    },
  };
}

/**
 * The same bounds, said in JSON Schema. An object takes no field that it does not name, as the API server does under strict
 * validation. Rules in CEL have no counterpart and are left to the API server.
 */
function toJsonSchema(schema: OpenApiSchema): JsonSchema {
  const {
    properties,
    additionalProperties,
    items,
    format,
    'x-kubernetes-int-or-string': intOrString,
    'x-kubernetes-preserve-unknown-fields': preserveUnknown,
    'x-kubernetes-list-type': listType,
    'x-kubernetes-list-map-keys': _keys,
    'x-kubernetes-map-type': _mapType,
    'x-kubernetes-validations': _rules,
    ...same
  } = schema;
  const json: JsonSchema = { ...same };
  if (intOrString) json.type = ['integer', 'string'];
  if (format === 'date-time') json.format = format;
  if (listType === 'set') json.uniqueItems = true;
  if (items) json.items = toJsonSchema(items);
  if (properties) {
    json.properties = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, toJsonSchema(property)]),
    );
    json.additionalProperties = false;
  }
  if (additionalProperties) json.additionalProperties = toJsonSchema(additionalProperties);
  if (preserveUnknown) json.additionalProperties = true;
  return json;
}

/** What people write, and what the API server adds to it: `kubectl get -o yaml` must be as valid as a manifest. */
function metadata(kind: Kind): JsonSchema {
  const strings = (description: string): JsonSchema => ({
    description,
    type: 'object',
    additionalProperties: { type: 'string' },
  });
  const namespace: JsonSchema = { description: 'The namespace of the object.', type: 'string', maxLength: 63 };
  return {
    description: 'Name, namespace, labels and annotations, as on every Kubernetes object.',
    type: 'object',
    anyOf: [{ required: ['name'] }, { required: ['generateName'] }],
    additionalProperties: false,
    properties: {
      name: {
        description: 'The name of the object.',
        type: 'string',
        maxLength: kind.maxNameLength,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      },
      generateName: {
        description: 'What a generated name begins with.',
        type: 'string',
        maxLength: kind.maxNameLength,
      },
      ...(kind.scope === 'Namespaced' ? { namespace } : {}),
      labels: strings('Labels, to select objects by.'),
      annotations: strings('Annotations, for tools.'),
      finalizers: { description: 'What must be done before deletion.', type: 'array', items: { type: 'string' } },
      ownerReferences: {
        description: 'Kubernetes owners, for garbage collection. The owner of the platform is `spec.owner`.',
        type: 'array',
        items: { type: 'object' },
      },
      uid: { description: 'Set by the API server.', type: 'string' },
      resourceVersion: { description: 'Set by the API server.', type: 'string' },
      generation: { description: 'Set by the API server.', type: 'integer' },
      creationTimestamp: { description: 'Set by the API server.', type: ['string', 'null'] },
      deletionTimestamp: { description: 'Set by the API server.', type: ['string', 'null'] },
      deletionGracePeriodSeconds: { description: 'Set by the API server.', type: ['integer', 'null'] },
      managedFields: { description: 'Set by the API server.', type: 'array', items: { type: 'object' } },
      selfLink: { description: 'Set by old API servers.', type: 'string' },
    },
  };
}
