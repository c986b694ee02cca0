/** Amounts of money: decimal numbers as text, added without rounding. */

/** An integer number of units of 10^-scale. */
interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/**
 * Enough digits for any currency and for fractions of a cent, and few enough that the sum over a million resources fits
 * into the field.
 */
const form = /^-?\d{1,15}(\.\d{1,9})?$/;

export const isAmount = (text: string): boolean => form.test(text);

/** `sumOfAmounts` keeps as many decimal places as the longest amount. Every input must be a valid amount. */
export function sumOfAmounts(amounts: Iterable<string>): string {
  let sum: Decimal = { units: 0n, scale: 0 };
  for (const amount of amounts) sum = add(sum, parse(amount));
  return format(sum);
}

/** `compareAmounts` returns less than 0 if `left` is smaller. */
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
