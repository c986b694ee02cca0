/** Reads the types of `object` from a CustomResourceDefinition. */
import { isMap, type JsonMap, type Schema, type SchemaTypes, typesFromSchema, type Value } from '../../cel/index.ts';
import { InputError } from '../common/failure.ts';
import { parseValue, readText } from './values.ts';

/** `readSchema` reads the schema of a version; without `version`, that of the storage version. */
export function readSchema(path: string, version: string | undefined): SchemaTypes {
  const definition = parseValue(readText(path), path);
  const kind = at(definition, 'spec', 'names', 'kind');
  const versions = at(definition, 'spec', 'versions');
  if (at(definition, 'kind') !== 'CustomResourceDefinition' || typeof kind !== 'string' || !Array.isArray(versions)) {
    throw new InputError('schema', `${path}: not a CustomResourceDefinition, which --schema requires.`);
  }
  const found = versions.find((each: Value) =>
    version === undefined ? at(each, 'storage') === true : at(each, 'name') === version,
  );
  const schema = at(found, 'schema', 'openAPIV3Schema');
  if (schema === undefined || !isMap(schema)) {
    const names = versions.map((each: Value) => String(at(each, 'name'))).join(', ');
    throw new InputError(
      'schema',
      `${path}: ${version === undefined ? 'no storage version' : `no version ${version}`} with a schema; the versions are ${names}.`,
    );
  }
  return typesFromSchema(withMetadata(schema as unknown as Schema), { name: kind });
}

function at(value: Value | undefined, ...path: readonly string[]): Value | undefined {
  let current = value;
  for (const name of path) {
    if (current === undefined || !isMap(current) || !Object.hasOwn(current, name)) return undefined;
    current = (current as JsonMap)[name];
  }
  return current;
}

/** `withMetadata` adds the fields of metadata, which definitions omit: policies see all of them, unlike the rules of a CRD. */
function withMetadata(schema: Schema): Schema {
  return { ...schema, properties: { ...schema.properties, metadata: METADATA } };
}

const TEXT: Schema = { type: 'string' };
const TIME: Schema = { type: 'string', format: 'date-time', nullable: true };
const TEXTS: Schema = { type: 'array', items: TEXT };
const TEXT_MAP: Schema = { type: 'object', additionalProperties: TEXT };
const ANYTHING: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const METADATA: Schema = {
  type: 'object',
  properties: {
    name: TEXT,
    generateName: TEXT,
    namespace: TEXT,
    labels: TEXT_MAP,
    annotations: TEXT_MAP,
    uid: TEXT,
    resourceVersion: TEXT,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: TIME,
    deletionTimestamp: TIME,
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64' },
    finalizers: TEXTS,
    selfLink: TEXT,
    managedFields: { type: 'array', items: ANYTHING },
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          apiVersion: TEXT,
          kind: TEXT,
          name: TEXT,
          uid: TEXT,
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
  },
};
