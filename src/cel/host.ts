/**
 * Sanitizes values of a host that need not be plain data. Values with getters, cycles, classes or holes are copied into
 * data or rejected, so that no expression can run host code or reach a prototype. Clean data is used as is and
 * remembered, so checking it again is nearly free.
 */
import { setOwn } from './map.ts';
import {
  CelError,
  CelMap,
  Double,
  Duration,
  NonValue,
  OpaqueValue,
  Optional,
  type Result,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts';

/**
 * Variables whose values the host guarantees to be data: from JSON.parse, decodeJson, a YAML parser or its own code.
 */
class TrustedVariables {}

/** Variables of which some are computed on first read. */
class LazyVariables extends TrustedVariables {}

/**
 * `trust` exempts variables from the check in every evaluation. The host computes those in `lazy` when an expression
 * first reads them, once for all evaluations with this record.
 */
export function trust(
  variables: Readonly<Record<string, Result>>,
  lazy?: Readonly<Record<string, () => Result>>,
): Readonly<Record<string, Result>> {
  if (lazy === undefined) return Object.assign(new TrustedVariables(), variables) as Readonly<Record<string, Result>>;
  const made = Object.assign(new LazyVariables(), variables) as Readonly<Record<string, Result>>;
  for (const [name, compute] of Object.entries(lazy)) {
    let known: { readonly value: Result } | undefined;
    const get = (): Result => {
      known ??= { value: compute() };
      return known.value;
    };
    Object.defineProperty(made, name, { get, enumerable: true });
  }
  return made;
}

/**
 * `withMore` merges `original` and `more`, which is data. The result is trusted if `original` is; lazy variables stay
 * lazy.
 */
export function withMore(
  original: Readonly<Record<string, Result>>,
  more: Readonly<Record<string, Result>>,
): Readonly<Record<string, Result>> {
  if (original instanceof LazyVariables) {
    const made = Object.defineProperties(new LazyVariables(), Object.getOwnPropertyDescriptors(original));
    return Object.assign(made, more) as Readonly<Record<string, Result>>;
  }
  return original instanceof TrustedVariables ? trust({ ...original, ...more }) : { ...original, ...more };
}

const CLEAN = new WeakSet<object>();
const MAX_DEPTH = 1000;

/** `safeVariables` returns the variables that an expression uses, each sanitized to data. */
export function safeVariables(
  variables: Readonly<Record<string, Result>>,
  names: readonly string[],
): Readonly<Record<string, Result>> {
  if (variables instanceof TrustedVariables) return variables;
  let copied: Record<string, Result> | undefined;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    const value = variables[name];
    if (typeof value !== 'object' || value === null || CLEAN.has(value)) continue;
    const safe = hostValue(value);
    if (safe === value) continue;
    copied ??= { ...variables };
    copied[name] = safe;
  }
  return copied ?? variables;
}

/** `markClean` marks a value as data, so that it is not checked again. */
export function markClean<T>(value: T): T {
  if (typeof value === 'object' && value !== null) CLEAN.add(value);
  return value;
}

/** `hostValue` returns `value` itself if it is data, a sanitized copy, or an error if it cannot be converted. */
export function hostValue(value: unknown): Result {
  if (typeof value === 'object' && value !== null && CLEAN.has(value)) return value as Value;
  try {
    return new Importer().value(value, 0);
  } catch (thrown) {
    // Only a proxy can run code here, because every property is read through its descriptor.
    return new CelError(
      'host',
      `the value cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    );
  }
}

class Importer {
  /** The current path from the root, to detect cycles. */
  readonly #path = new Set<object>();

  value(value: unknown, depth: number): Result {
    switch (typeof value) {
      case 'boolean':
      case 'string':
      case 'number':
        return value;
      case 'bigint':
        return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
      case 'object':
        return value === null ? null : this.#object(value, depth);
      default:
        return new CelError('host', `a ${typeof value} is no value`);
    }
  }

  #object(value: object, depth: number): Result {
    if (isLeaf(value)) return value as Result;
    if (this.#path.has(value)) return new CelError('host', 'the value holds itself');
    if (depth > MAX_DEPTH) return new CelError('too_deep', `the value nests deeper than ${MAX_DEPTH}`);
    if (value instanceof Date) return new Timestamp(Math.floor(value.getTime() / 1000), (value.getTime() % 1000) * 1e6);
    this.#path.add(value);
    const made = Array.isArray(value) ? this.#list(value, depth) : this.#map(value, depth);
    this.#path.delete(value);
    if (made === value) CLEAN.add(value);
    return made;
  }

  #list(list: readonly unknown[], depth: number): Result {
    const made: Value[] = [];
    let same = true;
    for (let index = 0; index < list.length; index++) {
      const descriptor = Object.getOwnPropertyDescriptor(list, index);
      const element = descriptor?.value as unknown;
      const converted = this.value(element ?? null, depth + 1);
      if (converted instanceof NonValue) return converted;
      same &&= converted === element;
      made.push(converted);
    }
    return same ? (list as readonly Value[]) : made;
  }

  #map(object: object, depth: number): Result {
    const prototype = Object.getPrototypeOf(object);
    let same = prototype === Object.prototype || prototype === null;
    const made: Record<string, Value> = {};
    for (const key of Object.keys(object)) {
      const descriptor = Object.getOwnPropertyDescriptor(object, key);
      const property = descriptor?.value as unknown;
      // A getter is code, and JSON omits undefined.
      if (property === undefined) {
        same = false;
        continue;
      }
      const converted = this.value(property, depth + 1);
      if (converted instanceof NonValue) return converted;
      same &&= converted === property;
      setOwn(made, key, converted);
    }
    // A non-enumerable property may be a getter that an expression could reach by name.
    same &&= Object.getOwnPropertyNames(object).length === Object.keys(object).length;
    return same ? (object as Value) : made;
  }
}

const isLeaf = (value: object): boolean =>
  value instanceof NonValue ||
  value instanceof OpaqueValue ||
  value instanceof Timestamp ||
  value instanceof Duration ||
  value instanceof Uint ||
  value instanceof Double ||
  value instanceof Optional ||
  value instanceof TypeValue ||
  value instanceof StructValue ||
  value instanceof CelMap ||
  value instanceof Uint8Array;
