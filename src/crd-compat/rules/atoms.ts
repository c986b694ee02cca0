/** The atoms of a rule, which contain no connectives and no loops: when an atom is true, and when it is false. */
import { type Call, CelError, compare, type Expr, type Value } from '../../cel/index.ts';
import { StringSet } from '../pattern/index.ts';
import { ALWAYS, type Formula, NEVER, type Order, relation, type Term } from './formula.ts';
import { presenceOf } from './place.ts';
import type { Scope, Terms } from './terms.ts';

/** Types whose values can always be ordered without an error. */
const ORDERED: ReadonlySet<string | undefined> = new Set(['int', 'uint', 'double', 'string', 'timestamp', 'duration']);
const COMPARED: ReadonlySet<string | undefined> = new Set([...ORDERED, 'bool', 'bytes', 'list', 'map', 'null']);
const SIZED: ReadonlySet<string | undefined> = new Set(['string', 'list', 'map', 'bytes']);
const ORDERS: Readonly<Record<string, Order>> = { '_<_': '<', '_<=_': '<=', '_>_': '>', '_>=_': '>=' };
const OPPOSITE: Readonly<Record<Order, Order>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' };
const SWAPPED: Readonly<Record<Order, Order>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };
const SIGNS: Readonly<Record<Order, readonly number[]>> = { '<': [-1], '<=': [-1, 0], '>': [1], '>=': [0, 1] };

/** When an expression is true and when it is false, provided that everything it reads can be evaluated. */
interface Atom {
  readonly yes: Formula;
  readonly no: Formula;
}

export class Atoms {
  readonly #terms: Terms;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  atomOf(node: Expr, scope: Scope): Atom {
    const constant = this.#terms.constantOf(node)?.value;
    if (typeof constant === 'boolean') return { yes: constant ? ALWAYS : NEVER, no: constant ? NEVER : ALWAYS };
    const key = this.#terms.keyOf(node, scope);
    const opaque: Atom = { yes: { kind: 'true', key, holds: true }, no: { kind: 'true', key, holds: false } };
    if (node.kind === 'select' && node.test) return this.#presence(node, scope) ?? opaque;
    if (node.kind !== 'call') return opaque;
    return this.#comparison(node, scope) ?? this.#membership(node, scope) ?? this.#text(node, scope) ?? opaque;
  }

  #presence(node: Extract<Expr, { kind: 'select' }>, scope: Scope): Atom | undefined {
    const isMap = this.#terms.typeOf(node.operand) === 'map';
    const parent = this.#terms.placeOf(node.operand, scope);
    if (parent === undefined && !isMap) return undefined;
    const key = this.#terms.keyOf(node, scope, false);
    // The operand has a key of its own here too, because the presence of a field depends on the defaults of both
    // schemas.
    this.#terms.keyOf({ ...node, test: false }, scope, false);
    const presence = parent === undefined || isMap ? 'maybe' : presenceOf(parent, node.field);
    return { yes: { kind: 'has', key, holds: true, presence }, no: { kind: 'has', key, holds: false, presence } };
  }

  #comparison(node: Call, scope: Scope): Atom | undefined {
    const order = ORDERS[node.function];
    const [left, right] = node.args as [Expr, Expr];
    if (order === undefined && node.function !== '_==_') return undefined;
    const types = [left, right].map((each) => this.#terms.typeOf(each));
    if (!types.every((each) => ORDERED.has(each))) return undefined;
    const [leftValue, rightValue] = [left, right].map((each) => this.#terms.constantOf(each));
    if (leftValue !== undefined && rightValue !== undefined) return settled(leftValue.value, rightValue.value, order);
    if (rightValue !== undefined) return this.#against(left, order, rightValue.value, scope);
    if (leftValue !== undefined) return this.#against(right, order && SWAPPED[order], leftValue.value, scope);
    const keys = [this.#terms.keyOf(left, scope), this.#terms.keyOf(right, scope)] as const;
    if (types[0] !== types[1]) return undefined;
    const signs = order === undefined ? [0] : SIGNS[order];
    return {
      yes: relation(...keys, signs),
      no: relation(
        ...keys,
        [-1, 0, 1].filter((each) => !signs.includes(each)),
      ),
    };
  }

  #against(node: Expr, order: Order | undefined, value: Value, scope: Scope): Atom | undefined {
    const term = this.#terms.term(node, scope);
    if (order === undefined) return among(term, [value]);
    return {
      yes: { kind: 'order', term, order, value },
      no: { kind: 'order', term, order: OPPOSITE[order], value },
    };
  }

  #membership(node: Call, scope: Scope): Atom | undefined {
    if (node.function !== '@in') return undefined;
    const [left, right] = node.args as [Expr, Expr];
    if (this.#terms.typeOf(right) === 'map') {
      const key = this.#terms.keyOf(node, scope);
      const presence = this.isKeyOf(left, right, scope) ? 'always' : 'maybe';
      return { yes: { kind: 'has', key, holds: true, presence }, no: { kind: 'has', key, holds: false, presence } };
    }
    const list = this.#terms.constantOf(right)?.value;
    if (!Array.isArray(list) || !ORDERED.has(this.#terms.typeOf(left))) return undefined;
    if (this.#terms.constantOf(left) !== undefined) return undefined;
    return among(this.#terms.term(left, scope), list as readonly Value[]);
  }

  #text(node: Call, scope: Scope): Atom | undefined {
    const set = this.#stringsOf(node);
    const subject = node.target ?? node.args[0];
    if (set === undefined || subject === undefined || this.#terms.typeOf(subject) !== 'string') return undefined;
    const [term, key] = [this.#terms.term(subject, scope), this.#terms.keyOf(node, scope)];
    return {
      yes: { kind: 'strings', term, key, set, holds: true },
      no: { kind: 'strings', term, key, set, holds: false },
    };
  }

  /** The strings for which a string function returns true. */
  #stringsOf(node: Call): StringSet | undefined {
    const argument = node.args.at(-1);
    const value = argument === undefined ? undefined : this.#terms.constantOf(argument)?.value;
    if (typeof value !== 'string') return undefined;
    const quoted = value.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');
    switch (node.function) {
      case 'matches': {
        const set = StringSet.pattern(value);
        return set.has('') === undefined ? undefined : set;
      }
      case 'startsWith':
        return StringSet.pattern(`\\A${quoted}`);
      case 'endsWith':
        return StringSet.pattern(`${quoted}\\z`);
      case 'contains':
        return StringSet.pattern(quoted);
      default:
        return undefined;
    }
  }

  /** Whether the call has a value whenever its operands have one. */
  isTotal(node: Call): boolean {
    const operands = node.target === undefined ? node.args : [node.target, ...node.args];
    const types = operands.map((each) => this.#terms.typeOf(each));
    switch (node.function) {
      case '_==_':
      case '_!=_':
        return types.every((each) => COMPARED.has(each));
      case '@in':
        return types[1] === 'list' || types[1] === 'map' ? COMPARED.has(types[0]) : false;
      case 'size':
        return SIZED.has(types[0]);
      case 'startsWith':
      case 'endsWith':
      case 'contains':
        return types.every((each) => each === 'string');
      case 'matches':
        return types.every((each) => each === 'string') && this.#stringsOf(node) !== undefined;
      default:
        return node.function in ORDERS && types.every((each) => ORDERED.has(each));
    }
  }

  /** Whether the index is a key of the map, as in `m.all(k, m[k] > 0)`. */
  isKeyOf(index: Expr, range: Expr, scope: Scope): boolean {
    const element = index.kind === 'identifier' ? scope.get(index.name) : undefined;
    return element?.keyOf !== undefined && element.keyOf === this.#terms.keyOf(range, scope, false);
  }
}

function settled(left: Value, right: Value, order: Order | undefined): Atom | undefined {
  const sign = compare(left, right);
  if (sign instanceof CelError) return undefined;
  const holds = (order === undefined ? [0] : SIGNS[order]).includes(Math.sign(sign));
  return holds ? { yes: ALWAYS, no: NEVER } : { yes: NEVER, no: ALWAYS };
}

function among(term: Term, values: readonly Value[]): Atom {
  if (term.type === 'string') {
    const texts = values.filter((each) => typeof each === 'string');
    const set = StringSet.enumeration(texts);
    const key = `${term.key} in ${JSON.stringify([...texts].sort())}`;
    return {
      yes: { kind: 'strings', term, key, set, holds: true },
      no: { kind: 'strings', term, key, set, holds: false },
    };
  }
  return { yes: { kind: 'among', term, values, holds: true }, no: { kind: 'among', term, values, holds: false } };
}
