/** Builds the JSON Schema with which an editor completes and validates a manifest. */
import { API_VERSION } from './constants.ts';
import type { Kind } from './kind.ts';
import type { OpenApiSchema } from './schema/index.ts';

/** JSON Schema draft 7, the draft that editors support best. */
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
      apiVersion: { description: 'API version of the object.', const: API_VERSION },
      kind: { description: 'Kind of the object.', const: kind.kind },
      metadata: metadata(kind),
      spec: toJsonSchema(kind.spec.openapi),
      status: toJsonSchema(kind.status.openapi),
    },
  };
}

/**
 * Translates a schema to JSON Schema with the same bounds. Objects reject unknown fields, like the API server under
 * strict validation. CEL rules have no equivalent; only the API server evaluates them.
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

/**
 * The schema of metadata: the fields that users write and those that the API server adds, because the output of
 * `kubectl get -o yaml` must be as valid as a manifest.
 */
function metadata(kind: Kind): JsonSchema {
  const strings = (description: string): JsonSchema => ({
    description,
    type: 'object',
    additionalProperties: { type: 'string' },
  });
  const namespace: JsonSchema = { description: 'Namespace of the object.', type: 'string', maxLength: 63 };
  return {
    description: 'Name, namespace, labels and annotations, as on every Kubernetes object.',
    type: 'object',
    anyOf: [{ required: ['name'] }, { required: ['generateName'] }],
    additionalProperties: false,
    properties: {
      name: {
        description: 'Name of the object.',
        type: 'string',
        maxLength: kind.maxNameLength,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      },
      generateName: {
        description: 'Prefix of a generated name.',
        type: 'string',
        maxLength: kind.maxNameLength,
      },
      ...(kind.scope === 'Namespaced' ? { namespace } : {}),
      labels: strings('Labels of the object.'),
      annotations: strings('Annotations of the object.'),
      finalizers: {
        description: 'Finalizers that must be removed before the object is deleted.',
        type: 'array',
        items: { type: 'string' },
      },
      ownerReferences: {
        description: 'Kubernetes owner references, for garbage collection. The owner on the platform is `spec.owner`.',
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
