/** size, the string tests, and the fields of timestamps and durations. */
import { sizeOf } from '../cost/size.ts';
import { type FunctionDeclaration, fn, type Implementation, member, overload } from '../declarations.ts';
import { codePoints } from '../text.ts';
import { type Fields, fieldsIn, utcFields } from '../time/zones.ts';
import { BOOL, BYTES, DURATION, INT, list, map, parameter, STRING, TIMESTAMP, type Type } from '../types.ts';
import { CelError, type Duration, isMap, noSuchOverload, OpaqueValue, type Timestamp, type Value } from '../values.ts';
import { firstTraversal, matchCost, searchCost } from './costs.ts';
import { matches } from './regex.ts';

const A = parameter('A');
const B = parameter('B');

const size: Implementation = (value: Value) => {
  if (typeof value === 'string') return codePoints(value);
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (isMap(value)) return sizeOf(value);
  return value instanceof OpaqueValue && value.size !== undefined ? value.size() : noSuchOverload();
};

const test = (name: string, id: string, holds: (text: string, part: string) => boolean, soleCost: typeof searchCost) =>
  fn(name, [member(id, [STRING, STRING], BOOL, holds, { soleCost })]);

/** cel-go declares this as a singleton: it checks the values itself, whatever the overload. */
const match: Implementation = (text: Value, pattern: Value) =>
  typeof text === 'string' && typeof pattern === 'string' ? matches(text, pattern) : noSuchOverload();

const field = (
  name: string,
  id: string,
  read: (fields: Fields, time: Timestamp) => number,
  zoned = `${id}_with_tz`,
): FunctionDeclaration =>
  fn(name, [
    member(id, [TIMESTAMP], INT, (time: Timestamp) => read(utcFields(time.seconds), time)),
    member(zoned, [TIMESTAMP, STRING], INT, (time: Timestamp, zone: string) => {
      const fields = fieldsIn(time, zone);
      return fields instanceof CelError ? fields : read(fields, time);
    }),
  ]);

const span = (name: string, id: string, unit: bigint): FunctionDeclaration =>
  fn(name, [member(id, [DURATION], INT, ({ nanoseconds }: Duration) => unitsIn(nanoseconds, unit))]);

/** Go adds whole units and the remainder as floats and truncates: a remainder of nearly one unit may round up. */
const unitsIn = (nanoseconds: bigint, unit: bigint): number =>
  Math.trunc(Number(nanoseconds / unit) + Number(nanoseconds % unit) / Number(unit)) + 0;

const sized = (kind: string, of: Type) => [
  overload(`size_${kind}`, [of], INT, size, { singleton: true }),
  member(`${kind}_size`, [of], INT, size, { singleton: true }),
];

export const FUNCTIONS: readonly FunctionDeclaration[] = [
  fn('size', [
    ...sized('bytes', BYTES),
    ...sized('list', list(A)),
    ...sized('map', map(A, B)),
    ...sized('string', STRING),
  ]),
  test('contains', 'contains_string', (text, part) => text.includes(part), searchCost),
  test('endsWith', 'ends_with_string', (text, part) => text.endsWith(part), firstTraversal),
  test('startsWith', 'starts_with_string', (text, part) => text.startsWith(part), firstTraversal),
  fn('matches', [
    overload('matches', [STRING, STRING], BOOL, match, { singleton: true }),
    member('matches_string', [STRING, STRING], BOOL, match, { singleton: true, soleCost: matchCost }),
  ]),
  field('getFullYear', 'timestamp_to_year', (fields) => fields.year),
  field('getMonth', 'timestamp_to_month', (fields) => fields.month),
  field('getDayOfYear', 'timestamp_to_day_of_year', (fields) => fields.yearDay),
  field('getDayOfMonth', 'timestamp_to_day_of_month', (fields) => fields.day - 1),
  field('getDate', 'timestamp_to_day_of_month_1_based', (fields) => fields.day),
  field('getDayOfWeek', 'timestamp_to_day_of_week', (fields) => fields.weekday),
  field('getHours', 'timestamp_to_hours', (fields) => fields.hour),
  field('getMinutes', 'timestamp_to_minutes', (fields) => fields.minute),
  field('getSeconds', 'timestamp_to_seconds', (fields) => fields.second, 'timestamp_to_seconds_tz'),
  field('getMilliseconds', 'timestamp_to_milliseconds', (_, time) => Math.floor(time.nanos / 1_000_000)),
  span('getHours', 'duration_to_hours', 3_600_000_000_000n),
  span('getMinutes', 'duration_to_minutes', 60_000_000_000n),
  span('getSeconds', 'duration_to_seconds', 1_000_000_000n),
  fn('getMilliseconds', [
    member('duration_to_milliseconds', [DURATION], INT, ({ nanoseconds }: Duration) =>
      Number(nanoseconds / 1_000_000n),
    ),
  ]),
];
