/**
 * What an object costs, by a table of prices an hour. A meter runs while the thing is there: it holds what is settled of the month
 * so far, and since when at which price it runs, so that a change of size changes only the hours after it.
 *
 * Amounts are whole numbers of a millionth of the currency: nothing is lost to rounding on the way.
 */
import type { DeploymentRequest } from '../messages.ts';

export interface PriceTable {
  /** As in ISO 4217. */
  readonly currency: string;
  /**
   * An hour's price by kind, and by size or `default`: `{Database: {small: 0.05, large: 0.4, default: 0.05}}`. Of a Service it is
   * the price of one copy, of a Topic of one partition.
   */
  readonly perHour: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface Meter {
  /** `2026-01`. */
  readonly month: string;
  readonly settledMicros: number;
  /** Milliseconds since 1970: from when on what follows is not settled yet. */
  readonly since: number;
  readonly microsPerHour: number;
  /** The months before this one, as they ended. */
  readonly ended?: readonly Amount[];
}

const hour = 3_600_000;

/** The price of an hour of what was asked for; 0 where the table has none. */
export function pricePerHour(prices: PriceTable, request: DeploymentRequest): number {
  const { kind } = request.resource;
  const of = prices.perHour[kind] ?? {};
  const spec = (request.spec ?? {}) as { size?: string; replicas?: number; partitions?: number };
  const each = of[spec.size ?? 'default'] ?? of.default ?? 0;
  const count = kind === 'Service' ? (spec.replicas ?? 1) : kind === 'Topic' ? (spec.partitions ?? 1) : 1;
  return Math.round(each * count * 1_000_000);
}

/** The meter as it stands now, running on at this price (0: it is gone). A month that has ended in between is kept as it ended. */
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

/** Month to date, after the month before where that has ended since the meter began to run. */
export function amounts(meter: Meter, now: number): Amount[] {
  const month = monthOf(now);
  if (meter.month === month) return [...(meter.ended ?? []), amountOf(meter, now)];
  return [...ended(meter, month), amountOf(settleMeter(meter, meter.microsPerHour, now), now)];
}

/**
 * What is to be told of a thing that is gone. The same whenever it is asked for, so that however often it is told, it is known again.
 */
export const finalAmounts = (meter: Meter): Amount[] => amounts(meter, meter.since);

/** Every month from that of the meter up to the one before this. */
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
