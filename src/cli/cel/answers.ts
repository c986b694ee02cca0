/**
 * Formats values and errors for programs and users.
 *
 * Values are JSON. Values without a JSON form, such as timestamps, durations, quantities and IPs, are the string that
 * `string()` or their library returns; bytes are base64; a uint is a number like an int; an int64 keeps all its digits;
 * a double keeps a fraction (`1.0`), or is "NaN", "Infinity" or "-Infinity"; an optional is its value or null; a type is
 * its name; keys of a map are strings. With `-o json`, the field `type` distinguishes them.
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

/** `toJson` formats a value as JSON text. */
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

/** `number` formats a JavaScript number; one outside the safe integers is a double. */
function number(value: number): string {
  if (!Number.isFinite(value)) return JSON.stringify(String(value));
  return Number.isInteger(value) && !Number.isSafeInteger(value) && !String(value).includes('e')
    ? `${value}.0`
    : String(value);
}

/** `textOf` formats a value as a string; timestamps and durations by the `string()` function of CEL itself. */
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

/** `problemOf` describes why an evaluation has no value. */
export function problemOf(source: Source, result: NonValue): Problem {
  const { line, column } = source.position(offsetOf(result));
  return { code: codeOf(result), message: messageOf(result), line, column };
}

/** `describeProblem` formats the same for users: with the source line and a caret. */
export function describeProblem(source: Source, result: NonValue): string {
  const { message, line, column } = problemOf(source, result);
  return `ERROR: <input>:${line}:${column}: ${message}\n${source.picture(offsetOf(result))}`;
}

const codeOf = (result: NonValue): string => (result instanceof CelError ? result.code : 'unknown');

function messageOf(result: NonValue): string {
  if (result instanceof CelError) return result.message;
  return `unknown: ${result instanceof Unknown ? result.attributes.join(', ') : 'the value'}`;
}

const offsetOf = (result: NonValue): number => (result instanceof CelError ? Math.max(0, result.offset) : 0);

/** `answer` formats the result of an evaluation as one JSON object; `more` holds further fields as JSON text. */
export function answer(source: Source, result: Result, more: Readonly<Record<string, string>> = {}): string {
  if (result instanceof NonValue) return JSON.stringify({ error: problemOf(source, result) });
  const fields = Object.entries({ value: toJson(result), ...more });
  return `{${fields.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}
