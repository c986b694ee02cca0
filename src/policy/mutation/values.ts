/** Converts the CEL results of mutations to JSON. */
import { CelMap, Double, type JsonMap, mapEntries, StructValue, typeOf, Uint, type Value } from '../../cel/index.ts';
import { misnamedObjects } from '../../cel/internal.ts';
import { type JsonObject, setField } from './json.ts';
import type { PatchStep } from './json-patch.ts';

/** A converted value, or an error text if the value cannot be converted. */
type Converted<T> = { readonly value: T; readonly error?: undefined } | { readonly error: string };

/** `configurationOf` converts an `Object{…}` to JSON. */
export function configurationOf(value: Value): Converted<JsonObject> {
  if (!(value instanceof StructValue) || value.typeName !== 'Object') {
    return { error: `an ApplyConfiguration must be an Object{…}, got ${typeOf(value).name}` };
  }
  const [misnamed] = misnamedObjects(value);
  if (misnamed !== undefined) return { error: `type mismatch: ${misnamed}` };
  return attempt(() => jsonOf(value) as JsonObject);
}

/** `operationsOf` converts a list of `JSONPatch{…}` to operations. */
export function operationsOf(value: Value): Converted<readonly PatchStep[]> {
  if (!Array.isArray(value)) {
    return { error: `a JSONPatch must be a list of JSONPatch{…}, got ${typeOf(value).name}` };
  }
  return attempt(() => (value as readonly Value[]).map(operationOf));
}

class NotJson extends Error {}

function attempt<T>(make: () => T): Converted<T> {
  try {
    return { value: make() };
  } catch (error) {
    if (error instanceof NotJson) return { error: error.message };
    throw error;
  }
}

function operationOf(value: Value): PatchStep {
  if (!(value instanceof StructValue) || value.typeName !== 'JSONPatch') {
    throw new NotJson(`a JSONPatch must be a list of JSONPatch{…}, got an element of type ${typeOf(value).name}`);
  }
  const { op, path, from, value: operand } = value.fields;
  if (operand instanceof StructValue) {
    const [misnamed] = misnamedObjects(operand, operand.typeName.split('.'));
    if (misnamed !== undefined) throw new NotJson(`type mismatch: ${misnamed}`);
  }
  return {
    op: op as string,
    path: path as string,
    ...(from === undefined || from === '' ? {} : { from: from as string }),
    ...(operand === undefined ? {} : { value: jsonOf(operand) }),
  };
}

function jsonOf(value: Value): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Double) return value;
  if (value instanceof Uint) return value.value;
  if (Array.isArray(value)) return (value as readonly Value[]).map(jsonOf);
  if (value instanceof StructValue) return jsonMap(value.fields);
  if (value instanceof CelMap || isPlain(value)) return jsonMap(value as JsonMap | CelMap);
  throw new NotJson(`a ${typeOf(value).name} cannot be stored in an object: convert it with string(…)`);
}

function jsonMap(map: JsonMap | CelMap): JsonObject {
  const object: Record<string, unknown> = {};
  for (const [key, each] of mapEntries(map)) {
    if (typeof key !== 'string') throw new NotJson(`the key of a field must be a string, got ${String(key)}`);
    setField(object, key, jsonOf(each));
  }
  return object;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
