/**
 * Meters the cost of objects with a table of hourly prices. A meter runs while the deployment exists: it has the
 * settled amount of the month, the current price, and since when that price applies, so that a change of size affects
 * only the hours after it.
 *
 * Amounts are integers in millionths of the currency, so nothing is lost to rounding.
 */
import type { DeploymentRequest } from '../messages.ts';

export interface PriceTable {
  /** The currency as in ISO 4217. */
  readonly currency: string;
  /**
   * Hourly prices by kind, and by size or `default`: `{Database: {small: 0.05, large: 0.4, default: 0.05}}`. The price
   * of a Service is per replica, that of a Topic per partition.
   */
  readonly perHour: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface Meter {
  /** The month, such as `2026-01`. */
  readonly month: string;
  readonly settledMicros: number;
  /** The time since when the amount is not settled, in milliseconds since 1970. */
  readonly since: number;
  readonly microsPerHour: number;
  /** The final amounts of earlier months. */
  readonly ended?: readonly Amount[];
}

const hour = 3_600_000;

/** The hourly price of a request; 0 if the table has none. */
export function pricePerHour(prices: PriceTable, request: DeploymentRequest): number {
  const { kind } = request.resource;
  const of = prices.perHour[kind] ?? {};
  const spec = (request.spec ?? {}) as { size?: string; replicas?: number; partitions?: number };
  const each = of[spec.size ?? 'default'] ?? of.default ?? 0;
  const count = kind === 'Service' ? (spec.replicas ?? 1) : kind === 'Topic' ? (spec.partitions ?? 1) : 1;
  return Math.round(each * count * 1_000_000);
}

/** Settles the meter up to now and continues at this price (0: deleted). Months that have ended since are kept. */
export function settleMeter(meter: Meter | undefined, microsPerHour: number, now: number): Meter {
  const month = monthOf(now);
  if (meter === undefined) return { month, settledMicros: 0, since: now, microsPerHour };
  if (meter.month === month) {
    const settledMicros = meter.settledMicros + accrued(meter.microsPerHour, meter.since, now);
    return { ...meter, settledMicros, since: now, microsPerHour };
  }
  const settledMicros = accrued(meter.microsPerHour, startOfMonth(month), now);
  return { month, settledMicros, since: now, microsPerHour, ended: ended(meter, month) };
}

interface Amount {
  readonly month: string;
  readonly amount: string;
  readonly asOf: string;
}

/** The amount of the month to date, after those of earlier months that have ended since the meter started. */
export function amounts(meter: Meter, now: number): Amount[] {
  const month = monthOf(now);
  if (meter.month === month) return [...(meter.ended ?? []), amountOf(meter, now)];
  return [...ended(meter, month), amountOf(settleMeter(meter, meter.microsPerHour, now), now)];
}

/** The final amounts of a deleted object. They are always the same, so that repeated reports are recognised. */
export const finalAmounts = (meter: Meter): Amount[] => amounts(meter, meter.since);

/** Every month from that of the meter up to the one before `before`. */
function ended(meter: Meter, before: string): Amount[] {
  const all: Amount[] = [];
  for (let each = meter; each.month < before; ) {
    const next = nextMonth(each.month);
    all.push(amountOf(each, startOfMonth(next)));
    each = { month: next, settledMicros: 0, since: startOfMonth(next), microsPerHour: meter.microsPerHour };
  }
  return all.slice(-12);
}

function amountOf(meter: Meter, at: number): Amount {
  const micros = meter.settledMicros + accrued(meter.microsPerHour, meter.since, at);
  return { month: meter.month, amount: formatMicros(micros), asOf: new Date(at).toISOString() };
}

const accrued = (microsPerHour: number, from: number, to: number): number =>
  Math.round((microsPerHour * Math.max(0, to - from)) / hour);

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);
const startOfMonth = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

function nextMonth(month: string): string {
  const [year = 1970, number = 1] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number, 1));
}

function formatMicros(micros: number): string {
  const whole = Math.floor(micros / 1_000_000);
  const rest = String(micros % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return rest === '' ? String(whole) : `${whole}.${rest}`;
}
