/**
 * The choices of one sample. The next attempt keeps the good ones: only choices in the focus are made again, all others
 * stay as they were or as simple as possible.
 */
import type { Random } from '../../random.ts';
import { leadsInto, stepInto, type Trail } from './trail.ts';

/** The parts of a sample to choose again. */
export interface Focus {
  /** Whether a place is in the focus. */
  has(at: Trail): boolean;
  /** The path that contains the whole focus; empty for the whole sample. */
  readonly near: string;
}

/** The empty focus: everything stays as it was, or as simple as possible. */
export const PLAIN: Focus = { has: () => false, near: '' };
export const EVERYTHING: Focus = { has: () => true, near: '' };

/** A larger sample is completed as simply as possible. */
const MAX_NODES = 2000;

/** The choices made so far, except the simplest ones. */
export class Taken {
  readonly ways = new Map<string, number>();
  /** The chosen optional fields, by the object that contains them. */
  readonly fields = new Map<string, Set<string>>();
}

const NOTHING: ReadonlySet<string> = new Set();

export class Choices {
  /** Whether every choice is the simplest one. */
  readonly arePlain: boolean;
  readonly taken = new Taken();
  readonly #kept: Taken | undefined;
  readonly #focus: Focus;
  readonly #random: Random;
  #nodes = 0;

  constructor(kept: Taken | undefined, focus: Focus, random: Random) {
    this.#kept = kept === undefined || kept.ways.size === 0 ? undefined : kept;
    this.#focus = focus;
    this.#random = random;
    this.arePlain = focus === PLAIN && this.#kept === undefined;
  }

  /** Chooses one of `count` ways for the question `about` at a place; 0 is the simplest. */
  pick(at: Trail, about: string, count: number): number {
    if (count < 2 || this.arePlain) return 0;
    const focused = this.#focus.has(at);
    if (!focused && this.#kept === undefined) return 0;
    const key = `${at.text} ${about}`;
    const before = this.#kept?.ways.get(key) ?? 0;
    const taken = focused && ++this.#nodes < MAX_NODES ? this.#random.below(count) : before % count;
    if (taken !== 0) this.taken.ways.set(key, taken);
    return taken;
  }

  /** Whether the choice would be the simplest, for any number of ways. */
  isPlainest(at: Trail, about: string): boolean {
    if (this.arePlain) return true;
    if (this.#focus.has(at)) return false;
    return this.#kept === undefined || (this.#kept.ways.get(`${at.text} ${about}`) ?? 0) === 0;
  }

  /**
   * The optional fields of an object that may be present; undefined if any of them may be. A large object has hundreds,
   * and usually all but one stay absent.
   */
  fieldsOf(at: Trail): ReadonlySet<string> | undefined {
    if (this.arePlain) return NOTHING;
    const { text } = at;
    const { near } = this.#focus;
    const kept = this.#kept?.fields.get(text) ?? NOTHING;
    if (this.#focus === PLAIN) return kept;
    if (leadsInto(text, near)) return undefined;
    const step = leadsInto(near, text) ? stepInto(near, text) : undefined;
    return typeof step === 'string' ? new Set([...kept, step].sort()) : kept;
  }

  /** Whether an optional field is present. Deeper fields are present less often, so that samples stay small. */
  isPresent(object: string, field: string, at: Trail): boolean {
    const ways = at.steps.length <= 4 ? 2 : at.steps.length;
    if (this.pick(at, 'present', ways) !== 1) return false;
    const known = this.taken.fields.get(object);
    if (known === undefined) this.taken.fields.set(object, new Set([field]));
    else known.add(field);
    return true;
  }
}
