/**
 * JSON data as policies hold it: what JSON.parse or `decodeJson` gives, so a number may also be a `Double` or a bigint.
 * Here it is compared, copied and written.
 */
import { Double, doubleOf } from '../../cel/index.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Double);

/** Whether two are the same JSON; 1 and 1.0 are. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) && one.length === other.length && one.every((each, index) => sameJson(each, other[index]))
    );
  }
  if (isJsonObject(one)) {
    if (!isJsonObject(other)) return false;
    const names = Object.keys(one);
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && sameJson(one[name], other[name]))
    );
  }
  const number = numberOf(one);
  return number !== undefined && number === numberOf(other);
}

function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return value instanceof Double ? doubleOf(value) : undefined;
}

/** The text of it, with whole numbers past 2^53 exact. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) => {
    if (typeof each === 'bigint') return rawJson(String(each));
    return each instanceof Double ? doubleOf(each) : each;
  });
}

/** Part of JavaScript since 2025; the types of this TypeScript do not know it yet. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** A copy with `name` set, also where the name is `__proto__`. */
export function withField(object: JsonObject, name: string, value: unknown): JsonObject {
  const copy = { ...object };
  setField(copy, name, value);
  return copy;
}

export function setField(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}

export function withoutField(object: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = object;
  return rest;
}
