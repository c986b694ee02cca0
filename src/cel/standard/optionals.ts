/** Functions on optional values. `or` and `orValue` are lazy; the planner handles them. */
import { equal } from '../compare.ts';
import { type FunctionDeclaration, fn, type Implementation, member, overload } from '../declarations.ts';
import { mapSize } from '../map.ts';
import { BOOL, list, optional, parameter } from '../types.ts';
import {
  CelError,
  Duration,
  doubleOf,
  isMap,
  noSuchOverload,
  Optional,
  StructValue,
  Timestamp,
  Uint,
  type Value,
} from '../values.ts';

const V = parameter('V');
const planned: Implementation = () => noSuchOverload();

const of = (value: Value): Optional => new Optional(value);

const unwrap: Implementation = (values: readonly Value[]) => {
  const result: Value[] = [];
  for (const each of values) {
    if (!(each instanceof Optional)) return new CelError('invalid_argument', 'value is not optional');
    if (each.value !== undefined) result.push(each.value);
  }
  return result;
};

const end = (pick: (values: readonly Value[]) => Value | undefined): Implementation => {
  return (values: readonly Value[]) => (values.length === 0 ? Optional.none : new Optional(pick(values)));
};

export const OPTIONALS: readonly FunctionDeclaration[] = [
  fn('optional.of', [overload('optional_of', [V], optional(V), of)]),
  fn('optional.ofNonZeroValue', [
    overload('optional_ofNonZeroValue', [V], optional(V), (value: Value) =>
      isZero(value) ? Optional.none : of(value),
    ),
  ]),
  fn('optional.none', [overload('optional_none', [], optional(V), () => Optional.none)]),
  fn('value', [member('optional_value', [optional(V)], V, (value: Optional) => value.value ?? absent(value))]),
  fn('hasValue', [member('optional_hasValue', [optional(V)], BOOL, (value: Optional) => value.value !== undefined)]),
  fn('or', [member('optional_or_optional', [optional(V), optional(V)], optional(V), planned)]),
  fn('orValue', [member('optional_orValue_value', [optional(V), V], V, planned)]),
  fn('last', [
    member(
      'list_last',
      [list(V)],
      optional(V),
      end((values) => values.at(-1)),
    ),
  ]),
  fn('first', [
    member(
      'list_first',
      [list(V)],
      optional(V),
      end((values) => values[0]),
    ),
  ]),
  fn('optional.unwrap', [overload('optional_unwrap', [list(optional(V))], list(V), unwrap)]),
  fn('unwrapOpt', [member('optional_unwrapOpt', [list(optional(V))], list(V), unwrap)]),
];

/** The function that the newest cel-go adds: it compares the value of an optional. */
export const NEWEST_OPTIONALS: readonly FunctionDeclaration[] = [
  fn('hasValue', [
    member(
      'optional_hasValue_value',
      [optional(V), V],
      BOOL,
      (optional: Optional, value: Value) => optional.value !== undefined && equal(optional.value, value),
    ),
  ]),
];

/** The value may be null, which `??` would treat like an absent value. */
function absent(value: Optional): Value | CelError {
  return value.value === null ? null : new CelError('invalid_argument', 'optional.none() dereference');
}

function isZero(value: Value): boolean {
  switch (typeof value) {
    case 'boolean':
      return !value;
    case 'string':
      return value === '';
    case 'number':
      return value === 0;
    case 'bigint':
      return false;
    default:
      return isZeroObject(value);
  }
}

function isZeroObject(value: Exclude<Value, boolean | string | number | bigint>): boolean {
  if (value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof Uint) return Number(value.value) === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  if (value instanceof Timestamp) return value.seconds === -62135596800 && value.nanos === 0;
  if (value instanceof StructValue) return value.typeName !== 'JSONPatch' && Object.keys(value.fields).length === 0;
  return isMap(value) ? mapSize(value) === 0 : doubleOf(value) === 0;
}
