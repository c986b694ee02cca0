/**
 * Converts data according to a schema: times, durations and bytes, numbers as doubles, escaped property names, and
 * lists that are compared and merged as sets or maps. Validation rules of CRDs see objects this way; admission policies
 * see plain JSON.
 */

import { equal } from '../compare.ts';
import { markClean } from '../host.ts';
import { markList } from '../lists.ts';
import { setOwn } from '../map.ts';
import { parseAnyDuration } from '../time/any-duration.ts';
import { parseTimestamp } from '../time/text.ts';
import {
  CelError,
  double,
  doubleOf,
  isInt,
  isMap,
  type JsonMap,
  OpaqueValue,
  type Result,
  TypeValue,
  type Value,
} from '../values.ts';
import { escapeProperty } from './escape.ts';
import type { SchemaNode, SchemaTypes } from './types.ts';

/**
 * `valueBySchema` returns the converted value, or an error for data that does not match the schema. If the schema hides
 * undeclared fields, as for the rules of CRDs, a mismatch is an error only for expressions that read it, and hidden
 * fields still count in comparisons.
 */
export function valueBySchema(value: Value, types: SchemaTypes): Result {
  return markClean(convert(value, types.root));
}

/** Like `valueBySchema`, for trusted variables: the result is not checked to be data. */
export const trustedBySchema = (value: Value, types: SchemaTypes): Result => convert(value, types.root);

const invalid = (message: string): CelError => new CelError('invalid_argument', `invalid data, ${message}`);

function convert(value: Value, node: SchemaNode): Value | CelError {
  const { schema } = node;
  if (value === null) return schema.nullable === true ? null : invalid('got null for schema with nullable=false');
  if (schema['x-kubernetes-int-or-string'] === true) {
    return typeof value === 'string' || isInt(value) ? value : invalid('expected a string or an integer');
  }
  switch (schema.type) {
    case 'object':
      return isMap(value) ? convertMap(value as JsonMap, node) : invalid('expected a map');
    case 'array':
      return Array.isArray(value) ? convertList(value, node) : invalid('expected an array');
    case 'string':
      return typeof value === 'string' ? convertText(value, schema.format) : invalid('expected a string');
    case 'number':
      if (isInt(value)) return double(Number(value));
      return doubleOf(value) === undefined ? invalid('expected a number') : value;
    case 'integer':
      return isInt(value) ? value : invalid('expected an integer');
    case 'boolean':
      return typeof value === 'boolean' ? value : invalid('expected a boolean');
    default:
      return node.hidesUnknown ? new HiddenValue(value) : value;
  }
}

/** A value without a type in the schema: expressions cannot read it, only compare it. */
class HiddenValue extends OpaqueValue {
  readonly type = new TypeValue('unknown');
  readonly #value: Value;

  constructor(value: Value) {
    super();
    this.#value = value;
  }

  equals(other: Value): boolean {
    return other instanceof HiddenValue && equal(this.#value, other.#value);
  }

  toString(): string {
    return 'a value without a type';
  }
}

function convertMap(value: JsonMap, node: SchemaNode): Value | CelError {
  const made: Record<string, Value> = {};
  const isObject = node.element === undefined;
  let faulty = false;
  for (const key of Object.keys(value)) {
    const property = isObject ? node.property(key) : undefined;
    const inner = isObject ? property?.node : node.element;
    // A null property counts as absent; a null entry of a map does not.
    const absent = isObject && value[key] === null;
    if (absent || inner === undefined) {
      // Undeclared fields keep their name and form if expressions may see them.
      if (node.hidesUnknown) setOwn(made, HIDDEN + key, value[key] as Value);
      else if (!absent) setOwn(made, key, value[key] as Value);
      continue;
    }
    const name = property?.name ?? key;
    const converted = convert(value[key] as Value, inner);
    if (converted instanceof CelError) {
      if (!node.hidesUnknown) return converted;
      faulty = true;
    }
    // Rules compare objects by the original property names and read them by the escaped ones: both are one property.
    const [seen, alias] = node.hidesUnknown ? [key, name] : [name, property?.reserved === true ? key : name];
    setOwn(made, seen, converted as Value);
    if (alias !== seen) Object.defineProperty(made, alias, { value: converted });
  }
  // Without a prototype, the object takes the slow path on reads, which reports the errors in it.
  return faulty ? Object.setPrototypeOf(made, null) : made;
}

/** The prefix of names that no expression can write. */
const HIDDEN = '\u0000';

function convertList(values: readonly Value[], node: SchemaNode): Value | CelError {
  const made: Value[] = [];
  for (const each of values) {
    const converted = node.element === undefined ? each : convert(each, node.element);
    if (converted instanceof CelError && !node.hidesUnknown) return converted;
    made.push(converted as Value);
  }
  switch (node.schema['x-kubernetes-list-type']) {
    case 'set':
      return markList(made, { kind: 'set' });
    case 'map': {
      const keys = node.schema['x-kubernetes-list-map-keys'] ?? [];
      return markList(made, { kind: 'map', keys: keys.map((each) => escapeProperty(each) ?? each) });
    }
    default:
      return made;
  }
}

function convertText(text: string, format: string | undefined): Value | CelError {
  switch (format) {
    case 'date-time':
      return parseTimestamp(text) ?? invalid(`expected a date-time, got ${text}`);
    case 'date':
      return parseTimestamp(`${text}T00:00:00Z`) ?? invalid(`expected a date, got ${text}`);
    case 'duration':
      return parseAnyDuration(text) ?? invalid(`expected a duration, got ${text}`);
    case 'byte':
      return BASE64.test(text) ? new Uint8Array(Buffer.from(text, 'base64url')) : invalid('expected base64');
    default:
      return text;
  }
}

/** Kubernetes decodes the URL-safe alphabet, although it validates the format with the standard one. */
const BASE64 = /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$/;
