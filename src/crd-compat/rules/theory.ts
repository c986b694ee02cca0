/**
 * Decides whether facts about one term can hold together, given its schema: bounds, lists of values and sets of
 * strings.
 */
import { CelError, compare, equal, type Value } from '../../cel/index.ts';
import { StringSet, stringsOf } from '../pattern/index.ts';
import type { CrdSchema } from '../schema.ts';
import type { Fact, Order, Term } from './formula.ts';

export type TermFact = Extract<Fact, { readonly kind: 'order' | 'among' | 'strings' }>;

interface Bound {
  readonly order: Order;
  readonly value: Value;
}

/**
 * `canBe` returns false only if certainly no value satisfies all facts. `ofSize` are facts about the size of the term.
 */
export function canBe(term: Term, facts: readonly TermFact[], ofSize: readonly TermFact[]): boolean {
  if (term.type === 'string') return canBeText(term, facts, ofSize);
  return !isEmpty(new Domain(term, facts));
}

function canBeText(term: Term, facts: readonly TermFact[], ofSize: readonly TermFact[]): boolean {
  let set = textsOf(term);
  for (const fact of facts) {
    if (fact.kind !== 'strings') continue;
    set = fact.holds ? set.intersect(fact.set) : set.minus(fact.set);
  }
  const size = new Domain({ key: '', type: 'int', place: undefined, sizeOf: term }, ofSize);
  set = set.intersect(lengthsOf(size));
  return set.isEmpty() !== true;
}

/** The strings that the schema accepts. A field that only the new schema has can only have its default. */
function textsOf({ place }: Term): StringSet {
  if (place === undefined) return StringSet.all;
  const { before, after } = place;
  if (before === undefined)
    return typeof after?.default === 'string' ? StringSet.enumeration([after.default]) : StringSet.all;
  if (before.type !== 'string') return StringSet.all;
  const { enum: values, ...rest } = before;
  return stringsOf(values === undefined || isOf(values, 'string') ? before : (rest as CrdSchema));
}

/**
 * The API server compares numbers loosely with enum values. The result is certain only if all values have the same
 * type.
 */
const isOf = (values: readonly unknown[], type: 'string' | 'integer'): boolean =>
  values.every((each) => (type === 'string' ? typeof each === 'string' : Number.isSafeInteger(each)));

function lengthsOf(size: Domain): StringSet {
  const values = size.values;
  if (values !== undefined) {
    const lengths = values.filter((each) => typeof each === 'number' && each >= 0) as number[];
    return lengths.reduce((all, each) => all.union(StringSet.lengths(each, each)), StringSet.none);
  }
  const [low, high] = [size.low?.value, size.high?.value];
  return StringSet.lengths(typeof low === 'number' ? low : 0, typeof high === 'number' ? high : undefined);
}

/** The values between two bounds, or a list of values. */
class Domain {
  low: Bound | undefined;
  high: Bound | undefined;
  values: readonly Value[] | undefined;
  readonly #excluded: Value[] = [];
  readonly #isWhole: boolean;

  constructor(term: Term, facts: readonly TermFact[]) {
    this.#isWhole = term.type === 'int';
    for (const bound of boundsOf(term)) this.#bound(bound.order, bound.value);
    const listed = listedIn(term);
    if (listed !== undefined) this.#among(listed);
    for (const fact of facts) {
      if (fact.kind === 'order') this.#bound(fact.order, fact.value);
      else if (fact.kind === 'among' && fact.holds) this.#among(fact.values);
      else if (fact.kind === 'among') this.#excluded.push(...fact.values);
    }
    this.values = this.values?.filter((value) => !this.isExcluded(value) && this.#within(value));
    if (this.#isWhole) this.#shrink();
  }

  isExcluded(value: Value): boolean {
    return this.#excluded.some((each) => equal(each, value));
  }

  #among(values: readonly Value[]): void {
    const known = this.values;
    this.values = known === undefined ? values : known.filter((each) => values.some((other) => equal(each, other)));
  }

  #bound(order: Order, value: Value): void {
    const bound = this.#isWhole ? wholeBound(order, value) : { order, value };
    const isLow = bound.order === '>' || bound.order === '>=';
    const known = isLow ? this.low : this.high;
    const sign = known === undefined ? undefined : compare(bound.value, known.value);
    if (sign instanceof CelError) return;
    const isTighter =
      sign === undefined ||
      (isLow ? sign > 0 : sign < 0) ||
      (sign === 0 && (bound.order === '>' || bound.order === '<'));
    if (!isTighter) return;
    if (isLow) this.low = bound;
    else this.high = bound;
  }

  #within(value: Value): boolean {
    return [this.low, this.high].every((bound) => bound === undefined || meets(value, bound));
  }

  /** An excluded bound moves to the next integer. */
  #shrink(): void {
    for (let turn = 0; turn <= this.#excluded.length; turn++) {
      const [low, high] = [this.low?.value, this.high?.value];
      if (typeof low === 'number' && this.isExcluded(low)) this.#bound('>', low);
      if (typeof high === 'number' && this.isExcluded(high)) this.#bound('<', high);
    }
  }
}

function isEmpty(domain: Domain): boolean {
  if (domain.values !== undefined) return domain.values.length === 0;
  const { low, high } = domain;
  if (low === undefined || high === undefined) return false;
  const sign = compare(low.value, high.value);
  if (sign instanceof CelError) return false;
  if (sign !== 0) return sign > 0;
  return low.order === '>' || high.order === '<' || domain.isExcluded(low.value);
}

function meets(value: Value, { order, value: bound }: Bound): boolean {
  const sign = compare(value, bound);
  if (sign instanceof CelError) return true;
  return order === '<' ? sign < 0 : order === '<=' ? sign <= 0 : order === '>' ? sign > 0 : sign >= 0;
}

/** For integers, turns `> 4` into `>= 5` and `< 4.5` into `<= 4`. */
function wholeBound(order: Order, value: Value): Bound {
  const number = typeof value === 'number' ? value : undefined;
  if (number === undefined || Math.abs(number) >= Number.MAX_SAFE_INTEGER) return { order, value };
  if (order === '<' || order === '<=') {
    const whole = Math.floor(number);
    return { order: '<=', value: order === '<' && whole === number ? whole - 1 : whole };
  }
  const whole = Math.ceil(number);
  return { order: '>=', value: order === '>' && whole === number ? whole + 1 : whole };
}

/** The constraints of the old schema on the values at a path, or on their size. */
function boundsOf({ place, sizeOf }: Term): readonly Bound[] {
  if (sizeOf !== undefined) return [{ order: '>=', value: 0 }, ...sizeBounds(sizeOf.place?.before)];
  const before = place?.before;
  if (before === undefined || (before.type !== 'integer' && before.type !== 'number')) return [];
  return [
    ...bound(before.exclusiveMinimum === true ? '>' : '>=', before.minimum),
    ...bound(before.exclusiveMaximum === true ? '<' : '<=', before.maximum),
  ];
}

function sizeBounds(schema: CrdSchema | undefined): readonly Bound[] {
  if (schema?.type === 'array') return [...bound('>=', schema.minItems), ...bound('<=', schema.maxItems)];
  if (schema?.type === 'object') return [...bound('>=', schema.minProperties), ...bound('<=', schema.maxProperties)];
  return [];
}

/** Larger numbers are not exact in JSON. */
const bound = (order: Order, value: number | undefined): readonly Bound[] =>
  value === undefined || Math.abs(value) > Number.MAX_SAFE_INTEGER ? [] : [{ order, value }];

function listedIn({ place }: Term): readonly Value[] | undefined {
  const { before, after } = place ?? {};
  if (place === undefined) return undefined;
  if (before === undefined) return typeof after?.default === 'number' ? [after.default] : undefined;
  const values = before.enum;
  return before.type === 'integer' && values !== undefined && isOf(values, 'integer') ? (values as Value[]) : undefined;
}
