/** The fields of a timestamp in a time zone: an IANA name or an offset such as `-08:00`. */
import { CelError, type Timestamp } from '../values.ts';

export interface Fields {
  readonly year: number;
  /** The month, 0…11. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** The day of the week; 0 is Sunday. */
  readonly weekday: number;
  /** The day of the year; 0 is the first of January. */
  readonly yearDay: number;
}

export function fieldsIn(time: Timestamp, zone: string): Fields | CelError {
  const offset = zoneOffset(time, zone);
  return offset instanceof CelError ? offset : utcFields(time.seconds + offset);
}

export function utcFields(seconds: number): Fields {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  const start = new Date(0);
  start.setUTCFullYear(year, 0, 1);
  return {
    year,
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    weekday: date.getUTCDay(),
    yearDay: Math.floor((seconds * 1000 - start.getTime()) / 86_400_000),
  };
}

/** Returns the offset in seconds east of UTC. */
function zoneOffset(time: Timestamp, zone: string): number | CelError {
  if (zone === 'UTC' || zone === '') return 0;
  const colon = zone.indexOf(':');
  if (colon < 0) return namedOffset(time, zone);
  const hours = goInteger(zone.slice(0, colon));
  const minutes = goInteger(zone.slice(colon + 1));
  if (hours === undefined || minutes === undefined) {
    return new CelError('invalid_argument', `strconv.Atoi: parsing "${zone}": invalid syntax`);
  }
  return (zone.startsWith('-') ? hours * 60 - minutes : hours * 60 + minutes) * 60;
}

const goInteger = (text: string): number | undefined => (/^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined);

const FORMATS = new Map<string, Intl.DateTimeFormat | null>();
const MAX_FORMATS = 500;

function namedOffset(time: Timestamp, zone: string): number | CelError {
  const format = formatFor(zone);
  if (format === null) return new CelError('invalid_argument', `unknown time zone ${zone}`);
  const parts: Record<string, string> = {};
  const instant = new Date(time.seconds * 1000);
  for (const part of format.formatToParts(instant)) parts[part.type] = part.value;
  const local = new Date(0);
  const year = Number(parts.year) * (parts.era === 'BC' ? -1 : 1) + (parts.era === 'BC' ? 1 : 0);
  local.setUTCFullYear(year, Number(parts.month) - 1, Number(parts.day));
  local.setUTCHours(Number(parts.hour) % 24, Number(parts.minute), Number(parts.second));
  return local.getTime() / 1000 - time.seconds;
}

function formatFor(zone: string): Intl.DateTimeFormat | null {
  const known = FORMATS.get(zone);
  if (known !== undefined) return known;
  let made: Intl.DateTimeFormat | null = null;
  // Intl accepts names in any case and its own abbreviations; Go accepts only the files of the zone database.
  if (/^[A-Za-z0-9_+\-/]+$/.test(zone) && !/^[+-]/.test(zone)) {
    try {
      made = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        calendar: 'gregory',
        numberingSystem: 'latn',
        era: 'short',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
        hourCycle: 'h23',
      });
    } catch {
      made = null;
    }
  }
  if (FORMATS.size >= MAX_FORMATS) FORMATS.clear();
  FORMATS.set(zone, made);
  return made;
}
