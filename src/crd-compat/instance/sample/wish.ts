/** What a sample must have. */
import type { CrdSchema } from '../../schema.ts';
import type { Step } from '../fault.ts';

/** The way to a place: names of properties or keys of maps, and positions in lists. */
type WishPath = readonly Step[];

export type Wish =
  /** Exactly this value, whether the schema knows the place or not. */
  | { readonly path: WishPath; readonly value: unknown }
  /** Nothing there, though what is around it is. */
  | { readonly path: WishPath; readonly absent: true }
  /** A value that the schema takes and that this one takes as well: `{}` for any, `{ not: other }` for one that another does not take. */
  | { readonly path: WishPath; readonly matching: CrdSchema };

/** Wishes by the place they are for. */
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

  /** Whether something has to be there. */
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

/** A place that is to be empty still needs what it is empty in. */
const needsParent = (node: WishNode): boolean => node.absent || node.present;
