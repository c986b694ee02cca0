/**
 * Whether formulas cannot all be true. Everything that could make them true is tried, one alternative after the other, until each has
 * led to a contradiction. Bounded in steps: what takes more is left open.
 */
import type { Element, Fact, Formula, Range, Term } from './formula.ts';
import { elementOf } from './place.ts';
import { canBe, type TermFact } from './theory.ts';

const MAX_STEPS = 4_000;
const MAX_ELEMENTS = 16;

/** True only where there is no way for all of the formulas to be true. */
export function contradict(formulas: readonly Formula[]): boolean {
  try {
    return new Proof().closes(new Branch(), formulas);
  } catch (thrown) {
    if (thrown instanceof TooLong) return false;
    throw thrown;
  }
}

class TooLong extends Error {}

type Alternatives = Extract<Formula, { readonly kind: 'any' }>;

class Proof {
  #steps = 0;

  /** Whether every way to make the formulas true, next to what the branch holds, ends in a contradiction. */
  closes(branch: Branch, formulas: readonly Formula[]): boolean {
    if (++this.#steps > MAX_STEPS) throw new TooLong();
    const pending = [...formulas];
    for (let formula = pending.pop(); formula !== undefined; formula = pending.pop()) {
      switch (formula.kind) {
        case 'all':
          pending.push(...formula.parts);
          break;
        case 'any':
          if (formula.parts.length === 0) return true;
          branch.alternatives.push(formula);
          break;
        case 'each':
          pending.push(...branch.addEach(formula.range, formula.body));
          break;
        case 'some':
          pending.push(...branch.addSome(formula.range, formula.body));
          break;
        default:
          if (!branch.add(formula)) return true;
      }
    }
    return this.#splits(branch);
  }

  #splits(branch: Branch): boolean {
    const open: Alternatives[] = [];
    for (const { parts } of branch.alternatives) {
      if (parts.some((part) => branch.knows(part))) continue;
      const left = parts.filter((part) => !branch.refutes(part));
      if (left.length === 0) return true;
      open.push({ kind: 'any', parts: left });
    }
    open.sort((left, right) => left.parts.length - right.parts.length);
    const [first, ...others] = open;
    if (first === undefined) return !branch.isConsistent();
    return first.parts.every((part) => this.closes(branch.with(others), [part]));
  }
}

interface Loop {
  readonly range: Range;
  readonly body: (element: Element) => Formula;
}

/** What is taken to be true along one way. */
class Branch {
  alternatives: Alternatives[] = [];
  #truths = new Map<string, boolean>();
  #signs = new Map<string, Relation>();
  #facts = new Map<string, { readonly term: Term; readonly facts: readonly TermFact[] }>();
  #loops: Loop[] = [];
  #elements: { readonly range: string; readonly element: Element }[] = [];

  with(alternatives: readonly Alternatives[]): Branch {
    const copy = new Branch();
    copy.alternatives = [...alternatives];
    copy.#truths = new Map(this.#truths);
    copy.#signs = new Map(this.#signs);
    copy.#facts = new Map(this.#facts);
    copy.#loops = [...this.#loops];
    copy.#elements = [...this.#elements];
    return copy;
  }

  /** False where it contradicts what is known already. */
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
        // Strings are asked once, at the end: their automata cost more.
        return fact.term.type === 'string' ? !contradicts(known, fact) : canBe(fact.term, facts, []);
      }
    }
  }

  addEach(range: Range, body: Loop['body']): readonly Formula[] {
    this.#loops.push({ range, body });
    return this.#elements.filter((each) => each.range === range.key).map(({ element }) => body(element));
  }

  addSome(range: Range, body: Loop['body']): readonly Formula[] {
    if (this.#elements.length >= MAX_ELEMENTS) throw new TooLong();
    const key = `${range.key}[@${this.#elements.length}]`;
    const place = range.place === undefined || range.isMap ? undefined : elementOf(range.place);
    const element = { key, place, ...(range.isMap ? { keyOf: range.key } : {}) };
    this.#elements.push({ range: range.key, element });
    const others = this.#loops.filter((each) => each.range.key === range.key);
    const notEmpty: Fact = { kind: 'order', term: range.size, order: '>=', value: 1 };
    return [body(element), notEmpty, ...others.map((each) => each.body(element))];
  }

  /** Whether it is among what is known. */
  knows(formula: Formula): boolean {
    if (formula.kind === 'all') return formula.parts.every((part) => this.knows(part));
    return isTruth(formula) && this.#truths.get(truthKey(formula)) === formula.holds;
  }

  /** Whether it is plain that it cannot be. */
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

type Relation = Extract<Fact, { readonly kind: 'relation' }>;

/** What is equal to the same is equal. */
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
