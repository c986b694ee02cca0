/** Selects the overload for arguments by their run-time types. */
import type { Overload } from '../declarations.ts';
import { mapEntries } from '../map.ts';
import { parameterOf, runtimeName, type Type } from '../types.ts';
import {
  type CelError,
  CelMap,
  Double,
  Duration,
  isMap,
  noSuchOverload,
  Optional,
  Timestamp,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from '../values.ts';

/** `dispatch` calls the first of `overloads` that accepts `args`; `name` is used in the error. */
export function dispatch(name: string, overloads: readonly Overload[], args: readonly Value[]): Value | CelError {
  for (const overload of overloads) {
    if (accepts(overload.parameters, args)) return overload.implementation(...args);
  }
  return noSuchOverload(`${name}(${args.map((each) => typeOf(each).name).join(', ')})`);
}

function accepts(parameters: readonly Type[], args: readonly Value[]): boolean {
  if (parameters.length !== args.length) return false;
  for (let index = 0; index < args.length; index++) {
    if (!fits(parameters[index] as Type, args[index] as Value)) return false;
  }
  return true;
}

/** Type parameters are erased, except for the first element of a list or map, which cel-go checks. */
function fits(type: Type, value: Value): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'parameter':
    case 'error':
      return true;
    case 'string':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return typeof value === 'number' ? Number.isSafeInteger(value) : typeof value === 'bigint';
    case 'double':
      return typeof value === 'number' ? !Number.isSafeInteger(value) : value instanceof Double;
    case 'uint':
      return value instanceof Uint;
    case 'null':
      return value === null;
    case 'bytes':
      return value instanceof Uint8Array;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'type':
      return value instanceof TypeValue;
    case 'wrapper':
      return value === null || fits(parameterOf(type, 0), value);
    case 'list':
      return Array.isArray(value) && (value.length === 0 || fits(parameterOf(type, 0), value[0] as Value));
    case 'map':
      return isMap(value) && firstEntryFits(type, value);
    case 'opaque':
      if (type.name === 'optional_type') return value instanceof Optional;
      return typeOf(value).name === type.name;
    case 'object':
      return typeOf(value).name === runtimeName(type);
  }
}

function firstEntryFits(type: Type, value: Parameters<typeof mapEntries>[0]): boolean {
  const keys = parameterOf(type, 0);
  const values = parameterOf(type, 1);
  const open = (each: Type): boolean => each.kind === 'dyn' || each.kind === 'parameter';
  if (open(values) && (open(keys) || (keys.kind === 'string' && !(value instanceof CelMap)))) return true;
  for (const [key, each] of mapEntries(value)) return fits(keys, key) && fits(values, each);
  return true;
}
