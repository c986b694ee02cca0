/** cel-go's math extension. */
import type { Expr } from '../../ast.ts';
import { compare } from '../../compare.ts';
import { sizeOf } from '../../cost/size.ts';
import {
  type FunctionDeclaration,
  fn,
  type Library,
  type Macro,
  type MacroBuilder,
  type Overload,
  overload,
} from '../../declarations.ts';
import { BOOL, DOUBLE, DYN, INT, list, type Type, UINT } from '../../types.ts';
import {
  CelError,
  double,
  doubleOf,
  int,
  invalidArgument,
  isInt,
  noSuchOverload,
  type Result,
  Uint,
  uint,
  type Value,
} from '../../values.ts';
import { add, estimate, ONE, sizeOfNode } from '../estimate.ts';

type Int = number | bigint;

const NUMBERS: readonly { readonly name: string; readonly type: Type }[] = [
  { name: 'double', type: DOUBLE },
  { name: 'int', type: INT },
  { name: 'uint', type: UINT },
];

export const math: Library = {
  name: 'cel.lib.ext.math',
  macros: [extremeMacro('least', 'math.@min'), extremeMacro('greatest', 'math.@max')],
  functions: [
    extremeFunction('math.@min', 'math_@min', (order) => order > 0),
    extremeFunction('math.@max', 'math_@max', (order) => order < 0),
    rounding('ceil', Math.ceil),
    rounding('floor', Math.floor),
    rounding('round', roundAwayFromZero),
    rounding('trunc', Math.trunc),
    testing('isInf', (number) => Math.abs(number) === Number.POSITIVE_INFINITY),
    testing('isNaN', Number.isNaN),
    testing('isFinite', Number.isFinite),
    fn('math.abs', [
      overload('math_abs_double', [DOUBLE], DOUBLE, onDouble(Math.abs)),
      overload('math_abs_int', [INT], INT, (value: Int) => int(value < 0 ? -BigInt(value) : BigInt(value))),
      overload('math_abs_uint', [UINT], UINT, (value: Value) => value),
    ]),
    fn('math.sign', [
      overload(
        'math_sign_double',
        [DOUBLE],
        DOUBLE,
        onDouble((number) => (number === 0 ? 0 : Math.sign(number))),
      ),
      overload('math_sign_int', [INT], INT, (value: Int) => (value > 0 ? 1 : value < 0 ? -1 : 0)),
      overload('math_sign_uint', [UINT], UINT, ({ value }: Uint) => new Uint(value > 0 ? 1 : 0)),
    ]),
    fn('math.sqrt', [
      overload('math_sqrt_double', [DOUBLE], DOUBLE, onDouble(Math.sqrt)),
      overload('math_sqrt_int', [INT], DOUBLE, (value: Int) => double(Math.sqrt(Number(value)))),
      overload('math_sqrt_uint', [UINT], DOUBLE, ({ value }: Uint) => double(Math.sqrt(Number(value)))),
    ]),
    bitwise('bitAnd', (left, right) => left & right),
    bitwise('bitOr', (left, right) => left | right),
    bitwise('bitXor', (left, right) => left ^ right),
    fn('math.bitNot', [
      overload('math_bitNot_int_int', [INT], INT, (value: Int) => int(~BigInt(value))),
      overload('math_bitNot_uint_uint', [UINT], UINT, ({ value }: Uint) => uint(BigInt.asUintN(64, ~BigInt(value)))),
    ]),
    // A right shift of a negative int shifts its bits: zeros are inserted from the left.
    shifting('bitShiftLeft', (value, bits) => value << bits),
    shifting('bitShiftRight', (value, bits) => BigInt.asUintN(64, value) >> bits),
  ],
};

const numberOf = (value: Value): number => doubleOf(value) ?? Number.NaN;

function onDouble(of: (number: number) => number): (value: Value) => Value {
  return (value) => double(of(numberOf(value)));
}

function rounding(name: string, of: (number: number) => number): FunctionDeclaration {
  return fn(`math.${name}`, [overload(`math_${name}_double`, [DOUBLE], DOUBLE, onDouble(of))]);
}

/** Rounds halves away from zero; Math.round rounds them up. */
function roundAwayFromZero(number: number): number {
  const whole = Math.trunc(number);
  return Math.abs(number - whole) >= 0.5 ? whole + Math.sign(number) : whole;
}

function testing(name: string, of: (number: number) => boolean): FunctionDeclaration {
  return fn(`math.${name}`, [overload(`math_${name}_double`, [DOUBLE], BOOL, (value: Value) => of(numberOf(value)))]);
}

function bitwise(name: string, of: (left: bigint, right: bigint) => bigint): FunctionDeclaration {
  return fn(`math.${name}`, [
    overload(`math_${name}_int_int`, [INT, INT], INT, (left: Int, right: Int) => int(of(BigInt(left), BigInt(right)))),
    overload(`math_${name}_uint_uint`, [UINT, UINT], UINT, (left: Uint, right: Uint) =>
      uint(of(BigInt(left.value), BigInt(right.value))),
    ),
  ]);
}

function shifting(name: string, of: (value: bigint, bits: bigint) => bigint): FunctionDeclaration {
  const shift = (value: bigint, bits: Int): bigint | CelError => {
    if (bits < 0) return invalidArgument(`math.${name}() negative offset: ${bits}`);
    return bits > 63 ? 0n : of(value, BigInt(bits));
  };
  return fn(`math.${name}`, [
    overload(`math_${name}_int_int`, [INT, INT], INT, (value: Int, bits: Int) => {
      const shifted = shift(BigInt(value), bits);
      return shifted instanceof CelError ? shifted : int(BigInt.asIntN(64, shifted));
    }),
    overload(`math_${name}_uint_int`, [UINT, INT], UINT, ({ value }: Uint, bits: Int) => {
      const shifted = shift(BigInt(value), bits);
      return shifted instanceof CelError ? shifted : uint(BigInt.asUintN(64, shifted));
    }),
  ]);
}

/** `replaces` decides, from the order of the best value so far and the next one, whether the next one is better. */
function extremeFunction(name: string, id: string, replaces: (order: number) => boolean): FunctionDeclaration {
  const better = (best: Value, next: Value): Value | CelError => {
    const order = compare(best, next);
    if (order instanceof CelError) return new CelError(order.code, `${order.message}: ${name}`);
    return replaces(order) ? next : best;
  };
  const best = (of: readonly Value[]): Value | CelError => {
    const [first, ...rest] = of;
    if (first === undefined) return invalidArgument(`${name}(list) argument must not be empty`);
    let found = first;
    for (const next of rest) {
      const result = better(found, next);
      if (result instanceof CelError) return result;
      found = result;
    }
    return isNumber(found) ? found : noSuchOverload(name);
  };
  return fn(name, [
    ...NUMBERS.map(({ name: kind, type }) => overload(`${id}_${kind}`, [type], type, (value: Value) => value)),
    ...NUMBERS.flatMap((left) => NUMBERS.map((right) => pair(id, left, right, better))),
    ...NUMBERS.map(({ name: kind, type }) =>
      overload(`${id}_list_${kind}`, [list(type)], type, best, {
        cost: ([of]) => sizeOf((of ?? null) as Result) + 1,
        estimate: (_target, [of]) => estimate(add(sizeOfNode(of), ONE), ONE),
      }),
    ),
  ]);
}

function pair(
  id: string,
  left: (typeof NUMBERS)[number],
  right: (typeof NUMBERS)[number],
  better: (left: Value, right: Value) => Value | CelError,
): Overload {
  const result = left.type === right.type ? left.type : DYN;
  return overload(`${id}_${left.name}_${right.name}`, [left.type, right.type], result, better);
}

const isNumber = (value: Value): boolean => isInt(value) || value instanceof Uint || doubleOf(value) !== undefined;

/** The macro `math.least(…)` takes one number, a list of numbers, or two or more numbers. */
function extremeMacro(name: 'least' | 'greatest', target: string): Macro {
  return {
    name,
    member: true,
    expand(builder, receiver, args, call) {
      if (receiver?.kind !== 'identifier' || receiver.name !== 'math') return undefined;
      const [first] = args;
      if (first === undefined) return builder.error(call, `math.${name}() requires at least one argument`);
      if (args.length === 1) {
        if (isNumericList(first) || mayBeNumeric(first)) return builder.call(target, first);
        return builder.error(first, `math.${name}() invalid single argument value`);
      }
      return severalArguments(builder, name, target, args);
    },
  };
}

function severalArguments(builder: MacroBuilder, name: string, target: string, args: readonly Expr[]): Expr {
  const wrong = args.find((argument) => !mayBeNumeric(argument));
  if (wrong !== undefined) return builder.error(wrong, `math.${name}() simple literal arguments must be numeric`);
  return args.length === 2 ? builder.call(target, ...args) : builder.call(target, builder.list(...args));
}

function mayBeNumeric(node: Expr): boolean {
  if (node.kind === 'literal') return isNumber(node.value);
  return node.kind !== 'list' && node.kind !== 'map' && node.kind !== 'struct';
}

const isNumericList = (node: Expr): boolean =>
  node.kind === 'list' && node.elements.length > 0 && node.elements.every(mayBeNumeric);
