/**
 * Where a sample could be made in more than one way, and which way was taken. The next try keeps what was good: only what is in the focus
 * is chosen anew, everything else stays as it was, or as plain as can be.
 */
import { pathText, type Step } from '../fault.ts';
import type { Random } from './random.ts';

/** What to choose anew at a place. */
export type Focus = (path: readonly Step[]) => boolean;

/** Nothing: all is as plain as can be, or as it was. */
export const PLAIN: Focus = () => false;

/** A sample that grows past this is finished as plainly as can be. */
const MAX_NODES = 2000;

export class Choices {
  /** Whether every pick is the plainest. */
  readonly arePlain: boolean;
  readonly taken = new Map<string, number>();
  readonly #kept: ReadonlyMap<string, number>;
  readonly #focus: Focus;
  readonly #random: Random;
  #nodes = 0;

  constructor(kept: ReadonlyMap<string, number>, focus: Focus, random: Random) {
    this.#kept = kept;
    this.#focus = focus;
    this.#random = random;
    this.arePlain = focus === PLAIN && kept.size === 0;
  }

  /** One of `count` ways for the question `about` at a place; 0 is the plainest. */
  pick(path: readonly Step[], about: string, count: number): number {
    if (count < 2 || this.arePlain) return 0;
    const focused = this.#focus(path);
    if (!focused && this.#kept.size === 0) return 0;
    const key = `${pathText(path)} ${about}`;
    const before = this.#kept.get(key) ?? 0;
    const taken = focused && ++this.#nodes < MAX_NODES ? this.#random.below(count) : before % count;
    if (taken !== 0) this.taken.set(key, taken);
    return taken;
  }

  /** Whether a pick would be the plainest, however many ways there are. */
  isPlainest(path: readonly Step[], about: string): boolean {
    if (this.arePlain) return true;
    if (this.#focus(path)) return false;
    return this.#kept.size === 0 || (this.#kept.get(`${pathText(path)} ${about}`) ?? 0) === 0;
  }

  /** Whether what need not be there is; deeper places are filled less often, so that samples stay small. */
  isPresent(path: readonly Step[]): boolean {
    const ways = path.length <= 4 ? 2 : path.length;
    return this.pick(path, 'present', ways) === 1;
  }
}
