/** The operators as functions, with the names and ids of cel-go. Each has one implementation for all overloads. */
import { compare, equal } from '../compare.ts';
import {
  type FunctionDeclaration,
  fn,
  type Implementation,
  type Overload,
  overload,
  type RuntimeCost,
} from '../declarations.ts';
import { contains, selectIndex } from '../run/access.ts';
import { add, divide, modulo, multiply, negate, subtract } from '../run/arithmetic.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  list,
  map,
  optional,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
  UINT,
} from '../types.ts';
import { CelError, noSuchOverload, type Value } from '../values.ts';
import { bothTraversal, secondSize, shorterTraversal } from './costs.ts';

const A = parameter('A');
const B = parameter('B');

type Row = readonly [id: string, parameters: readonly Type[], result: Type, soleCost?: RuntimeCost];

const operator = (name: string, implementation: Implementation, rows: readonly Row[]): FunctionDeclaration =>
  fn(
    name,
    rows.map(([id, parameters, result, soleCost]) =>
      overload(id, parameters, result, implementation, {
        singleton: true,
        ...(soleCost === undefined ? {} : { soleCost }),
      }),
    ),
  );

/** The planner handles these operators; they are declared for the type checker. */
const planned: Implementation = () => noSuchOverload();

const order = (accept: (sign: number) => boolean): Implementation => {
  return (left: Value, right: Value) => {
    const sign = compare(left, right);
    return sign instanceof CelError ? sign : accept(sign);
  };
};

const ORDERED: readonly (readonly [suffix: string, left: Type, right: Type, soleCost?: RuntimeCost])[] = [
  ['bool', BOOL, BOOL],
  ['int64', INT, INT],
  ['int64_double', INT, DOUBLE],
  ['int64_uint64', INT, UINT],
  ['uint64', UINT, UINT],
  ['uint64_double', UINT, DOUBLE],
  ['uint64_int64', UINT, INT],
  ['double', DOUBLE, DOUBLE],
  ['double_int64', DOUBLE, INT],
  ['double_uint64', DOUBLE, UINT],
  ['string', STRING, STRING, shorterTraversal],
  ['bytes', BYTES, BYTES, shorterTraversal],
  ['timestamp', TIMESTAMP, TIMESTAMP],
  ['duration', DURATION, DURATION],
];

const relation = (name: string, prefix: string, accept: (sign: number) => boolean): FunctionDeclaration =>
  operator(
    name,
    order(accept),
    ORDERED.map(([suffix, left, right, soleCost]) => {
      const row = [`${prefix}_${suffix}`, [left, right], BOOL] as const;
      return soleCost === undefined ? row : [...row, soleCost];
    }),
  );

const sameTypes = (prefix: string, types: readonly (readonly [string, Type])[]): Row[] =>
  types.map(([suffix, each]) => [`${prefix}_${suffix}`, [each, each], each]);

const NUMBERS = [
  ['double', DOUBLE],
  ['int64', INT],
  ['uint64', UINT],
] as const;

export const OPERATORS: readonly FunctionDeclaration[] = [
  operator('_?_:_', planned, [['conditional', [BOOL, A, A], A]]),
  operator('_&&_', planned, [['logical_and', [BOOL, BOOL], BOOL]]),
  operator('_||_', planned, [['logical_or', [BOOL, BOOL], BOOL]]),
  operator('!_', (value: Value) => (typeof value === 'boolean' ? !value : noSuchOverload()), [
    ['logical_not', [BOOL], BOOL],
  ]),
  operator('@not_strictly_false', planned, [['not_strictly_false', [BOOL], BOOL]]),
  operator('_==_', planned, [['equals', [A, A], BOOL]]),
  operator('_!=_', planned, [['not_equals', [A, A], BOOL]]),
  operator('_+_', add, [
    ['add_bytes', [BYTES, BYTES], BYTES, bothTraversal],
    ['add_double', [DOUBLE, DOUBLE], DOUBLE],
    ['add_duration_duration', [DURATION, DURATION], DURATION],
    ['add_duration_timestamp', [DURATION, TIMESTAMP], TIMESTAMP],
    ['add_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP],
    ['add_int64', [INT, INT], INT],
    ['add_list', [list(A), list(A)], list(A)],
    ['add_string', [STRING, STRING], STRING, bothTraversal],
    ['add_uint64', [UINT, UINT], UINT],
  ]),
  operator('_/_', divide, sameTypes('divide', NUMBERS)),
  operator('_%_', modulo, [
    ['modulo_int64', [INT, INT], INT],
    ['modulo_uint64', [UINT, UINT], UINT],
  ]),
  operator('_*_', multiply, sameTypes('multiply', NUMBERS)),
  operator('-_', negate, [
    ['negate_double', [DOUBLE], DOUBLE],
    ['negate_int64', [INT], INT],
  ]),
  operator('_-_', subtract, [
    ['subtract_double', [DOUBLE, DOUBLE], DOUBLE],
    ['subtract_duration_duration', [DURATION, DURATION], DURATION],
    ['subtract_int64', [INT, INT], INT],
    ['subtract_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP],
    ['subtract_timestamp_timestamp', [TIMESTAMP, TIMESTAMP], DURATION],
    ['subtract_uint64', [UINT, UINT], UINT],
  ]),
  relation('_<_', 'less', (sign) => sign < 0),
  relation('_<=_', 'less_equals', (sign) => sign <= 0),
  relation('_>_', 'greater', (sign) => sign > 0),
  relation('_>=_', 'greater_equals', (sign) => sign >= 0),
  operator('@in', (element: Value, container: Value) => contains(element, container, equal), [
    ['in_list', [A, list(A)], BOOL, secondSize],
    ['in_map', [A, map(A, B)], BOOL],
  ]),
];

const V = parameter('V');
const K = parameter('K');

/** Indexing, including that of optionals; the planner turns it into attributes. */
export const INDEXING: readonly Overload[] = [
  overload('index_list', [list(A), INT], A, selectIndex as Implementation),
  overload('index_map', [map(A, B), A], B, selectIndex as Implementation),
];

export const OPTIONAL_INDEXING: readonly Overload[] = [
  overload('optional_list_index_int', [optional(list(V)), INT], optional(V), planned),
  overload('optional_map_index_value', [optional(map(K, V)), K], optional(V), planned),
];

export const OPTIONAL_ACCESS: readonly FunctionDeclaration[] = [
  fn('_?._', [overload('select_optional_field', [DYN, STRING], optional(V), planned)]),
  fn('_[?_]', [
    overload('list_optindex_optional_int', [list(V), INT], optional(V), planned),
    overload('optional_list_optindex_optional_int', [optional(list(V)), INT], optional(V), planned),
    overload('map_optindex_optional_value', [map(K, V), K], optional(V), planned),
    overload('optional_map_optindex_optional_value', [optional(map(K, V)), K], optional(V), planned),
  ]),
];
