/** Formats values for display: as CEL literals, truncated if they are long. */
import { literal } from './format.ts';
import { mapEntries } from './map.ts';
import { formatDouble } from './standard/numbers.ts';
import { formatDuration, formatTimestamp } from './time/text.ts';
import {
  CelError,
  Double,
  Duration,
  isMap,
  NonValue,
  OpaqueValue,
  Optional,
  type Result,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  Unknown,
  type Value,
} from './values.ts';

export const DEFAULT_SHOWN = 80;

/** `show` returns at most about `limit` characters; omitted parts show as `…`. */
export function show(value: Result, limit = DEFAULT_SHOWN): string {
  const writer = new Writer(limit);
  writer.write(value, 0);
  return writer.text.length > limit ? `${writer.text.slice(0, limit - 1).toWellFormed()}…` : writer.text;
}

const MAX_DEPTH = 20;

class Writer {
  text = '';
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  write(value: Result, depth: number): void {
    if (this.#full()) return;
    if (depth > MAX_DEPTH) this.text += '…';
    else if (typeof value === 'string') this.text += literal(value.slice(0, this.#limit + 1));
    else if (typeof value !== 'object' || value === null) this.text += String(value);
    else if (value instanceof NonValue) this.text += nonValue(value);
    else if (Array.isArray(value)) this.#list(value, depth);
    else if (isMap(value)) this.#map(mapEntries(value), depth);
    else if (value instanceof StructValue) {
      this.text += value.typeName;
      this.#map(mapEntries(value.fields), depth);
    } else if (value instanceof Optional) {
      this.text += value.value === undefined ? 'optional.none()' : 'optional.of(';
      if (value.value === undefined) return;
      this.write(value.value, depth + 1);
      this.text += ')';
    } else this.text += scalar(value as Value);
  }

  #list(values: readonly Value[], depth: number): void {
    this.text += '[';
    for (const [index, each] of values.entries()) {
      if (this.#full()) break;
      if (index > 0) this.text += ', ';
      this.write(each, depth + 1);
    }
    this.text += ']';
  }

  #map(entries: Iterable<readonly [Value, Value]>, depth: number): void {
    this.text += '{';
    let first = true;
    for (const [key, value] of entries) {
      if (this.#full()) break;
      if (!first) this.text += ', ';
      first = false;
      this.write(key, depth + 1);
      this.text += ': ';
      this.write(value, depth + 1);
    }
    this.text += '}';
  }

  #full(): boolean {
    return this.text.length > this.#limit;
  }
}

function nonValue(value: NonValue): string {
  if (value instanceof CelError) return `error: ${value.message}`;
  return value instanceof Unknown ? `unknown: ${value.attributes.join(', ')}` : '?';
}

function scalar(value: Value): string {
  if (value instanceof Uint8Array) return literal(value.subarray(0, 200));
  if (value instanceof Uint) return literal(value);
  if (value instanceof Double) return Number.isInteger(value.value) ? literal(value) : formatDouble(value.value);
  if (value instanceof Timestamp) return `timestamp("${formatTimestamp(value)}")`;
  if (value instanceof Duration) return `duration("${formatDuration(value)}")`;
  if (value instanceof TypeValue) return value.name;
  return value instanceof OpaqueValue ? value.toString() : Object.prototype.toString.call(value);
}
