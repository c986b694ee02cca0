/** Amounts of money: decimal numbers as text, added without rounding. */

/** A whole number of 10^-scale. */
interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/**
 * Room for any currency and for the fractions of a cent that clouds count in, and so small that the sum over a million resources
 * still fits into the field.
 */
const form = /^-?\d{1,15}(\.\d{1,9})?$/;

export const isAmount = (text: string): boolean => form.test(text);

/** The sum with as many places as the longest has. What is no amount must not get here. */
export function sumOfAmounts(amounts: Iterable<string>): string {
  let sum: Decimal = { units: 0n, scale: 0 };
  for (const amount of amounts) sum = add(sum, parse(amount));
  return format(sum);
}

/** Less than 0 where `left` is less. */
export function compareAmounts(left: string, right: string): number {
  const difference = add(parse(left), negated(parse(right))).units;
  return difference < 0n ? -1 : Number(difference > 0n);
}

function parse(text: string): Decimal {
  const [whole = '', fraction = ''] = text.split('.');
  return { units: BigInt(`${whole}${fraction}`), scale: fraction.length };
}

function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return { units: scaled(left, scale) + scaled(right, scale), scale };
}

const scaled = ({ units, scale }: Decimal, to: number): bigint => units * 10n ** BigInt(to - scale);
const negated = ({ units, scale }: Decimal): Decimal => ({ units: -units, scale });

function format({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const sign = units < 0n ? '-' : '';
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
