/** Schema fragments that several events share. JSON Schema 2020-12, which is also the dialect of OpenAPI 3.1. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export const deployableKinds = ['Database', 'Service', 'Cache', 'Topic', 'Secret'] as const;

export const text = (description: string, limits: JsonSchema = {}): JsonSchema => ({
  description,
  type: 'string',
  ...limits,
});

export const nonEmpty = (description: string, maxLength: number): JsonSchema =>
  text(description, { minLength: 1, maxLength });

export const integer = (description: string, maximum: number = Number.MAX_SAFE_INTEGER): JsonSchema => ({
  description,
  type: 'integer',
  minimum: 0,
  maximum,
});

export const choice = (description: string, values: readonly string[]): JsonSchema => ({
  description,
  type: 'string',
  enum: values,
});

/** An object schema. Later versions may add fields: readers ignore those they do not know. */
export const object = (
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema => ({
  description,
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

export const map = (description: string, valueLength: number, maxProperties: number): JsonSchema => ({
  description,
  type: 'object',
  maxProperties,
  propertyNames: { type: 'string', minLength: 1, maxLength: 317 },
  additionalProperties: { type: 'string', maxLength: valueLength },
});

export const namespaceName = (description: string): JsonSchema =>
  text(description, { minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' });

export const objectName = (description: string): JsonSchema =>
  text(description, { minLength: 1, maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' });

/** A timestamp. A pattern cannot check the calendar, so `readEvent` does. */
export const instant = (description: string): JsonSchema =>
  text(description, {
    format: 'date-time',
    maxLength: 40,
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$',
  });

const uid = text('The uid of the object.', { minLength: 1, maxLength: 64, pattern: '^[^/\\s]+$' });

export const deploymentId = text('The deployment: uid, generation and attempt of the object, joined by `/`.', {
  maxLength: 92,
  pattern: '^[^/\\s]{1,64}/(0|[1-9][0-9]{0,15})/(0|[1-9][0-9]{0,9})$',
});

const resourceFields = {
  apiVersion: text('The group and version of the object.', {
    maxLength: 63,
    pattern: '^platform\\.company\\.com/v[0-9]+((alpha|beta)[0-9]+)?$',
  }),
  kind: choice('The kind of the object.', deployableKinds),
  namespace: namespaceName('The namespace of the object.'),
  name: objectName('The name of the object.'),
  uid,
};

export const resource = object('The object of the event.', resourceFields);

export const resourceWithGeneration = object(
  'The object of the event.',
  { ...resourceFields, generation: integer('The generation of its spec.') },
  ['generation'],
);

/** A JWE in compact form: five unpadded parts. */
export const jwe = text('A JWE in compact form: alg `ECDH-ES+A256KW`, enc `A256GCM`, without `zip`.', {
  maxLength: 131_072,
  pattern: '^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$',
});

export const secretRef = object('A Kubernetes Secret of the management cluster.', {
  namespace: namespaceName('Its namespace.'),
  name: objectName('Its name.'),
});
