/**
 * Where a sample could be made in more than one way, and which way was taken. The next try keeps what was good: only what is in the focus
 * is chosen again, everything else stays as it was, or as plain as can be.
 */
import type { Random } from '../../random.ts';
import { leadsInto, stepInto, type Trail } from './trail.ts';

/** The parts to choose again. */
export interface Focus {
  /** Whether that is so at a place. */
  has(at: Trail): boolean;
  /** The place that all of it is in; empty for the whole. */
  readonly near: string;
}

/** Nothing: all is as plain as can be, or as it was. */
export const PLAIN: Focus = { has: () => false, near: '' };
export const EVERYTHING: Focus = { has: () => true, near: '' };

/** A sample that grows past this is finished as plainly as can be. */
const MAX_NODES = 2000;

/** The ways that were taken, but for the plainest. */
export class Taken {
  readonly ways = new Map<string, number>();
  /** The fields that need not be there and are, by the object they are in. */
  readonly fields = new Map<string, Set<string>>();
}

const NOTHING: ReadonlySet<string> = new Set();

export class Choices {
  /** Whether every pick is the plainest. */
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

  /** One of `count` ways for the question `about` at a place; 0 is the plainest. */
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

  /** Whether a pick would be the plainest, however many ways there are. */
  isPlainest(at: Trail, about: string): boolean {
    if (this.arePlain) return true;
    if (this.#focus.has(at)) return false;
    return this.#kept === undefined || (this.#kept.ways.get(`${at.text} ${about}`) ?? 0) === 0;
  }

  /**
   * Those of the fields of an object that may be there though they need not; undefined where that is any of them. A large object has
   * hundreds, and most often all but one of them stay away.
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

  /** Whether what need not be there is; deeper places are filled less often, so that samples stay small. */
  isPresent(object: string, field: string, at: Trail): boolean {
    const ways = at.steps.length <= 4 ? 2 : at.steps.length;
    if (this.pick(at, 'present', ways) !== 1) return false;
    const known = this.taken.fields.get(object);
    if (known === undefined) this.taken.fields.set(object, new Set([field]));
    else known.add(field);
    return true;
  }
}
