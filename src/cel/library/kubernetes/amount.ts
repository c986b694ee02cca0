/**
 * Exact decimal amounts: a whole number times a power of ten. Kubernetes keeps an amount in an int64 while it fits, and
 * in an arbitrary-precision decimal otherwise; `isInteger` shows the difference.
 */
import { INT_MAX, INT_MIN } from '../../values.ts';

export interface Amount {
  /** A number while it is safe, so that the common comparison needs no bigint. */
  readonly unscaled: number | bigint;
  /** The power of ten that `unscaled` is multiplied by. */
  readonly scale: number;
  /** Whether it is an arbitrary-precision decimal (Go's inf.Dec), not an int64 with a scale. */
  readonly decimal: boolean;
}

/** Amounts that differ by more digits than this are compared by length and not added: 10^1000000000 fits no memory. */
const MAX_DIGITS = 100_000;

export const narrow = (value: bigint): number | bigint =>
  value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;

export const fitsInt64 = (value: bigint): boolean => value >= INT_MIN && value <= INT_MAX;

export const signOf = ({ unscaled }: Amount): number => (unscaled > 0 ? 1 : unscaled < 0 ? -1 : 0);

const POWERS = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** `compareAmounts` returns -1, 0 or 1; it is exact for any two amounts. */
export function compareAmounts(left: Amount, right: Amount): number {
  if (left.scale === right.scale) return order(left.unscaled, right.unscaled);
  const sign = signOf(left);
  if (sign !== signOf(right) || sign === 0) return Math.sign(sign - signOf(right));
  const difference = left.scale - right.scale;
  const [raised, other] = difference > 0 ? [left, right] : [right, left];
  const gap = Math.abs(difference);
  const result = compareRaised(raised.unscaled, gap, other.unscaled, sign);
  return difference > 0 ? result : 0 - result;
}

/** Compares `value` × 10^gap with `other`; both are nonzero and have the same sign. */
function compareRaised(value: number | bigint, gap: number, other: number | bigint, sign: number): number {
  if (typeof value === 'number' && typeof other === 'number' && gap < POWERS.length) {
    const product = value * (POWERS[gap] as number);
    if (Number.isSafeInteger(product)) return order(product, other);
  }
  // A longer number is larger, so only numbers of about the same length are multiplied out.
  if (gap > 40 && gap > digits(other)) return sign;
  return order(BigInt(value) * 10n ** BigInt(gap), BigInt(other));
}

const order = (left: number | bigint, right: number | bigint): number => (left < right ? -1 : left > right ? 1 : 0);

const digits = (value: number | bigint): number => value.toString().length;

/** `addAmounts` returns the sum, or undefined if it would exceed MAX_DIGITS. */
export function addAmounts(left: Amount, right: Amount): Amount | undefined {
  const small = left.decimal || right.decimal ? undefined : addIntegers(left, right);
  return small ?? addDecimals(left, right, 1n);
}

/** `subtractAmounts` returns the difference, or undefined like `addAmounts`. */
export function subtractAmounts(left: Amount, right: Amount): Amount | undefined {
  const small = left.decimal || right.decimal ? undefined : addIntegers(left, opposite(right));
  return small ?? addDecimals(left, right, -1n);
}

function addDecimals(left: Amount, right: Amount, sign: bigint): Amount | undefined {
  const scale = Math.min(left.scale, right.scale);
  if (left.scale - scale > MAX_DIGITS || right.scale - scale > MAX_DIGITS) return undefined;
  return { unscaled: narrow(raise(left, scale) + sign * raise(right, scale)), scale, decimal: true };
}

/** Adds in int64; undefined if that overflows. */
function addIntegers(left: Amount, right: Amount): Amount | undefined {
  if (right.unscaled === 0) return left;
  if (left.unscaled === 0) return right;
  const scale = Math.min(left.scale, right.scale);
  if (left.scale - scale > 18 || right.scale - scale > 18) return undefined;
  const [first, second] = [raise(left, scale), raise(right, scale)];
  const sum = first + second;
  if (!fitsInt64(first) || !fitsInt64(second) || !fitsInt64(sum)) return undefined;
  return { unscaled: narrow(sum), scale, decimal: false };
}

/** Negates in int64, where -2^63 stays itself: Kubernetes subtracts by adding the negated amount. */
function opposite(amount: Amount): Amount {
  if (typeof amount.unscaled === 'number') return { ...amount, unscaled: amount.unscaled === 0 ? 0 : -amount.unscaled };
  return { ...amount, unscaled: narrow(BigInt.asIntN(64, -amount.unscaled)) };
}

const raise = ({ unscaled, scale }: Amount, to: number): bigint => BigInt(unscaled) * 10n ** BigInt(scale - to);

/** `asInteger` returns the int64 value; undefined for a fraction, an overflow or a decimal. */
export function asInteger({ unscaled, scale, decimal }: Amount): bigint | undefined {
  if (decimal || scale < 0) return undefined;
  if (scale === 0 || unscaled === 0) return BigInt(unscaled);
  if (scale > 18) return undefined;
  const value = BigInt(unscaled) * 10n ** BigInt(scale);
  return fitsInt64(value) ? value : undefined;
}

/** `approximate` returns the nearest double of the digits times a power of ten, which rounds a second time. */
export function approximate({ unscaled, scale }: Amount): number {
  const base = Number(unscaled);
  return scale === 0 ? base : base * powerOfTen(scale);
}

/** Go's math.Pow10: the product or quotient of two table entries, which is not always the nearest double. */
function powerOfTen(power: number): number {
  if (power > 308) return Number.POSITIVE_INFINITY;
  if (power < -323) return 0;
  const tens = Math.abs(power) % 32;
  const blocks = Math.abs(power) - tens;
  return power >= 0 ? Number(`1e${blocks}`) * Number(`1e${tens}`) : Number(`1e-${blocks}`) / Number(`1e${tens}`);
}
