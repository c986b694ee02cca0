/**
 * Values and errors as programs and people read them.
 *
 * Values are JSON. What JSON has no form for: a timestamp, a duration, a quantity, an IP … is the text that `string()`
 * or its library gives it; bytes are base64; a uint is a number like an int; an int64 keeps all its digits; a double
 * keeps a fraction (`1.0`), or is "NaN", "Infinity" or "-Infinity"; an optional is its value or null; a type is its
 * name; keys of a map are texts. With `-o json`, `type` beside the value distinguishes them.
 */
import {
  CelError,
  type Compiled,
  compile,
  Double,
  Duration,
  environment,
  isMap,
  mapEntries,
  NonValue,
  OpaqueValue,
  Optional,
  type Rejected,
  type Result,
  type Source,
  StructValue,
  Timestamp,
  TypeValue,
  types,
  Uint,
  Unknown,
  type Value,
} from '../../cel/index.ts';

export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** A value as JSON text. */
export function toJson(value: Value): string {
  switch (typeof value) {
    case 'number':
      return number(value);
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'bigint':
      return String(value);
    default:
      return value === null ? 'null' : objectToJson(value);
  }
}

function objectToJson(value: Value & object): string {
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (isMap(value)) return entriesToJson(mapEntries(value));
  if (value instanceof StructValue) return entriesToJson(mapEntries(value.fields));
  if (value instanceof Optional) return value.value === undefined ? 'null' : toJson(value.value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return Object.is(value.value, -0) ? '-0.0' : `${value.value}.0`;
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (value instanceof TypeValue) return JSON.stringify(value.name);
  return JSON.stringify(textOf(value as Value));
}

function entriesToJson(entries: Iterable<readonly [Value, Value]>): string {
  return `{${[...entries].map(([key, value]) => `${JSON.stringify(keyOf(key))}:${toJson(value)}`).join(',')}}`;
}

const keyOf = (key: Value): string => String(key instanceof Uint ? key.value : key);

/** A bare number that is no int is a double. */
function number(value: number): string {
  if (!Number.isFinite(value)) return JSON.stringify(String(value));
  return Number.isInteger(value) && !Number.isSafeInteger(value) && !String(value).includes('e')
    ? `${value}.0`
    : String(value);
}

/** The language itself says how a time is written. */
function textOf(value: Value): string {
  if (value instanceof OpaqueValue) return value.toString();
  if (!(value instanceof Timestamp || value instanceof Duration)) return String(value);
  asText ??= compile('string(value)', environment('kubernetes-1.36', { variables: { value: types.DYN } })) as Compiled;
  return String(asText.evaluate({ value }));
}

let asText: Compiled | undefined;

export function problems(rejected: Rejected): readonly Problem[] {
  return rejected.issues.map(({ code, message, line, column }) => ({ code, message, line, column }));
}

/** Why a run gave no value. */
export function problemOf(source: Source, result: NonValue): Problem {
  const { line, column } = source.position(offsetOf(result));
  return { code: codeOf(result), message: messageOf(result), line, column };
}

/** The same for people: with the line and a caret. */
export function describeProblem(source: Source, result: NonValue): string {
  const { message, line, column } = problemOf(source, result);
  return `ERROR: <input>:${line}:${column}: ${message}\n${source.picture(offsetOf(result))}`;
}

const codeOf = (result: NonValue): string => (result instanceof CelError ? result.code : 'unknown');

function messageOf(result: NonValue): string {
  if (result instanceof CelError) return result.message;
  return `not known: ${result instanceof Unknown ? result.attributes.join(', ') : 'its value'}`;
}

const offsetOf = (result: NonValue): number => (result instanceof CelError ? Math.max(0, result.offset) : 0);

/** The answer of a run as one JSON object: `more` is JSON text for what stands beside the value. */
export function answer(source: Source, result: Result, more: Readonly<Record<string, string>> = {}): string {
  if (result instanceof NonValue) return JSON.stringify({ error: problemOf(source, result) });
  const fields = Object.entries({ value: toJson(result), ...more });
  return `{${fields.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}
