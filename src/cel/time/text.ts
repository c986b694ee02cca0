/** Parses and formats timestamps and durations like Go: RFC 3339, `1h30m`, `5400s`. */
import { type CelError, Duration, INT_MAX, type Timestamp } from '../values.ts';
import { SECOND, timestampOf } from './values.ts';

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function parseTimestamp(text: string): Timestamp | CelError | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && leap ? 29 : MONTH_DAYS[month - 1];
  if (days === undefined || day < 1 || day > days || hour > 23 || minute > 59 || second > 59) return undefined;
  const zone = zoneSeconds(match[8], match[9], match[10]);
  if (zone === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - zone;
  return timestampOf(seconds, Number((match[7] ?? '').padEnd(9, '0').slice(0, 9)), zone);
}

function zoneSeconds(
  sign: string | undefined,
  hours: string | undefined,
  minutes: string | undefined,
): number | undefined {
  if (sign === undefined) return 0;
  const [h, m] = [Number(hours), Number(minutes)];
  if (h > 24 || m >= 60) return undefined;
  return (h * 3600 + m * 60) * (sign === '-' ? -1 : 1);
}

export function formatTimestamp(time: Timestamp): string {
  const date = new Date((time.seconds + time.zone) * 1000);
  const pad = (value: number, width = 2): string => String(value).padStart(width, '0');
  const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  const clock = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  const fraction = time.nanos === 0 ? '' : `.${pad(time.nanos, 9).replace(/0+$/, '')}`;
  if (time.zone === 0) return `${day}T${clock}${fraction}Z`;
  const minutes = Math.trunc(Math.abs(time.zone) / 60);
  return `${day}T${clock}${fraction}${time.zone < 0 ? '-' : '+'}${pad(Math.trunc(minutes / 60))}:${pad(minutes % 60)}`;
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3600n * SECOND,
};
const PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * `parseDuration` is Go's time.ParseDuration: signed numbers with units, `-1.5h`, `1h15m30.918s`; undefined if invalid.
 */
export function parseDuration(text: string): Duration | undefined {
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return new Duration(0n);
  if (body === '') return undefined;
  let total = 0n;
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const match = PART.exec(body);
    if (match === null) return undefined;
    const [, whole = '', fraction = '', unit = ''] = match;
    if (whole === '' && fraction === '') return undefined;
    const scale = UNITS[unit] as bigint;
    total += BigInt(whole || '0') * scale;
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    if (total > INT_MAX + (negative ? 1n : 0n)) return undefined;
  }
  return new Duration(negative ? -total : total);
}

/** `formatDuration` is Go's FormatFloat(d.Seconds(), 'f', -1) with an s: `5400s`, `0.000000001s`. */
export function formatDuration(duration: Duration): string {
  const whole = duration.nanoseconds / SECOND;
  const fraction = duration.nanoseconds % SECOND;
  return `${formatFixed(Number(whole) + Number(fraction) / 1e9)}s`;
}

/** `formatFixed` returns the shortest decimal of a number, never with an exponent. */
export function formatFixed(number: number): string {
  const text = String(number);
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign = '', first = '', rest = '', power = ''] = match;
  const digits = first + rest;
  const point = 1 + Number(power);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, '0');
}
