/**
 * In cel-go, an optional that is read from a variable or selected by `?:` is converted to a Go value and back, which
 * changes it: a nested optional is flattened, a type becomes its name, an Object a map, and most types of the
 * Kubernetes libraries cannot be converted.
 */
import { CelError, OpaqueValue, Optional, type Result, StructValue, TypeValue, type Value } from '../values.ts';

/** `reread` returns an optional after that conversion; other values are unchanged. */
export function reread(value: Result): Result {
  if (!(value instanceof Optional) || value.value === undefined) return value;
  const inner = throughGo(value.value);
  if (inner === value.value) return value;
  return inner instanceof CelError ? inner : new Optional(inner);
}

/** `inside` returns the value inside an optional for further selection; undefined if it is empty. */
export function inside(optional: Optional): Value | CelError | undefined {
  return optional.value === undefined ? undefined : throughGo(optional.value);
}

function throughGo(value: Value): Value | CelError {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Optional) return value.value === undefined ? null : throughGo(value.value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof StructValue) return value.typeName === 'JSONPatch' ? value : value.fields;
  if (!(value instanceof OpaqueValue) || value.type.name === 'kubernetes.NamedFormat') return value;
  return new CelError('no_such_overload', `unsupported conversion to ref.Val: ${value.type.name}`);
}
