/**
 * Proves that formulas cannot all be true. It tries every alternative that could make them true until each one leads to
 * a contradiction. The number of steps is bounded; a proof that needs more is not found.
 */
import type { Element, Fact, Formula, Range, Term } from './formula.ts';
import { elementOf } from './place.ts';
import { canBe, type TermFact } from './theory.ts';

const MAX_STEPS = 2_000;
const MAX_ELEMENTS = 8;
const MAX_DEPTH = 1;

/** `contradict` returns true only if the formulas cannot all be true. */
export function contradict(formulas: readonly Formula[]): boolean {
  try {
    return new Proof().closes(
      new Branch(),
      formulas.map((formula) => ({ formula, depth: 0 })),
    );
  } catch (thrown) {
    if (thrown instanceof TooLong) return false;
    throw thrown;
  }
}

class TooLong extends Error {}

type Alternatives = Extract<Formula, { readonly kind: 'any' }>;

/** A formula, and the number of nested loop elements that were introduced to reach it. */
interface Step {
  readonly formula: Formula;
  readonly depth: number;
}

class Proof {
  #steps = 0;

  /** Whether every way to make the formulas true, given the facts of the branch, ends in a contradiction. */
  closes(branch: Branch, steps: readonly Step[]): boolean {
    if (++this.#steps > MAX_STEPS) throw new TooLong();
    const pending = [...steps];
    do {
      for (let step = pending.pop(); step !== undefined; step = pending.pop()) {
        const { formula, depth } = step;
        switch (formula.kind) {
          case 'all':
            pending.push(...formula.parts.map((each) => ({ formula: each, depth })));
            break;
          case 'any':
            if (formula.parts.length === 0) return true;
            branch.alternatives.push({ formula, depth });
            break;
          case 'each':
            pending.push(...branch.addEach({ ...formula, depth }));
            break;
          case 'some':
            branch.wanted.push({ ...formula, depth });
            break;
          default:
            if (!branch.add(formula)) return true;
        }
      }
      // An element is introduced only after everything that needs no element has been used.
      pending.push(...branch.makeElement());
    } while (pending.length > 0);
    return this.#splits(branch);
  }

  #splits(branch: Branch): boolean {
    const open: { readonly formula: Alternatives; readonly depth: number }[] = [];
    for (const { formula, depth } of branch.alternatives) {
      if (formula.parts.some((part) => branch.knows(part))) continue;
      const left = formula.parts.filter((part) => !branch.refutes(part));
      if (left.length === 0) return true;
      open.push({ formula: { kind: 'any', parts: left }, depth });
    }
    open.sort((left, right) => left.formula.parts.length - right.formula.parts.length);
    const [first, ...others] = open;
    if (first === undefined) return !branch.isConsistent();
    return first.formula.parts.every((part) =>
      this.closes(branch.with(others), [{ formula: part, depth: first.depth }]),
    );
  }
}

interface Loop {
  readonly range: Range;
  readonly body: (element: Element) => Formula;
  readonly depth: number;
}

/** The facts that are assumed along one alternative. */
class Branch {
  alternatives: { readonly formula: Alternatives; readonly depth: number }[] = [];
  /** Loops that have an element about which nothing is known yet. */
  wanted: Loop[] = [];
  #truths = new Map<string, boolean>();
  #signs = new Map<string, Relation>();
  #facts = new Map<string, { readonly term: Term; readonly facts: readonly TermFact[] }>();
  #loops: Loop[] = [];
  #elements: { readonly range: string; readonly element: Element; readonly depth: number }[] = [];

  with(alternatives: Branch['alternatives']): Branch {
    const copy = new Branch();
    copy.alternatives = [...alternatives];
    copy.wanted = [...this.wanted];
    copy.#truths = new Map(this.#truths);
    copy.#signs = new Map(this.#signs);
    copy.#facts = new Map(this.#facts);
    copy.#loops = [...this.#loops];
    copy.#elements = [...this.#elements];
    return copy;
  }

  /** Returns false if the fact contradicts a known one. */
  add(fact: Fact): boolean {
    switch (fact.kind) {
      case 'has':
      case 'defined':
      case 'true':
        if (isImpossible(fact) || this.#truths.get(truthKey(fact)) === !fact.holds) return false;
        this.#truths.set(truthKey(fact), fact.holds);
        return true;
      case 'relation': {
        const key = fact.terms.join(' to ');
        const known = this.#signs.get(key)?.signs;
        const signs = fact.signs.filter((each) => known?.includes(each) !== false);
        this.#signs.set(key, { ...fact, signs });
        return signs.length > 0;
      }
      default: {
        const known = this.#facts.get(fact.term.key)?.facts ?? [];
        const facts = [...known, fact];
        this.#facts.set(fact.term.key, { term: fact.term, facts });
        // Strings are decided once, at the end, because automata are expensive.
        return fact.term.type === 'string' ? !contradicts(known, fact) : canBe(fact.term, facts, []);
      }
    }
  }

  addEach(loop: Loop): readonly Step[] {
    this.#loops.push(loop);
    return this.#elements.filter((each) => each.range === loop.range.key).map((each) => instance(loop, each));
  }

  /** Introduces one of the wanted elements. Skipping some loses proofs, but keeps the search finite. */
  makeElement(): readonly Step[] {
    const at = this.wanted.findIndex(({ depth }) => depth <= MAX_DEPTH);
    const [loop] = at < 0 || this.#elements.length >= MAX_ELEMENTS ? [] : this.wanted.splice(at, 1);
    if (loop === undefined) return [];
    const { range, body, depth } = loop;
    const key = `${range.key}[@${this.#elements.length}]`;
    const place = range.place === undefined || range.isMap ? undefined : elementOf(range.place);
    const made = { range: range.key, element: { key, place, ...(range.isMap ? { keyOf: range.key } : {}) }, depth };
    this.#elements.push(made);
    const notEmpty: Fact = { kind: 'order', term: range.size, order: '>=', value: 1 };
    const others = this.#loops.filter((each) => each.range.key === range.key);
    return [
      ...others.map((each) => instance(each, made)),
      { formula: notEmpty, depth },
      { formula: body(made.element), depth },
    ];
  }

  /** Whether the formula is among the known facts. */
  knows(formula: Formula): boolean {
    if (formula.kind === 'all') return formula.parts.every((part) => this.knows(part));
    return isTruth(formula) && this.#truths.get(truthKey(formula)) === formula.holds;
  }

  /** Whether the formula obviously contradicts the known facts. */
  refutes(formula: Formula): boolean {
    if (formula.kind === 'all') return formula.parts.some((part) => this.refutes(part));
    if (formula.kind === 'any') return formula.parts.every((part) => this.refutes(part));
    return isTruth(formula) && (isImpossible(formula) || this.#truths.get(truthKey(formula)) === !formula.holds);
  }

  isConsistent(): boolean {
    if (!areConsistent([...this.#signs.values()])) return false;
    for (const { term, facts } of this.#facts.values()) {
      if (!canBe(term, facts, this.#facts.get(`size(${term.key})`)?.facts ?? [])) return false;
    }
    for (const { term } of this.#facts.values()) {
      const text = term.sizeOf;
      if (text?.type !== 'string' || this.#facts.has(text.key)) continue;
      if (!canBe(text, [], this.#facts.get(term.key)?.facts ?? [])) return false;
    }
    return true;
  }
}

const instance = (loop: Loop, { element, depth }: { readonly element: Element; readonly depth: number }): Step => ({
  formula: loop.body(element),
  depth: Math.max(loop.depth, depth) + 1,
});

type Relation = Extract<Fact, { readonly kind: 'relation' }>;

/** Equality is transitive: terms that equal the same term are equal. */
function areConsistent(relations: readonly Relation[]): boolean {
  const leaders = new Map<string, string>();
  const leader = (term: string): string => {
    const above = leaders.get(term);
    return above === undefined ? term : leader(above);
  };
  for (const { terms, signs } of relations) {
    const [left, right] = [leader(terms[0]), leader(terms[1])];
    if (signs.every((each) => each === 0) && left !== right) leaders.set(left, right);
  }
  return relations.every(({ terms, signs }) => signs.includes(0) || leader(terms[0]) !== leader(terms[1]));
}

type Truth = Extract<Fact, { readonly kind: 'has' | 'defined' | 'true' }>;

const isTruth = (formula: Formula): formula is Truth =>
  formula.kind === 'has' || formula.kind === 'defined' || formula.kind === 'true';

const truthKey = (fact: Truth): string => `${fact.kind} ${fact.key}`;

const isImpossible = (fact: Truth): boolean =>
  fact.kind === 'has' && fact.presence !== 'maybe' && (fact.presence === 'always') !== fact.holds;

const contradicts = (known: readonly TermFact[], fact: TermFact): boolean =>
  fact.kind === 'strings' &&
  known.some((each) => each.kind === 'strings' && each.key === fact.key && each.holds !== fact.holds);
