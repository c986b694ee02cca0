/**
 * Compares, copies and writes JSON data from JSON.parse or `decodeJson`, in which a number may be a `Double` or a
 * bigint.
 */
import { Double, doubleOf } from '../../cel/index.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Double);

/** `sameJson` reports whether two values are the same JSON; 1 and 1.0 are equal. */
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

/** `writeJson` returns the JSON text, with exact integers past 2^53. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) => {
    if (typeof each === 'bigint') return rawJson(String(each));
    return each instanceof Double ? doubleOf(each) : each;
  });
}

/** JSON.rawJSON is part of JavaScript since 2025; the types of this TypeScript do not declare it yet. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** `withField` returns a copy with `name` set, even if the name is `__proto__`. */
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
