/** From a rule to formulas: when it is true, when it is false, and when it cannot be evaluated. */
import {
  type Call,
  CelError,
  type Comprehension,
  compare,
  type Expr,
  escapeProperty,
  type Value,
} from '../../cel/index.ts';
import { StringSet } from '../pattern/index.ts';
import {
  ALWAYS,
  all,
  any,
  type Element,
  type Formula,
  NEVER,
  type Order,
  type Range,
  relation,
  type Term,
} from './formula.ts';
import { elementOf, fieldOf, presenceOf } from './place.ts';
import { isCounted, type Tally, tallyOf } from './tally.ts';
import { isSelf, type Scope, type Terms } from './terms.ts';

/** Types whose values are always compared without an error. */
const ORDERED: ReadonlySet<string | undefined> = new Set(['int', 'uint', 'double', 'string', 'timestamp', 'duration']);
const COMPARED: ReadonlySet<string | undefined> = new Set([...ORDERED, 'bool', 'bytes', 'list', 'map', 'null']);
const SIZED: ReadonlySet<string | undefined> = new Set(['string', 'list', 'map', 'bytes']);
const ORDERS: Readonly<Record<string, Order>> = { '_<_': '<', '_<=_': '<=', '_>_': '>', '_>=_': '>=' };
const OPPOSITE: Readonly<Record<Order, Order>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' };
const SWAPPED: Readonly<Record<Order, Order>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };
const SIGNS: Readonly<Record<Order, readonly number[]>> = { '<': [-1], '<=': [-1, 0], '>': [1], '>=': [0, 1] };
/** Operators that need all of their operands. */
const ARITHMETIC: ReadonlySet<string> = new Set(['_+_', '_-_', '_*_', '_/_', '_%_', '-_', '_[_]']);

/** What an expression takes to be true and to be false, once all it reads can be evaluated. */
interface Atom {
  readonly yes: Formula;
  readonly no: Formula;
}

export class Reading {
  readonly #terms: Terms;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  isTrue(node: Expr, scope: Scope): Formula {
    return this.#is(node, scope, true);
  }

  /** False, or not to be evaluated: either way the object is refused. */
  isNotTrue(node: Expr, scope: Scope): Formula {
    return this.#isNot(node, scope, true);
  }

  #is(node: Expr, scope: Scope, answer: boolean): Formula {
    return this.#named(node, scope, answer, true, this.#readIs(node, scope, answer));
  }

  #isNot(node: Expr, scope: Scope, answer: boolean): Formula {
    return this.#named(node, scope, answer, false, this.#readIsNot(node, scope, answer));
  }

  /** Alternatives go by a name as well: what contradicts them as a whole need not go through each. */
  #named(node: Expr, scope: Scope, answer: boolean, holds: boolean, formula: Formula): Formula {
    if (formula.kind !== 'any' || !this.#isCompound(node)) return formula;
    return all(formula, { kind: 'true', key: `${answer} is ${this.#terms.nameOf(node, scope)}`, holds });
  }

  #readIs(node: Expr, scope: Scope, answer: boolean): Formula {
    const [first, second, third] = (node.kind === 'call' ? node.args : []) as [Expr, Expr, Expr];
    const name = node.kind === 'call' ? node.function : undefined;
    const isAnd = name === '_&&_';
    if (isAnd || name === '_||_') {
      const join = isAnd === answer ? all : any;
      return join(this.#is(first, scope, answer), this.#is(second, scope, answer));
    }
    if (name === '!_') return this.#is(first, scope, !answer);
    if (name === '_?_:_') {
      return any(
        all(this.#is(first, scope, true), this.#is(second, scope, answer)),
        all(this.#is(first, scope, false), this.#is(third, scope, answer)),
      );
    }
    if (name === '_!=_') return this.#is({ ...(node as Call), function: '_==_' }, scope, !answer);
    if (this.#equatesBools(node)) {
      return any(
        ...[true, false].map((left) => all(this.#is(first, scope, left), this.#is(second, scope, left === answer))),
      );
    }
    const tally = this.#tallyOf(node);
    if (tally !== undefined) {
      const { conditions } = tally;
      const counts = answer
        ? tally.counts
        : conditions
            .map((_, at) => at)
            .concat(conditions.length)
            .filter((each) => !tally.counts.includes(each));
      const counted = isCounted(conditions, counts, (each, holds) => this.#is(each, scope, holds));
      return all(...conditions.map((each) => this.#defined(each, scope)), counted);
    }
    const loop = quantifier(node);
    if (loop !== undefined) {
      const range = this.#range(loop.node, scope);
      const body = (element: Element): Formula => this.#is(loop.body, bind(loop.node, element, scope), answer);
      const kind = loop.isAll === answer ? 'each' : 'some';
      return all(this.#defined(loop.node.range, scope), { kind, range, body });
    }
    const atom = this.#atom(node, scope);
    const counted = answer ? counting(node) : undefined;
    const one =
      counted === undefined ? ALWAYS : this.#some(counted, scope, (inner) => this.#is(counted.body, inner, true));
    return all(this.#defined(node, scope), answer ? atom.yes : atom.no, one);
  }

  #readIsNot(node: Expr, scope: Scope, answer: boolean): Formula {
    const [first, second, third] = (node.kind === 'call' ? node.args : []) as [Expr, Expr, Expr];
    const name = node.kind === 'call' ? node.function : undefined;
    const isAnd = name === '_&&_';
    if (isAnd || name === '_||_') {
      const join = isAnd === answer ? any : all;
      return join(this.#isNot(first, scope, answer), this.#isNot(second, scope, answer));
    }
    if (name === '!_') return this.#isNot(first, scope, !answer);
    if (name === '_?_:_') {
      return any(
        this.#undefined(first, scope),
        all(this.#is(first, scope, true), this.#isNot(second, scope, answer)),
        all(this.#is(first, scope, false), this.#isNot(third, scope, answer)),
      );
    }
    if (name === '_!=_') return this.#isNot({ ...(node as Call), function: '_==_' }, scope, !answer);
    if (this.#equatesBools(node)) {
      return any(this.#is(node, scope, !answer), this.#undefined(first, scope), this.#undefined(second, scope));
    }
    const tally = this.#tallyOf(node);
    if (tally !== undefined) {
      return any(this.#readIs(node, scope, !answer), ...tally.conditions.map((each) => this.#undefined(each, scope)));
    }
    const loop = quantifier(node);
    if (loop !== undefined) {
      const range = this.#range(loop.node, scope);
      const body = (element: Element): Formula => this.#isNot(loop.body, bind(loop.node, element, scope), answer);
      const kind = loop.isAll === answer ? 'some' : 'each';
      return any(this.#undefined(loop.node.range, scope), { kind, range, body });
    }
    const counted = answer ? counting(node) : undefined;
    const isNot = any(this.#is(node, scope, !answer), this.#undefined(node, scope));
    return counted === undefined ? isNot : all(isNot, this.#notOne(counted, scope));
  }

  /** None that meets the body of `exists_one`, one that cannot be asked, or two that meet it. */
  #notOne(counted: Loop, scope: Scope): Formula {
    const { node, body } = counted;
    const range = this.#range(node, scope);
    const isTrue = (element: Element): Formula => this.#is(body, bind(node, element, scope), true);
    return any(
      this.#undefined(node.range, scope),
      { kind: 'each', range, body: (element) => this.#isNot(body, bind(node, element, scope), true) },
      this.#some(counted, scope, (inner) => this.#undefined(body, inner)),
      {
        kind: 'some',
        range,
        body: (first) =>
          all(isTrue(first), {
            kind: 'some',
            range,
            body: (second) => all(isTrue(second), distinct(range, first, second)),
          }),
      },
    );
  }

  #some({ node }: Loop, scope: Scope, body: (inner: Scope) => Formula): Formula {
    return { kind: 'some', range: this.#range(node, scope), body: (element) => body(bind(node, element, scope)) };
  }

  #tallyOf(node: Expr): Tally | undefined {
    const tally = tallyOf(node);
    return tally?.conditions.every((each) => this.#terms.typeOf(each) === 'bool') === true ? tally : undefined;
  }

  #equatesBools(node: Expr): boolean {
    return (
      node.kind === 'call' && node.function === '_==_' && node.args.every((each) => this.#terms.typeOf(each) === 'bool')
    );
  }

  /** A bool of connectives and loops: it is read through, not taken as one. */
  #isCompound(node: Expr): boolean {
    if (quantifier(node) !== undefined || this.#equatesBools(node) || this.#tallyOf(node) !== undefined) return true;
    if (node.kind !== 'call') return false;
    if (node.function === '_?_:_' || node.function === '_!=_')
      return this.#terms.typeOf(node.args.at(-1) as Expr) === 'bool';
    return ['_&&_', '_||_', '!_'].includes(node.function);
  }

  #defined(node: Expr, scope: Scope): Formula {
    return this.#definedness(node, scope, true);
  }

  #undefined(node: Expr, scope: Scope): Formula {
    return this.#definedness(node, scope, false);
  }

  /** That everything strictly needed can be evaluated, or that something cannot. */
  #definedness(node: Expr, scope: Scope, holds: boolean): Formula {
    if (this.#isCompound(node)) {
      return holds
        ? any(this.#is(node, scope, true), this.#is(node, scope, false))
        : all(this.#isNot(node, scope, true), this.#isNot(node, scope, false));
    }
    if (this.#terms.constantOf(node) !== undefined) return holds ? ALWAYS : NEVER;
    const join = holds ? all : any;
    const parts = (nodes: readonly Expr[]): Formula =>
      join(...nodes.map((each) => this.#definedness(each, scope, holds)));
    const itself = (): Formula => ({ kind: 'defined', key: this.#terms.keyOf(node, scope), holds });
    switch (node.kind) {
      case 'literal':
        return holds ? ALWAYS : NEVER;
      case 'identifier':
        return join(...this.#asItsType(node, scope, holds));
      case 'select':
        return this.#selection(node, scope, holds);
      case 'list':
        return node.optional.length === 0 ? parts(node.elements) : itself();
      case 'call': {
        if (this.#isEntry(node)) return this.#entry(node, node.args[0] as Expr, node.args[1] as Expr, scope, holds);
        if (this.#isTotal(node)) return parts(node.target === undefined ? node.args : [node.target, ...node.args]);
        return holds && ARITHMETIC.has(node.function) ? all(itself(), parts(node.args)) : itself();
      }
      default:
        return itself();
    }
  }

  #selection(node: Extract<Expr, { kind: 'select' }>, scope: Scope, holds: boolean): Formula {
    const around = this.#definedness(node.operand, scope, holds);
    if (node.test) return around;
    if (this.#terms.typeOf(node.operand) === 'map') return this.#entry(node, node.operand, undefined, scope, holds);
    const parent = this.#terms.placeOf(node.operand, scope);
    if (parent === undefined || fieldOf(parent, node.field) === undefined) {
      const itself: Formula = { kind: 'defined', key: this.#terms.keyOf(node, scope), holds };
      return holds ? all(around, itself) : itself;
    }
    const key = `has(${this.#terms.keyOf(node, scope, false)})`;
    const there: Formula = { kind: 'has', key, holds, presence: presenceOf(parent, node.field) };
    const typed = this.#asItsType(node, scope, holds);
    if (holds) return all(around, there, ...typed);
    return any(around, all(this.#defined(node.operand, scope), there), ...typed);
  }

  #isEntry(node: Call): boolean {
    return node.function === '_[_]' && this.#terms.typeOf(node.args[0] as Expr) === 'map';
  }

  /** An entry of a map: it is there or not, like a field. */
  #entry(node: Expr, map: Expr, index: Expr | undefined, scope: Scope, holds: boolean): Formula {
    const parts = index === undefined ? [map] : [map, index];
    const around = parts.map((each) => this.#definedness(each, scope, holds));
    const key = `has(${this.#terms.keyOf(node, scope, false)})`;
    const isKey = index !== undefined && this.#isKeyOf(index, map, scope);
    const there: Formula = { kind: 'has', key, holds, presence: isKey ? 'always' : 'maybe' };
    const typed = this.#asItsType(node, scope, holds);
    if (holds) return all(...around, there, ...typed);
    return any(...around, all(...parts.map((each) => this.#defined(each, scope)), there), ...typed);
  }

  /**
   * What a place holds may not be of its type: the API server lets a list pass for a string that has a format, and an entry of a list
   * or map may be null. A rule that reads it then fails.
   */
  #asItsType(node: Expr, scope: Scope, holds: boolean): readonly Formula[] {
    const place = this.#terms.placeOf(node, scope);
    const isField = node.kind === 'select' && this.#terms.typeOf(node.operand) !== 'map';
    const isDoubtful = [place?.before, place?.after].some((each) => {
      const isNull = each?.nullable === true && !isField && !isSelf(node, scope);
      return isNull || (each?.type === 'string' && each.format !== undefined);
    });
    return isDoubtful ? [{ kind: 'defined', key: `type of ${this.#terms.keyOf(node, scope, false)}`, holds }] : [];
  }

  /** Whether the call has a value whenever its operands have. */
  #isTotal(node: Call): boolean {
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

  /** In `m.all(k, m[k] > 0)` the key is in the map. */
  #isKeyOf(index: Expr, range: Expr, scope: Scope): boolean {
    const element = index.kind === 'identifier' ? scope.get(index.name) : undefined;
    return element?.keyOf !== undefined && element.keyOf === this.#terms.keyOf(range, scope, false);
  }

  #range(loop: Comprehension, scope: Scope): Range {
    const key = this.#terms.keyOf(loop.range, scope, false);
    const isMap = this.#terms.typeOf(loop.range) === 'map';
    const place = this.#terms.placeOf(loop.range, scope);
    const ranged: Term = { key, type: 'other', place };
    return { key, isMap, place, size: { key: `size(${key})`, type: 'int', place: undefined, sizeOf: ranged } };
  }

  #atom(node: Expr, scope: Scope): Atom {
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
    // A key of its own is seen here too: whether a field is there depends on the defaults of both schemas.
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
      const presence = this.#isKeyOf(left, right, scope) ? 'always' : 'maybe';
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

  /** The strings for which a question about a text is answered with yes. */
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
}

interface Loop {
  readonly node: Comprehension;
  readonly body: Expr;
}

interface Quantifier extends Loop {
  readonly isAll: boolean;
}

/** `exists_one` with one variable: its body is the condition of a choice. */
function counting(node: Expr): Loop | undefined {
  if (node.kind !== 'comprehension' || node.variable2 !== undefined || node.step.kind !== 'call') return undefined;
  const body = node.step.args[0];
  const name = node.macro?.function;
  if ((name !== 'exists_one' && name !== 'existsOne') || node.step.function !== '_?_:_' || body === undefined)
    return undefined;
  return { node, body };
}

/** Two elements of a list that is a map differ in one of its keys. */
function distinct({ place }: Range, first: Element, second: Element): Formula {
  const schema = place?.before;
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  const element = place === undefined ? undefined : elementOf(place);
  if (schema?.['x-kubernetes-list-type'] !== 'map' || keys.length === 0 || element === undefined) return ALWAYS;
  const names = keys.map((each) => escapeProperty(each) ?? each);
  if (names.some((name) => presenceOf(element, name) !== 'always')) return ALWAYS;
  return any(...names.map((name) => relation(`${first.key}.${name}`, `${second.key}.${name}`, [-1, 1])));
}

/** `all` and `exists` with one variable. */
function quantifier(node: Expr): Quantifier | undefined {
  if (node.kind !== 'comprehension' || node.variable2 !== undefined || node.step.kind !== 'call') return undefined;
  const name = node.macro?.function;
  const body = node.step.args[1];
  if ((name !== 'all' && name !== 'exists') || body === undefined) return undefined;
  return { node, body, isAll: name === 'all' };
}

const bind = (loop: Comprehension, element: Element, scope: Scope): Scope => new Map(scope).set(loop.variable, element);

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
