/** Converts values of the engine to the oracle's encoding (test/oracle/README.md) and back, for comparison. */

import {
  type CelMap,
  Double,
  Duration,
  double,
  mapEntries,
  mapOf,
  OpaqueValue,
  Optional,
  type Result,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  Unknown,
  type Value,
} from '../../../src/cel/index.ts';
import type { WireValue } from '../../support/cel-oracle.ts';

export function toWire(value: Result): WireValue {
  if (value === null) return { null: null };
  switch (typeof value) {
    case 'boolean':
      return { bool: value };
    case 'bigint':
      return { int: String(value) };
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? { int: String(value) }
        : { double: doubleText(value) };
    case 'string':
      return { string: value };
  }
  return objectToWire(value);
}

function objectToWire(value: Exclude<Result, null | boolean | bigint | number | string>): WireValue {
  if (Array.isArray(value)) return { list: value.map(toWire) };
  if (value instanceof Double) return { double: doubleText(value.value) };
  if (value instanceof Uint) return { uint: String(value.value) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') };
  if (value instanceof Timestamp) return { timestamp: [value.seconds, value.nanos] };
  if (value instanceof Duration) return { duration: String(value.nanoseconds) };
  if (value instanceof TypeValue) return { type: value.name };
  if (value instanceof Optional) return { optional: value.value === undefined ? null : toWire(value.value) };
  if (value instanceof OpaqueValue) return { opaque: { type: value.type.name, text: value.toString() } };
  if (value instanceof StructValue) return structToWire(value);
  if (value instanceof Unknown) return { unknown: value.attributes.join(', ') };
  if ('kind' in value && value.kind === 'error') return { error: String(value) };
  return { map: [...mapEntries(value as CelMap)].map(([key, element]) => [toWire(key), toWire(element)]) };
}

/** A JSONPatch always has its four fields; an Object is encoded as plain data. */
function structToWire(value: StructValue): WireValue {
  if (value.typeName === 'JSONPatch') {
    const { op = '', path = '', from = '', value: patched } = value.fields;
    const fields: [string, WireValue][] = [
      ['op', toWire(op)],
      ['path', toWire(path)],
      ['from', toWire(from)],
    ];
    if (patched !== undefined) fields.push(['value', toWire(patched)]);
    return { struct: { type: 'JSONPatch', fields } };
  }
  return { struct: { type: value.typeName, native: toWire(plain(value)) } };
}

/** Converts nested Objects, lists and maps to maps, like a mutation does. */
function plain(value: Value): Value {
  if (value instanceof StructValue) return plain(value.fields);
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Optional && value.value !== undefined) return plain(value.value);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each as Value)]));
}

/** Returns the same text for equal values: map entries are sorted, numbers normalized. */
export function canonical(wire: WireValue): string {
  return JSON.stringify(sorted(wire));
}

function sorted(wire: WireValue): unknown {
  if (Array.isArray(wire.list)) return { list: wire.list.map((each) => sorted(each as WireValue)) };
  if (Array.isArray(wire.map)) {
    const entries = wire.map as [WireValue, WireValue][];
    const texts = entries.map(([key, value]) => `${canonical(key)}: ${canonical(value)}`);
    return { map: texts.sort() };
  }
  if (wire.optional !== undefined && wire.optional !== null) return { optional: sorted(wire.optional as WireValue) };
  if (typeof wire.double === 'string') return { double: doubleText(Number(wire.double)) };
  if (isOpaque(wire.opaque)) {
    const { type, text } = wire.opaque;
    // Formats and the steps of an authorization check have no text form; a quantity has many.
    if (/NamedFormat|authorization/.test(type)) return { type };
    return { type, text: type === 'kubernetes.Quantity' ? amountOf(text) : text };
  }
  if (isStruct(wire.struct)) {
    const { type, native, fields } = wire.struct;
    return { type, native: native && sorted(native), fields: fields?.map(([name, value]) => [name, sorted(value)]) };
  }
  return wire;
}

const suffixes: Readonly<Record<string, readonly [factor: bigint, powerOfTen: number]>> = {
  '': [1n, 0],
  n: [1n, -9],
  u: [1n, -6],
  m: [1n, -3],
  k: [1n, 3],
  M: [1n, 6],
  G: [1n, 9],
  T: [1n, 12],
  P: [1n, 15],
  E: [1n, 18],
  Ki: [2n ** 10n, 0],
  Mi: [2n ** 20n, 0],
  Gi: [2n ** 30n, 0],
  Ti: [2n ** 40n, 0],
  Pi: [2n ** 50n, 0],
  Ei: [2n ** 60n, 0],
};

/** Returns a quantity in billionths, the precision of Kubernetes. */
function amountOf(quantity: string): string {
  const [, sign = '', whole = '', fraction = '', suffix = '', exponent = '0'] =
    /^([-+]?)(\d*)\.?(\d*)(?:([numkMGTPE]i?)|[eE]([-+]?\d+))?$/.exec(quantity) ?? [];
  const [factor, power] = suffixes[suffix] ?? [0n, 0];
  const shift = 9 + power + Number(exponent) - fraction.length;
  const amount = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}` || '0') * factor;
  return String(shift >= 0 ? amount * 10n ** BigInt(shift) : amount / 10n ** BigInt(-shift));
}

function isOpaque(opaque: unknown): opaque is { type: string; text: string } {
  return opaque !== undefined;
}

function isStruct(
  struct: unknown,
): struct is { type: string; native?: WireValue; fields?: readonly [string, WireValue][] } {
  return struct !== undefined;
}

function doubleText(number: number): string {
  return Object.is(number, -0) ? '-0' : String(number);
}

export function fromWire(wire: WireValue): Value {
  const [kind, content] = Object.entries(wire)[0] ?? ['null', null];
  switch (kind) {
    case 'null':
      return null;
    case 'bool':
      return content as boolean;
    case 'int':
      return whole(content as string);
    case 'uint':
      return new Uint(whole(content as string));
    case 'double':
      return double(Number(content));
    case 'string':
      return content as string;
    case 'bytes':
      return new Uint8Array(Buffer.from(content as string, 'base64'));
    case 'timestamp': {
      const [seconds = 0, nanos = 0] = content as number[];
      return new Timestamp(seconds, nanos);
    }
    case 'duration':
      return new Duration(BigInt(content as string));
    case 'type':
      return new TypeValue(content as string);
    case 'list':
      return (content as WireValue[]).map(fromWire);
    case 'map': {
      const entries = (content as [WireValue, WireValue][]).map(
        ([key, value]) => [fromWire(key), fromWire(value)] as const,
      );
      return mapOf(entries) as Value;
    }
    default:
      throw new RangeError(`a value of kind ${kind} cannot be bound`);
  }
}

function whole(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}
