/** The standard library, optionals and two-variable loops as libraries. */
import { fn, type Implementation, type Library, overload } from '../declarations.ts';
import { mapInsert, mapMerge } from '../map.ts';
import { BIND_MACROS, BLOCK_MACROS, OPTIONAL_MACROS, STANDARD_MACROS, TWO_VARIABLE_MACROS } from '../parse/macros.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  list,
  map,
  NULL,
  optional,
  parameter,
  STRING,
  TIMESTAMP,
  type as typeType,
  UINT,
} from '../types.ts';
import { CONVERSIONS } from './conversions.ts';
import { FUNCTIONS } from './functions.ts';
import { INDEXING, OPERATORS, OPTIONAL_ACCESS, OPTIONAL_INDEXING } from './operators.ts';
import { NEWEST_OPTIONALS, OPTIONALS } from './optionals.ts';

export const STANDARD: Library = {
  name: 'standard',
  functions: [...OPERATORS, fn('_[_]', INDEXING), ...CONVERSIONS, ...FUNCTIONS],
  types: [BOOL, BYTES, DOUBLE, DURATION, INT, list(DYN), map(DYN, DYN), NULL, STRING, TIMESTAMP, typeType(), UINT],
  macros: STANDARD_MACROS,
};

export const OPTIONAL_TYPES: Library = {
  name: 'optional',
  functions: [...OPTIONALS, ...OPTIONAL_ACCESS, fn('_[_]', OPTIONAL_INDEXING)],
  types: [optional(DYN)],
  macros: OPTIONAL_MACROS,
};

/** Functions on optionals that the newest cel-go has and Kubernetes does not. */
export const NEWEST_OPTIONAL_TYPES: Library = { name: 'newest optional', functions: NEWEST_OPTIONALS };

const K = parameter('K');
const V = parameter('V');

export const TWO_VARIABLES: Library = {
  name: 'two-variable comprehensions',
  functions: [
    fn('cel.@mapInsert', [
      overload('@mapInsert_map_key_value', [map(K, V), K, V], map(K, V), mapInsert as Implementation),
      overload('@mapInsert_map_map', [map(K, V), map(K, V)], map(K, V), mapMerge as Implementation),
    ]),
  ],
  macros: TWO_VARIABLE_MACROS,
};

/** The macros `cel.bind(name, value, body)` and `cel.block`, which Kubernetes does not have. */
export const BINDINGS: Library = { name: 'bindings', macros: [...BIND_MACROS, ...BLOCK_MACROS] };
