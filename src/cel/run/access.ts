/** Field selection and indexing, by the rules of cel-go for each type of operand and key. */
import { mapGet, ownProperty } from '../map.ts';
import {
  CelError,
  CelMap,
  Double,
  HostObject,
  isMap,
  NonValue,
  Optional,
  type Result,
  StructValue,
  Uint,
  type Value,
} from '../values.ts';

/**
 * `lookup` evaluates `operand[key]` or `operand.key`: undefined if the entry is absent, an error for an invalid key.
 */
export function lookup(operand: Value, key: Value): Result | undefined {
  if (Array.isArray(operand)) return lookupElement(operand, key);
  if (!isKeyKind(key)) return new CelError('invalid_argument', 'invalid qualifier type');
  if (isMap(operand)) return mapGet(operand, key);
  if (operand instanceof StructValue) return lookupField(operand, key);
  if (operand instanceof HostObject) return typeof key === 'string' ? operand.field(key) : undefined;
  return undefined;
}

/** `selectField` is the fallback of generated code if its inline path for a JSON field does not apply. */
export function selectField(operand: Value, name: string): Result {
  const found = lookup(operand, name);
  return found === undefined ? missing(operand, name) : found;
}

export function selectIndex(operand: Value, key: Value): Result {
  const found = lookup(operand, key);
  return found === undefined ? missing(operand, key) : found;
}

/** `isContainer` reports whether a value can have fields or elements. */
export function isContainer(value: Value): boolean {
  if (Array.isArray(value) || isMap(value)) return true;
  return value instanceof StructValue || value instanceof HostObject || value instanceof Optional;
}

/** `hasField` evaluates has(operand.name): false if the operand cannot have fields, as in Kubernetes. */
export function hasField(operand: Value, name: string): boolean | NonValue {
  if (operand instanceof StructValue) return isSet(operand, name);
  if (operand instanceof HostObject) return operand.has(name);
  const found = lookup(operand, name);
  return found instanceof NonValue ? found : found !== undefined;
}

export function missing(operand: Value, key: Value): CelError {
  if (Array.isArray(operand)) return new CelError('index_out_of_bounds', `index out of bounds: ${showKey(key)}`);
  const field = operand instanceof StructValue;
  return new CelError(field ? 'no_such_field' : 'no_such_key', `no such key: ${showKey(key)}`);
}

function lookupElement(operand: readonly Value[], key: Value): Value | CelError | undefined {
  let index: number | bigint;
  if (typeof key === 'number') index = key;
  else if (typeof key === 'bigint') return undefined;
  else if (key instanceof Double || key instanceof Uint) index = key.value;
  else return new CelError('invalid_argument', 'unsupported index type in list');
  if (typeof index === 'number' && !Number.isInteger(index)) {
    return new CelError('invalid_argument', `unsupported index value ${index} in list`);
  }
  return typeof index === 'number' && index >= 0 && index < operand.length ? operand[index] : undefined;
}

/** Reads a field of a constructed object; unset strings of a JSONPatch are empty. */
function lookupField(operand: StructValue, key: Value): Value | undefined {
  if (typeof key !== 'string') return undefined;
  const found = ownProperty(operand.fields, key);
  if (found !== undefined || operand.typeName !== 'JSONPatch') return found;
  return key === 'op' || key === 'path' || key === 'from' ? '' : undefined;
}

function isSet(operand: StructValue, name: string): boolean {
  const found = ownProperty(operand.fields, name);
  return found !== undefined && !(operand.typeName === 'JSONPatch' && name !== 'value' && found === '');
}

function isKeyKind(key: Value): boolean {
  if (typeof key !== 'object') return true;
  return key instanceof Uint || key instanceof Double;
}

function showKey(key: Value): string {
  if (key instanceof Uint || key instanceof Double) return String(key.value);
  return typeof key === 'object' ? '…' : String(key);
}

/** `contains` evaluates `left in right`. */
export function contains(
  element: Value,
  container: Value,
  equal: (left: Value, right: Value) => boolean,
): boolean | CelError {
  if (Array.isArray(container)) {
    for (const each of container) if (each === element || equal(element, each)) return true;
    return false;
  }
  if (container instanceof CelMap) return container.has(element);
  if (isMap(container)) return typeof element === 'string' && ownProperty(container, element) !== undefined;
  return new CelError('no_such_overload', 'no such overload');
}
