/**
 * Checks number bounds the way the API server does: an integer is compared with the truncated bound, and a bound that
 * does not fit the type of the field refuses every value.
 */
import type { CrdSchema } from '../schema.ts';
import { isInt64, isNumber, passesForInteger, toInt64 } from './json.ts';
import type { Check, Run } from './run.ts';

export function numberCheck(schema: CrdSchema): Check | undefined {
  const range = rangeOf(schema);
  const { minimum, maximum, multipleOf } = schema;
  const bare = minimum === undefined && maximum === undefined && multipleOf === undefined;
  if (bare && range === undefined) return undefined;
  const bound = (keyword: string, limit: number, test: NumberTest): NumberTest => {
    if (range === undefined || range.holds(limit)) return test;
    const cause = `no value is allowed, because the ${keyword} ${limit} is not ${range.name}`;
    return () => cause;
  };
  const tests: (readonly [string, NumberTest])[] = [];
  if (multipleOf !== undefined) tests.push(['multipleOf', bound('multipleOf', multipleOf, multipleTest(multipleOf))]);
  if (minimum !== undefined) {
    tests.push(['minimum', bound('minimum', minimum, minimumTest(minimum, schema.exclusiveMinimum === true))]);
  }
  if (maximum !== undefined) {
    tests.push(['maximum', bound('maximum', maximum, maximumTest(maximum, schema.exclusiveMaximum === true))]);
  }
  return (value: unknown, run: Run) => {
    if (!isNumber(value)) return;
    const whole = isInt64(value);
    if (range !== undefined && !range.holds(Number(value))) run.fault('format', `${value} is not ${range.name}`);
    for (const [keyword, test] of tests) {
      const problem = test(value, whole);
      if (problem !== undefined) run.fault(keyword, problem);
    }
  };
}

/** Returns the fault of a number. `whole` says that the API server holds it as an int64. */
type NumberTest = (value: number | bigint, whole: boolean) => string | undefined;

interface Range {
  readonly name: string;
  readonly holds: (number: number) => boolean;
}

const INT64: Range = { name: 'a 64-bit integer', holds: (number) => Number.isInteger(number) && isInt64(number) };
const INT32: Range = {
  name: 'a 32-bit integer',
  holds: (number) => Number.isInteger(number) && number >= -(2 ** 31) && number < 2 ** 31,
};
const FLOAT: Range = { name: 'a 32-bit float', holds: (number) => Number.isFinite(Math.fround(number)) };

function rangeOf({ type, format, 'x-kubernetes-int-or-string': intOrString }: CrdSchema): Range | undefined {
  if (intOrString === true) return undefined;
  if (type === 'integer') return format === 'int32' ? INT32 : INT64;
  return type === 'number' && format === 'float' ? FLOAT : undefined;
}

function minimumTest(minimum: number, exclusive: boolean): NumberTest {
  const wholeMinimum = toInt64(minimum);
  const message = (value: number | bigint): string =>
    exclusive ? `${value} is not more than ${minimum}` : `${value} is less than the minimum ${minimum}`;
  return (value, whole) => {
    const limit = whole ? wholeMinimum : minimum;
    return value < limit || (exclusive && Number(value) === limit) ? message(value) : undefined;
  };
}

function maximumTest(maximum: number, exclusive: boolean): NumberTest {
  const wholeMaximum = toInt64(maximum);
  const message = (value: number | bigint): string =>
    exclusive ? `${value} is not less than ${maximum}` : `${value} is more than the maximum ${maximum}`;
  return (value, whole) => {
    const limit = whole ? wholeMaximum : maximum;
    return value > limit || (exclusive && Number(value) === limit) ? message(value) : undefined;
  };
}

function multipleTest(factor: number): NumberTest {
  const wholeFactor = toInt64(factor);
  return (value, whole) => {
    const holds = whole ? wholeFactor > 0 && isMultiple(value, wholeFactor) : isNearMultiple(Number(value), factor);
    return holds ? undefined : `${value} is not a multiple of ${factor}`;
  };
}

const isMultiple = (value: number | bigint, factor: number): boolean =>
  typeof value === 'bigint' ? value % BigInt(factor) === 0n : value % factor === 0;

function isNearMultiple(value: number, factor: number): boolean {
  if (factor <= 0) return false;
  return passesForInteger(factor < 1 ? (1 / factor) * value : value / factor);
}
