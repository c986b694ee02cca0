/**
 * Static types, which the checker infers before an expression runs. Types are plain immutable data; compare them with
 * `sameType`, never with `===`.
 */

export type TypeKind =
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'dyn'
  /** The type of an expression with an error already reported; it causes no further errors. */
  | 'error'
  | 'list'
  | 'map'
  /** The type of a type, such as `type(int)`. */
  | 'type'
  /** A named type with fields (from a schema, `Object.spec`, `JSONPatch`) or without (quantity). It is nullable. */
  | 'object'
  /** A named type, optionally with parameters, whose values only a library understands: optional_type, net.IP. */
  | 'opaque'
  /** A primitive or null. */
  | 'wrapper'
  /** A type variable, such as the A of list(A). */
  | 'parameter';

export interface Type {
  readonly kind: TypeKind;
  /** The name in error messages, without parameters; the type name of objects, opaques and parameters. */
  readonly name: string;
  readonly parameters: readonly Type[];
  /** Whether an object has raw JSON values, so that it can also be used as a map(string, dyn). */
  readonly record?: true;
}

const make = (kind: TypeKind, name: string, parameters: readonly Type[] = []): Type => ({ kind, name, parameters });

export const NULL = make('null', 'null');
export const BOOL = make('bool', 'bool');
export const INT = make('int', 'int');
export const UINT = make('uint', 'uint');
export const DOUBLE = make('double', 'double');
export const STRING = make('string', 'string');
export const BYTES = make('bytes', 'bytes');
export const TIMESTAMP = make('timestamp', 'timestamp');
export const DURATION = make('duration', 'duration');
export const DYN = make('dyn', 'dyn');
export const ERROR = make('error', '!error!');

export const list = (element: Type): Type => make('list', 'list', [element]);
export const map = (key: Type, value: Type): Type => make('map', 'map', [key, value]);
export const type = (of?: Type): Type => make('type', 'type', of === undefined ? [] : [of]);
export const object = (name: string): Type => make('object', name);
export const record = (name: string): Type => ({ ...make('object', name), record: true });
export const opaque = (name: string, ...parameters: Type[]): Type => make('opaque', name, parameters);
export const optional = (of: Type): Type => make('opaque', 'optional_type', [of]);
export const parameter = (name: string): Type => make('parameter', name);
/** `primitive` or null; `primitive` is bool, int, uint, double, string or bytes. */
export const wrapper = (primitive: Type): Type => make('wrapper', 'wrapper', [primitive]);

/** `union` is either of two records and has the fields of both. */
export const union = (left: Type, right: Type): Type =>
  record([...new Set([...left.name.split('|'), ...right.name.split('|')])].sort().join('|'));

export const isOptional = (candidate: Type): boolean =>
  candidate.kind === 'opaque' && candidate.name === 'optional_type';

/** `parameterOf` returns the parameter at `index`, or dyn if the type has fewer. */
export const parameterOf = (of: Type, index: number): Type => of.parameters[index] ?? DYN;

export function sameType(left: Type, right: Type): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  if (left.parameters.length !== right.parameters.length) return false;
  return left.parameters.every((each, index) => sameType(each, parameterOf(right, index)));
}

/** `typeName` writes a type like the errors of cel-go: `map(string, list(int))`, `wrapper(int)`. */
export function typeName(of: Type): string {
  if (of.parameters.length === 0) return of.name;
  return `${of.name}(${of.parameters.map(typeName).join(', ')})`;
}

/** `runtimeName` returns the name of the type at run time, like `type(x)`: parameters are erased. */
export function runtimeName(of: Type): string {
  switch (of.kind) {
    case 'null':
      return 'null_type';
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    case 'wrapper':
      return runtimeName(parameterOf(of, 0));
    default:
      return of.name;
  }
}
