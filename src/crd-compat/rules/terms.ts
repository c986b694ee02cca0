/**
 * Names for the parts of a rule. Parts with the same name have the same value, even if they are written differently.
 */
import {
  type Call,
  type Checked,
  type Comprehension,
  compile,
  type Expr,
  environment,
  format,
  literal,
  NonValue,
  type Value,
  walk,
} from '../../cel/index.ts';
import type { Element, Term } from './formula.ts';
import { elementOf, fieldOf, type Place } from './place.ts';

export type Scope = ReadonlyMap<string, Element>;

const COMMUTATIVE: ReadonlySet<string> = new Set(['_==_', '_!=_', '_*_', '_&&_', '_||_']);
const NUMERIC: ReadonlySet<string | undefined> = new Set(['int', 'uint', 'double']);
const FLIPPED: Readonly<Record<string, string>> = { '_>_': '_<_', '_>=_': '_<=_' };

interface Constant {
  readonly value: Value;
}

export class Terms {
  readonly #keys = { whole: new WeakMap<Scope, Map<Expr, string>>(), part: new WeakMap<Scope, Map<Expr, string>>() };
  #silent: Terms | undefined;
  readonly #constants = new Map<Expr, { readonly constant: Constant | undefined }>();
  readonly #checked: Checked;
  readonly #root: Place;
  readonly #seen: (place: Place, deep: boolean) => void;

  /** `seen` is called for every place that is read, with whether everything inside the place counts. */
  constructor(checked: Checked, root: Place, seen: (place: Place, deep: boolean) => void) {
    this.#checked = checked;
    this.#root = root;
    this.#seen = seen;
  }

  typeOf(node: Expr): string | undefined {
    return this.#checked.types.get(node.id)?.kind;
  }

  term(node: Expr, scope: Scope): Term {
    const sized = this.sizedBy(node);
    const place = this.placeOf(node, scope);
    const kind = this.typeOf(node);
    const type = kind === 'int' || kind === 'string' ? kind : 'other';
    const base = { key: this.keyOf(node, scope), type, place } as const;
    return sized === undefined ? base : { ...base, sizeOf: this.term(sized, scope) };
  }

  /** Returns x for `size(x)` and `x.size()`. */
  sizedBy(node: Expr): Expr | undefined {
    if (node.kind !== 'call' || node.function !== 'size') return undefined;
    return node.target ?? node.args[0];
  }

  placeOf(node: Expr, scope: Scope): Place | undefined {
    if (node.kind === 'identifier')
      return scope.get(node.name)?.place ?? (isSelf(node, scope) ? this.#root : undefined);
    if (node.kind === 'select' && !node.test) {
      const parent = this.placeOf(node.operand, scope);
      if (parent === undefined) return undefined;
      return this.typeOf(node.operand) === 'map' ? elementOf(parent) : fieldOf(parent, node.field);
    }
    if (node.kind === 'call' && node.function === '_[_]') {
      const parent = this.placeOf(node.args[0] as Expr, scope);
      return parent === undefined ? undefined : elementOf(parent);
    }
    return undefined;
  }

  /** The value of a constant expression. */
  constantOf(node: Expr): Constant | undefined {
    if (node.kind === 'literal') return { value: node.value };
    const known = this.#constants.get(node);
    if (known !== undefined) return known.constant;
    const constant = evaluated(node);
    this.#constants.set(node, { constant });
    return constant;
  }

  /** A name for an expression that is translated part by part elsewhere. */
  nameOf(node: Expr, scope: Scope): string {
    this.#silent ??= new Terms(this.#checked, this.#root, () => {});
    return this.#silent.keyOf(node, scope);
  }

  /** Returns the key of an expression. With `whole`, the expression reads the value with everything inside it. */
  keyOf(node: Expr, scope: Scope, whole = true): string {
    const kept = whole ? this.#keys.whole : this.#keys.part;
    const keys = kept.get(scope) ?? new Map<Expr, string>();
    kept.set(scope, keys);
    const key = keys.get(node) ?? this.#keyOf(node, scope, whole);
    keys.set(node, key);
    return key;
  }

  #keyOf(node: Expr, scope: Scope, whole: boolean): string {
    const place = this.placeOf(node, scope);
    if (place !== undefined) this.#seen(place, whole);
    const constant = node.kind === 'call' ? this.constantOf(node) : undefined;
    if (constant !== undefined && isWritable(constant.value)) return literal(constant.value);
    switch (node.kind) {
      case 'literal':
        return literal(node.value);
      case 'identifier':
        return scope.get(node.name)?.key ?? node.name;
      case 'select': {
        const field = this.#entry(node, scope) ?? `${this.keyOf(node.operand, scope, false)}.${node.field}`;
        return node.test ? `has(${field})` : field;
      }
      case 'call':
        return this.#call(node, scope);
      case 'list':
        return `[${node.elements.map((each, at) => `${node.optional.includes(at) ? '?' : ''}${this.keyOf(each, scope)}`).join()}]`;
      case 'map':
        return `{${node.entries.map(({ key, value, optional }) => `${optional ? '?' : ''}${this.keyOf(key, scope)}:${this.keyOf(value, scope)}`).join()}}`;
      case 'struct':
        return `${node.typeName}{${node.fields.map(({ name, value }) => `${name}:${this.keyOf(value, scope)}`).join()}}`;
      case 'comprehension':
        return this.#fold(node, scope);
    }
  }

  /** The key of an entry of a map or list, for every way to look it up: `m.a` and `m["a"]`. */
  #entry(node: Expr, scope: Scope): string | undefined {
    if (node.kind === 'select' && this.typeOf(node.operand) === 'map') {
      return `${this.keyOf(node.operand, scope, false)}[${literal(node.field)}]`;
    }
    const isIndex = node.kind === 'call' && (node.function === '_[_]' || node.function === '@in');
    const [range, index] = isIndex && node.function === '@in' ? [...node.args].reverse() : isIndex ? node.args : [];
    if (range === undefined || index === undefined) return undefined;
    if (node.kind === 'call' && node.function === '@in' && this.typeOf(range) !== 'map') return undefined;
    return `${this.keyOf(range, scope, false)}[${this.keyOf(index, scope)}]`;
  }

  #call(node: Call, scope: Scope): string {
    const sized = this.sizedBy(node);
    if (sized !== undefined) return `size(${this.keyOf(sized, scope, false)})`;
    const entry = this.#entry(node, scope);
    if (entry !== undefined) return node.function === '@in' ? `has(${entry})` : entry;
    const keys = node.args.map((each) => this.keyOf(each, scope));
    const flipped = FLIPPED[node.function];
    if (flipped !== undefined) return `${flipped}(${keys.reverse().join()})`;
    const sums = node.function === '_+_' && NUMERIC.has(this.typeOf(node));
    if (COMMUTATIVE.has(node.function) || sums) keys.sort();
    const target = node.target === undefined ? '' : `${this.keyOf(node.target, scope)}.`;
    return `${target}${node.function}(${keys.join()})`;
  }

  /** Variables are named by the depth at which they are bound, so that their own names do not matter. */
  #fold(node: Comprehension, scope: Scope): string {
    const name = (suffix: string): Element => ({ key: `$${suffix}${scope.size}`, place: undefined });
    const inner = new Map(scope);
    inner.set(node.variable, name('x'));
    if (node.variable2 !== undefined) inner.set(node.variable2, name('y'));
    inner.set(node.accumulator, name('r'));
    // A variable that shadows another leaves the scope at the same size: without this entry, two depths could get one
    // name.
    inner.set(`fold ${scope.size}`, name('d'));
    const parts = [node.condition, node.step, node.result].map((each) => this.keyOf(each, inner));
    // The reads of the body are not tracked per field: the whole element counts.
    return `fold${node.variable2 === undefined ? 1 : 2}(${this.keyOf(node.range, scope)};${this.keyOf(node.initial, scope)};${parts.join(';')})`;
  }
}

export const isSelf = (node: Expr, scope: Scope): boolean =>
  node.kind === 'identifier' && (node.name === 'self' || node.name === '.self') && !scope.has(node.name);

function evaluated(node: Expr): Constant | undefined {
  let isConstant = true;
  walk(node, (each) => {
    if (each.kind === 'identifier' || each.kind === 'comprehension' || each.kind === 'struct') isConstant = false;
    return isConstant;
  });
  if (!isConstant) return undefined;
  const value = compile(format(node), environment('kubernetes-1.36')).evaluate?.({});
  return value === undefined || value instanceof NonValue ? undefined : { value };
}

/** Whether the value has a notation that no other value has. */
const isWritable = (value: Value): boolean =>
  value === null || ['boolean', 'number', 'bigint', 'string'].includes(typeof value);
