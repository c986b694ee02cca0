/** The quantity library of Kubernetes: `quantity("1.5Gi").isGreaterThan(quantity("1G"))`. */
import { fn, type Library, member, overload } from '../../declarations.ts';
import { BOOL, DOUBLE, INT, object, STRING } from '../../types.ts';
import { CelError, double, int, invalidArgument, noSuchOverload, TypeValue, type Value } from '../../values.ts';
import { nominal, textPass } from '../estimate.ts';
import { ComparedValue } from '../opaque.ts';
import { type Amount, addAmounts, approximate, asInteger, compareAmounts, signOf, subtractAmounts } from './amount.ts';
import { formatQuantity, parseQuantity, type QuantityFormat } from './quantity-text.ts';

type Int = number | bigint;

const NAME = 'kubernetes.Quantity';
const RUNTIME_TYPE = new TypeValue(NAME);

const QUANTITY = object(NAME);

export class Quantity extends ComparedValue {
  override readonly type = RUNTIME_TYPE;
  readonly amount: Amount;
  readonly format: QuantityFormat;
  /** Whether it is a result of add or sub: Kubernetes does not accept such a value on the right of `==`. */
  readonly computed: boolean;

  constructor(amount: Amount, format: QuantityFormat, computed: boolean) {
    super();
    this.amount = amount;
    this.format = format;
    this.computed = computed;
  }

  override equalsOrError(other: Value): boolean | CelError {
    if (!(other instanceof Quantity) || other.computed) return noSuchOverload();
    return compareAmounts(this.amount, other.amount) === 0;
  }

  override toString(): string {
    return formatQuantity(this);
  }
}

/** `quantity` parses a quantity; it returns an error for invalid text. */
export function quantity(text: string): Quantity | CelError {
  const parsed = parseQuantity(text);
  return typeof parsed === 'string' ? invalidArgument(parsed) : new Quantity(parsed.amount, parsed.format, false);
}

const one = { estimate: nominal };

const compared = (test: (order: number) => boolean | number) => (left: Quantity, right: Quantity) =>
  test(compareAmounts(left.amount, right.amount));

export const quantities: Library = {
  name: 'kubernetes.quantity',
  types: [QUANTITY],
  functions: [
    fn('quantity', [overload('string_to_quantity', [STRING], QUANTITY, quantity, textPass)]),
    fn('isQuantity', [
      overload(
        'is_quantity_string',
        [STRING],
        BOOL,
        (text: string) => typeof parseQuantity(text) !== 'string',
        textPass,
      ),
    ]),
    fn('sign', [overload('quantity_sign', [QUANTITY], INT, (of: Quantity) => signOf(of.amount), one)]),
    fn('isGreaterThan', [
      member(
        'quantity_is_greater_than',
        [QUANTITY, QUANTITY],
        BOOL,
        compared((order) => order > 0),
        one,
      ),
    ]),
    fn('isLessThan', [
      member(
        'quantity_is_less_than',
        [QUANTITY, QUANTITY],
        BOOL,
        compared((order) => order < 0),
        one,
      ),
    ]),
    fn('compareTo', [
      member(
        'quantity_compare_to',
        [QUANTITY, QUANTITY],
        INT,
        compared((order) => order),
        one,
      ),
    ]),
    fn('asApproximateFloat', [
      member('quantity_get_float', [QUANTITY], DOUBLE, (of: Quantity) => double(approximate(of.amount)), one),
    ]),
    fn('asInteger', [member('quantity_get_int', [QUANTITY], INT, integerOf, one)]),
    fn('isInteger', [
      member('quantity_is_integer', [QUANTITY], BOOL, (of: Quantity) => asInteger(of.amount) !== undefined, one),
    ]),
    fn('add', [
      member('quantity_add', [QUANTITY, QUANTITY], QUANTITY, sum, one),
      member('quantity_add_int', [QUANTITY, INT], QUANTITY, (of: Quantity, by: Int) => sum(of, whole(by)), one),
    ]),
    fn('sub', [
      member('quantity_sub', [QUANTITY, QUANTITY], QUANTITY, difference, one),
      member('quantity_sub_int', [QUANTITY, INT], QUANTITY, (of: Quantity, by: Int) => difference(of, whole(by)), one),
    ]),
  ],
};

function integerOf(of: Quantity): Int | CelError {
  const value = asInteger(of.amount);
  return value === undefined ? new CelError('conversion', 'cannot convert value to integer') : int(value);
}

const whole = (value: Int): Quantity => new Quantity({ unscaled: value, scale: 0, decimal: false }, 'exponent', false);

function sum(left: Quantity, right: Quantity): Quantity | CelError {
  return computed(left, right, addAmounts(left.amount, right.amount));
}

function difference(left: Quantity, right: Quantity): Quantity | CelError {
  return computed(left, right, subtractAmounts(left.amount, right.amount));
}

function computed(left: Quantity, right: Quantity, amount: Amount | undefined): Quantity | CelError {
  if (amount === undefined) return new CelError('overflow', 'quantities are too far apart to be added');
  // A zero adopts the format of the other operand.
  return new Quantity(amount, signOf(left.amount) === 0 ? right.format : left.format, true);
}
