/**
 * An optional that is read from a variable or chosen by `?:` passes through Go values in cel-go and does not come
 * back as it was: an optional inside it is flattened, a type becomes its name, an Object a map, and most types of
 * Kubernetes' libraries cannot be converted at all.
 */
import { CelError, OpaqueValue, Optional, type Result, StructValue, TypeValue, type Value } from '../values.ts';

/** What is left of an optional once it is read; everything else is itself. */
export function reread(value: Result): Result {
  if (!(value instanceof Optional) || value.value === undefined) return value;
  const inner = throughGo(value.value);
  if (inner === value.value) return value;
  return inner instanceof CelError ? inner : new Optional(inner);
}

/** The value inside an optional that a selection goes on from; undefined when there is none. */
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
