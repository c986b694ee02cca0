/** The conversions `int(x)`, `string(x)`, `timestamp(x)` and others, with their errors. */
import { type FunctionDeclaration, fn, overload } from '../declarations.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from '../time/text.ts';
import { timestampOf } from '../time/values.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
  type as typeType,
  UINT,
} from '../types.ts';
import {
  CelError,
  type Double,
  type Duration,
  double,
  doubleOf,
  int,
  type Timestamp,
  typeOf,
  type Uint,
  uint,
  type Value,
} from '../values.ts';
import { firstTraversal } from './costs.ts';
import { doubleToInt, doubleToUint, formatDouble, parseDouble, parseInt64, parseUint64 } from './numbers.ts';

const A = parameter('A');

const failed = (from: string, to: string): CelError =>
  new CelError('conversion', `type conversion error from '${from}' to '${to}'`);

const same = (value: Value): Value => value;
const real = (value: Value): number => doubleOf(value) as number;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function bytesToString(bytes: Uint8Array): string | CelError {
  try {
    return utf8.decode(bytes);
  } catch {
    return new CelError('conversion', 'invalid UTF-8 in bytes, cannot convert to string');
  }
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

function parseBool(text: string): boolean | CelError {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : failed('string', 'bool');
}

const row = overload as (
  id: string,
  parameters: readonly Type[],
  result: Type,
  convert: (value: never) => Value | CelError,
) => ReturnType<typeof overload>;

export const CONVERSIONS: readonly FunctionDeclaration[] = [
  fn('type', [overload('type', [A], typeType(A), (value: Value) => typeOf(value))]),
  fn('dyn', [overload('to_dyn', [A], DYN, same)]),
  fn('bool', [row('bool_to_bool', [BOOL], BOOL, same), row('string_to_bool', [STRING], BOOL, parseBool)]),
  fn('bytes', [
    row('bytes_to_bytes', [BYTES], BYTES, same),
    overload('string_to_bytes', [STRING], BYTES, (text: string) => new TextEncoder().encode(text), {
      soleCost: firstTraversal,
    }),
  ]),
  fn('double', [
    row('double_to_double', [DOUBLE], DOUBLE, same),
    row('int64_to_double', [INT], DOUBLE, (value: number | bigint) => double(Number(value))),
    row('string_to_double', [STRING], DOUBLE, (text: string) => parseDouble(text) ?? failed('string', 'double')),
    row('uint64_to_double', [UINT], DOUBLE, (value: Uint) => double(Number(value.value))),
  ]),
  fn('duration', [
    row('duration_to_duration', [DURATION], DURATION, same),
    // The conversion is declared for the type checker, but cel-go does not implement it.
    row('int64_to_duration', [INT], DURATION, () => failed('int', 'google.protobuf.Duration')),
    row(
      'string_to_duration',
      [STRING],
      DURATION,
      (text: string) => parseDuration(text) ?? failed('string', 'google.protobuf.Duration'),
    ),
  ]),
  fn('int', [
    row('int64_to_int64', [INT], INT, same),
    row('double_to_int64', [DOUBLE], INT, (value: Double) => doubleToInt(real(value))),
    row('duration_to_int64', [DURATION], INT, (value: Duration) => int(value.nanoseconds)),
    row('string_to_int64', [STRING], INT, (text: string) => parseInt64(text) ?? failed('string', 'int')),
    row('timestamp_to_int64', [TIMESTAMP], INT, (value: Timestamp) => value.seconds),
    row('uint64_to_int64', [UINT], INT, (value: Uint) => int(BigInt(value.value))),
  ]),
  fn('string', [
    row('string_to_string', [STRING], STRING, same),
    row('bool_to_string', [BOOL], STRING, String),
    overload('bytes_to_string', [BYTES], STRING, bytesToString, { soleCost: firstTraversal }),
    row('double_to_string', [DOUBLE], STRING, (value: Double) => formatDouble(real(value))),
    row('duration_to_string', [DURATION], STRING, formatDuration),
    row('int64_to_string', [INT], STRING, String),
    row('timestamp_to_string', [TIMESTAMP], STRING, formatTimestamp),
    row('uint64_to_string', [UINT], STRING, (value: Uint) => String(value.value)),
  ]),
  fn('timestamp', [
    row('timestamp_to_timestamp', [TIMESTAMP], TIMESTAMP, same),
    row('int64_to_timestamp', [INT], TIMESTAMP, (value: number | bigint) => timestampOf(Number(value), 0)),
    row(
      'string_to_timestamp',
      [STRING],
      TIMESTAMP,
      (text: string) => parseTimestamp(text) ?? failed('string', 'google.protobuf.Timestamp'),
    ),
  ]),
  fn('uint', [
    row('uint64_to_uint64', [UINT], UINT, same),
    row('double_to_uint64', [DOUBLE], UINT, (value: Double) => doubleToUint(real(value))),
    row('int64_to_uint64', [INT], UINT, (value: number | bigint) => uint(BigInt(value))),
    row('string_to_uint64', [STRING], UINT, (text: string) => parseUint64(text) ?? failed('string', 'uint')),
  ]),
];
