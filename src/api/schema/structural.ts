import type { OpenApiSchema } from './openapi.ts';

/**
 * `structuralViolations` lists what the API server would reject in a schema, and what this project additionally
 * requires: every field has a description, and every string, list and map is bounded. Each violation is one sentence
 * with a path. A schema without violations can be published.
 */
export function structuralViolations(schema: OpenApiSchema, path = ''): string[] {
  const violations: string[] = [];
  const object = (reason: string) => violations.push(`${path === '' ? '(root)' : path}: ${reason}`);
  const intOrString = schema['x-kubernetes-int-or-string'] === true;

  if (path === '.metadata') return metadataViolations(schema);
  if (schema.description === undefined || schema.description.trim() === '') object('has no description');
  if (schema.type === undefined && !intOrString) object('has no type');
  if (schema.type !== undefined && intOrString) object('has both a type and x-kubernetes-int-or-string');

  if (schema.type === 'object') {
    const shapes = [
      schema.properties,
      schema.additionalProperties,
      schema['x-kubernetes-preserve-unknown-fields'],
    ].filter((shape) => shape !== undefined);
    if (shapes.length !== 1) {
      object('an object needs exactly one of properties, additionalProperties and preserve-unknown-fields');
    }
    if (schema.additionalProperties && schema.maxProperties === undefined) object('a map needs maxProperties');
    for (const name of schema.required ?? []) {
      if (!schema.properties?.[name]) object(`requires ${name}, which is not one of its properties`);
    }
  } else if (schema.properties || schema.additionalProperties || schema.required) {
    object('properties belong to an object');
  }

  if (schema.type === 'array') {
    if (!schema.items) object('a list needs items');
    if (schema.maxItems === undefined) object('a list needs maxItems');
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    if ((schema['x-kubernetes-list-type'] === 'map') !== keys.length > 0) {
      object('a list of type map, and only it, needs keys');
    }
    for (const key of keys) {
      const present = schema.items?.required?.includes(key) || schema.items?.properties?.[key]?.default !== undefined;
      if (!present) object(`the key ${key} must be required or have a default`);
    }
  } else if (schema.items) {
    object('items belong to a list');
  }

  const bounded = schema.maxLength !== undefined || schema.format === 'date-time';
  if (schema.type === 'string' && !bounded) object('a string needs maxLength');
  if (schema.type === 'integer' && (schema.minimum === undefined || schema.maximum === undefined)) {
    object('an integer needs minimum and maximum');
  }
  for (const { rule, message } of schema['x-kubernetes-validations'] ?? []) {
    if (/[\r\n]/.test(message) || message.trim() === '') object(`the message of ${rule} must be one line`);
    if (message.length > 2048) object(`the message of ${rule} is longer than 2048 characters`);
  }

  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    violations.push(...structuralViolations(property, `${path}.${name}`));
  }
  if (schema.additionalProperties) violations.push(...structuralViolations(schema.additionalProperties, `${path}.*`));
  if (schema.items) violations.push(...structuralViolations(schema.items, `${path}[]`));
  return violations;
}

/** The API server has its own schema for metadata: a CRD can restrict only the name. */
function metadataViolations(schema: OpenApiSchema): string[] {
  const { type, properties = {}, ...other } = schema;
  const violations = type === 'object' ? [] : ['.metadata: must have the type object'];
  for (const key of Object.keys(other)) violations.push(`.metadata: cannot have ${key}`);
  for (const [name, property] of Object.entries(properties)) {
    if (name !== 'name' && name !== 'generateName') violations.push(`.metadata.${name}: cannot be restricted`);
    violations.push(...structuralViolations(property, `.metadata.${name}`));
  }
  return violations;
}
