/** Encodes values as JSON text; types that JSON does not have follow the rules of protocol buffers. */
import { isKey, mapEntries } from '../../map.ts';
import { compareText } from '../../text.ts';
import { formatDuration, formatTimestamp } from '../../time/text.ts';
import {
  CelError,
  Duration,
  doubleOf,
  invalidArgument,
  isInt,
  isMap,
  NonValue,
  Optional,
  StructValue,
  Timestamp,
  typeOf,
  Uint,
  type Value,
} from '../../values.ts';

/** The maximum nesting depth, which exceeds that of any Kubernetes object. */
const MAX_DEPTH = 512;

export const encodeJson = (value: Value): string | CelError => encode(value, 0);

function encode(value: Value, depth: number): string | CelError {
  if (depth > MAX_DEPTH) return new CelError('too_deep', `json.encode: nested deeper than ${MAX_DEPTH}`);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quoted(value);
  if (isInt(value)) return whole(value);
  if (value instanceof Uint) return whole(value.value);
  const number = doubleOf(value);
  if (number !== undefined) return Number.isFinite(number) ? real(number) : withoutForm(String(number));
  if (Array.isArray(value)) return encodeList(value, depth);
  if (isMap(value)) return encodeEntries([...mapEntries(value)], depth);
  if (value instanceof Uint8Array) return quoted(Buffer.from(value).toString('base64'));
  if (value instanceof Timestamp) return quoted(formatTimestamp(value));
  if (value instanceof Duration) return quoted(formatDuration(value));
  if (value instanceof StructValue) return encodeEntries([...mapEntries(value.fields)], depth);
  if (value instanceof Optional) return value.value === undefined ? 'null' : encode(value.value, depth + 1);
  return withoutForm(typeOf(value).name);
}

const withoutForm = (what: string): CelError => invalidArgument(`json.encode: ${what} has no form in JSON`);

/** A JSON number past 2^53 would not survive a round trip, so it becomes a string. */
const whole = (value: number | bigint): string => (typeof value === 'bigint' ? quoted(String(value)) : String(value));

/** Like Go's encoding/json: an exponent below 1e-6 and from 1e21 on, which is also JavaScript's rule. */
const real = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

/** Go escapes characters that could end a script element, and the two line separators. */
const quoted = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function encodeList(list: readonly Value[], depth: number): string | CelError {
  const texts: string[] = [];
  for (const each of list) {
    const text = encode(each, depth + 1);
    if (text instanceof NonValue) return text;
    texts.push(text);
  }
  return `[${texts.join(',')}]`;
}

/** Encodes entries in order, with keys as strings. */
function encodeEntries(entries: readonly (readonly [Value, Value])[], depth: number): string | CelError {
  const texts: { key: string; value: string }[] = [];
  for (const [key, value] of entries) {
    if (!isKey(key)) return invalidArgument('json.encode: a key has no form in JSON');
    const text = encode(value, depth + 1);
    if (text instanceof NonValue) return text;
    texts.push({ key: String(key instanceof Uint ? key.value : key), value: text });
  }
  texts.sort((left, right) => compareText(left.key, right.key));
  return `{${texts.map(({ key, value }) => `${quoted(key)}:${value}`).join(',')}}`;
}
