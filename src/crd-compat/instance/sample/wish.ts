/** Wishes: what a sample must contain. */
import type { CrdSchema } from '../../schema.ts';
import type { Step } from '../fault.ts';

/** The path to a place: names of properties or keys of maps, and positions in lists. */
type WishPath = readonly Step[];

export type Wish =
  /** Exactly this value, whether the schema has the place or not. */
  | { readonly path: WishPath; readonly value: unknown }
  /** No value, although the surrounding object is present. */
  | { readonly path: WishPath; readonly absent: true }
  /**
   * A value that both the schema at the place and this schema accept: `{}` for any, `{ not: other }` for one that
   * another schema refuses.
   */
  | { readonly path: WishPath; readonly matching: CrdSchema };

/** Wishes by place. */
export class WishNode {
  fixed: { readonly value: unknown } | undefined;
  absent = false;
  matching: CrdSchema[] = [];
  readonly below = new Map<Step, WishNode>();

  static of(wishes: readonly Wish[]): WishNode {
    const root = new WishNode();
    for (const wish of wishes) {
      let node = root;
      for (const step of wish.path) {
        const next = node.below.get(step) ?? new WishNode();
        node.below.set(step, next);
        node = next;
      }
      if ('value' in wish) node.fixed = { value: wish.value };
      else if ('absent' in wish) node.absent = true;
      else node.matching.push(wish.matching);
    }
    return root;
  }

  /** Whether a value must be present. */
  get present(): boolean {
    if (this.absent) return false;
    return this.fixed !== undefined || this.matching.length > 0 || [...this.below.values()].some(needsParent);
  }

  get names(): readonly string[] {
    return [...this.below.keys()].filter((step) => typeof step === 'string');
  }

  get length(): number {
    return Math.max(0, ...[...this.below.keys()].map((step) => (typeof step === 'number' ? step + 1 : 0)));
  }
}

/** Even a place that must be absent needs the object around it. */
const needsParent = (node: WishNode): boolean => node.absent || node.present;
