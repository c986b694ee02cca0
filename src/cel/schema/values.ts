/**
 * Data as a schema sees it: times, durations and bytes as such, numbers as doubles, names of properties escaped,
 * lists that are sets or maps compared and merged as those. This is how validation rules of CRDs see an object;
 * admission policies see it as it is.
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
 * The value, or an error that says what in it is not as the schema says. Where the schema hides what it does not know,
 * as for the rules of CRDs, a part that is not as it says is an error only for what reads it, and what is hidden still
 * counts when objects are compared.
 */
export function valueBySchema(value: Value, types: SchemaTypes): Result {
  return markClean(convert(value, types.root));
}

/** As `valueBySchema`, for variables that are trusted: nobody will look whether it is data. */
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

/** What has no type in the schema: no expression can read it, it can only be the same as another such value. */
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
    // A property that is null counts as one that is not there; an entry of a map does not.
    const absent = isObject && value[key] === null;
    if (absent || inner === undefined) {
      // What the schema does not know keeps its name and form, where expressions may see it at all.
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
    // Rules compare objects by the names that properties have, and read them by those that can be written: one
    // property, not two.
    const [seen, alias] = node.hidesUnknown ? [key, name] : [name, property?.reserved === true ? key : name];
    setOwn(made, seen, converted as Value);
    if (alias !== seen) Object.defineProperty(made, alias, { value: converted });
  }
  // Without a prototype it is read the careful way, which finds the errors in it.
  return faulty ? Object.setPrototypeOf(made, null) : made;
}

/** Before names that no expression can write. */
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

/** Kubernetes reads the alphabet for URLs, though the format itself is checked by the other one. */
const BASE64 = /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$/;
