/** Translates a rule into formulas: when it is true, when it is false, and when it fails to evaluate. */
import type { Call, Comprehension, Expr } from '../../cel/index.ts';
import { Atoms } from './atoms.ts';
import { type Cardinality, cardinalityOf, isCounted } from './cardinality.ts';
import { ALWAYS, all, any, type Element, type Formula, NEVER, type Range, type Term } from './formula.ts';
import { bind, counting, distinct, type Loop, quantifier } from './loops.ts';
import { fieldOf, presenceOf } from './place.ts';
import { isSelf, type Scope, type Terms } from './terms.ts';

/** Operators that need all of their operands. */
const ARITHMETIC: ReadonlySet<string> = new Set(['_+_', '_-_', '_*_', '_/_', '_%_', '-_', '_[_]']);

export class Reading {
  readonly #terms: Terms;
  readonly #atoms: Atoms;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#atoms = new Atoms(terms);
  }

  isTrue(node: Expr, scope: Scope): Formula {
    return this.#is(node, scope, true);
  }

  /** The formula for: the expression is false or fails to evaluate. Either way the object is refused. */
  isNotTrue(node: Expr, scope: Scope): Formula {
    return this.#isNot(node, scope, true);
  }

  #is(node: Expr, scope: Scope, answer: boolean): Formula {
    return this.#named(node, scope, answer, true, this.#readIs(node, scope, answer));
  }

  #isNot(node: Expr, scope: Scope, answer: boolean): Formula {
    return this.#named(node, scope, answer, false, this.#readIsNot(node, scope, answer));
  }

  /** Alternatives also get a name, so that a contradiction to the whole is found without trying each of them. */
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
    const cardinality = this.#cardinalityOf(node);
    if (cardinality !== undefined) {
      const { conditions } = cardinality;
      const counts = answer ? cardinality.counts : cardinality.otherCounts;
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
    const atom = this.#atoms.atomOf(node, scope);
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
    const cardinality = this.#cardinalityOf(node);
    if (cardinality !== undefined) {
      return any(
        this.#readIs(node, scope, !answer),
        ...cardinality.conditions.map((each) => this.#undefined(each, scope)),
      );
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

  /** The formula for: no element satisfies the body of `exists_one`, one fails to evaluate, or two satisfy it. */
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

  #cardinalityOf(node: Expr): Cardinality | undefined {
    const cardinality = cardinalityOf(node);
    return cardinality?.conditions.every((each) => this.#terms.typeOf(each) === 'bool') === true
      ? cardinality
      : undefined;
  }

  #equatesBools(node: Expr): boolean {
    return (
      node.kind === 'call' && node.function === '_==_' && node.args.every((each) => this.#terms.typeOf(each) === 'bool')
    );
  }

  /** Whether a bool consists of connectives and loops, which are read part by part. */
  #isCompound(node: Expr): boolean {
    if (quantifier(node) !== undefined || this.#equatesBools(node) || this.#cardinalityOf(node) !== undefined)
      return true;
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

  /** The formula for: every operand that is needed can be evaluated, or one of them cannot. */
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
        if (this.#atoms.isTotal(node))
          return parts(node.target === undefined ? node.args : [node.target, ...node.args]);
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

  /** The formula for an entry of a map, which is present or absent like a field. */
  #entry(node: Expr, map: Expr, index: Expr | undefined, scope: Scope, holds: boolean): Formula {
    const parts = index === undefined ? [map] : [map, index];
    const around = parts.map((each) => this.#definedness(each, scope, holds));
    const key = `has(${this.#terms.keyOf(node, scope, false)})`;
    const isKey = index !== undefined && this.#atoms.isKeyOf(index, map, scope);
    const there: Formula = { kind: 'has', key, holds, presence: isKey ? 'always' : 'maybe' };
    const typed = this.#asItsType(node, scope, holds);
    if (holds) return all(...around, there, ...typed);
    return any(...around, all(...parts.map((each) => this.#defined(each, scope)), there), ...typed);
  }

  /**
   * A value does not always have the type of its schema: the API server accepts a list for a string that has a format,
   * and an entry of a list or map can be null. A rule that reads such a value fails.
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

  #range(loop: Comprehension, scope: Scope): Range {
    const key = this.#terms.keyOf(loop.range, scope, false);
    const isMap = this.#terms.typeOf(loop.range) === 'map';
    const place = this.#terms.placeOf(loop.range, scope);
    const ranged: Term = { key, type: 'other', place };
    return { key, isMap, place, size: { key: `size(${key})`, type: 'int', place: undefined, sizeOf: ranged } };
  }
}
