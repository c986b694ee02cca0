/**
 * Searches for texts within length bounds that some programs match and others do not. It walks the product of their
 * automata from the start, shortest texts first.
 */
import { type Classes, choices, stretchAt } from './characters.ts';
import { ALL, Budget, DEAD, type Machine, machineOf, TooLarge } from './machine.ts';
import type { Program } from './program.ts';

interface Wanted {
  readonly matching: readonly Program[];
  readonly notMatching: readonly Program[];
  /** Lengths count code points, as in the API server. */
  readonly minLength: number;
  readonly maxLength: number;
}

/** The budget of one question, in instructions. */
const MAX_WORK = 1_000_000;
const MAX_STATES = 20_000;
/** The cost of one place of the product, in instructions. */
const PLACE_WORK = 20;

/**
 * `textsOf` returns up to `count` texts, the shortest first; an empty list if there is none, and undefined if the
 * automata are too large.
 */
export function textsOf(wanted: Wanted, count: number, work = MAX_WORK): readonly string[] | undefined {
  try {
    return new Search(wanted, new Budget(work)).texts(count);
  } catch (thrown) {
    if (thrown instanceof TooLarge) return undefined;
    throw thrown;
  }
}

interface Place {
  /** The state of each machine. */
  readonly states: readonly number[];
  readonly accepts: boolean;
  /** The place after each character class, in the order of the choices; undefined if it leads nowhere. */
  next?: readonly (Place | undefined)[];
  /** The order of discovery, by which layers are sorted so that every run gives the same result. */
  readonly id: number;
}

class Search {
  readonly #wanted: Wanted;
  readonly #machines: readonly Machine[];
  readonly #budget: Budget;
  /** For each class of the product, its class in each machine; readable classes come first. */
  readonly #letters: readonly { readonly classes: readonly number[]; readonly characters: readonly string[] }[];
  readonly #places = new Map<string, Place>();

  constructor(wanted: Wanted, budget: Budget) {
    this.#wanted = wanted;
    this.#budget = budget;
    this.#machines = [...wanted.matching, ...wanted.notMatching].map(machineOf);
    this.#letters = lettersOf(this.#machines.map((each) => each.classes));
  }

  texts(count: number): readonly string[] {
    const { minLength, maxLength } = this.#wanted;
    const start = this.#place(this.#machines.map((each) => each.start(this.#budget)));
    const shortest = start === undefined ? undefined : this.#shortest(start);
    if (start === undefined || shortest === undefined || minLength > maxLength) return [];
    const layers = new Layers(start, (place) => this.#next(place), this.#budget);
    const found = new Set<string>();
    let barren = 0;
    for (let length = Math.max(shortest, minLength); length <= maxLength && found.size < count; length++) {
      const ends = layers.at(length).filter((each) => each.accepts);
      if (layers.at(length).length === 0) break;
      // Layers repeat with a period: if a whole period contains no text, none follows.
      barren = ends.length > 0 ? 0 : barren + 1;
      if (barren > layers.period) break;
      for (let variant = 0; variant < Math.max(1, ends.length && count) && found.size < count; variant++) {
        const end = ends[variant % ends.length];
        if (end !== undefined) found.add(this.#spell(layers, length, end, variant));
      }
    }
    return [...found];
  }

  /** Returns the length of the shortest text, unless it is too long. */
  #shortest(start: Place): number | undefined {
    const seen = new Set([start]);
    let layer: Place[] = [start];
    for (let length = 0; length <= this.#wanted.maxLength && layer.length > 0; length++) {
      if (layer.some((each) => each.accepts)) return length;
      const following: Place[] = [];
      for (const place of layer) {
        for (const next of this.#next(place)) {
          if (next === undefined || seen.has(next)) continue;
          seen.add(next);
          following.push(next);
        }
      }
      layer = following;
    }
    return undefined;
  }

  /** Spells a text backwards from its end, layer by layer. Variants choose other paths and characters. */
  #spell(layers: Layers, length: number, end: Place, variant: number): string {
    const characters: string[] = [];
    let target = end;
    for (let at = length - 1; at >= 0; at--) {
      const ways = layers.waysTo(target, at);
      const way = ways[variant % ways.length] as { place: Place; letter: number };
      const choice = this.#letters[way.letter]?.characters as readonly string[];
      characters.push(choice[(variant + (variant > 0 ? at : 0)) % choice.length] as string);
      target = way.place;
    }
    return characters.reverse().join('');
  }

  #next(place: Place): readonly (Place | undefined)[] {
    place.next ??= this.#letters.map(({ classes }) =>
      this.#place(
        place.states.map((state, index) => this.#machine(index).step(state, classes[index] as number, this.#budget)),
      ),
    );
    this.#budget.spend(this.#letters.length);
    return place.next;
  }

  #machine(index: number): Machine {
    return this.#machines[index] as Machine;
  }

  /** Returns undefined if no wanted text passes through here. */
  #place(states: readonly number[]): Place | undefined {
    const positive = this.#wanted.matching.length;
    if (states.some((state, index) => state === (index < positive ? DEAD : ALL))) return undefined;
    const key = states.join();
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#places.size >= MAX_STATES) throw new TooLarge();
    this.#budget.spend(PLACE_WORK);
    const accepts = states.every(
      (state, index) => this.#machine(index).accepts(state, this.#budget) === index < positive,
    );
    const made: Place = { states, accepts, id: this.#places.size };
    this.#places.set(key, made);
    return made;
  }
}

/** The joint character classes of the machines, the most readable first. */
function lettersOf(all: readonly Classes[]): { classes: readonly number[]; characters: readonly string[] }[] {
  const starts = [...new Set([0, ...all.flatMap((each) => each.starts)])].sort((left, right) => left - right);
  const known = new Map<string, number>();
  const tuples: (readonly number[])[] = [];
  const ofStretch = starts.map((start) => {
    const tuple = all.map((each) => each.ofStretch[stretchAt(each.starts, start)] as number);
    if (tuple.includes(-1)) return -1;
    const key = tuple.join();
    const found = known.get(key) ?? tuples.push(tuple) - 1;
    known.set(key, found);
    return found;
  });
  const { order, characters } = choices(starts, ofStretch);
  return order.map((each) => ({
    classes: tuples[each] as readonly number[],
    characters: characters[each] as readonly string[],
  }));
}

/**
 * The places that are reachable in exactly so many characters. From some length on they repeat, so only the layers up
 * to there are kept.
 */
class Layers {
  readonly #layers: (readonly Place[])[];
  readonly #next: (place: Place) => readonly (Place | undefined)[];
  readonly #budget: Budget;
  readonly #indexOf = new Map<string, number>();
  readonly #ways = new Map<string, readonly { place: Place; letter: number }[]>();
  #repeatsFrom: number | undefined;

  constructor(start: Place, next: (place: Place) => readonly (Place | undefined)[], budget: Budget) {
    this.#layers = [[start]];
    this.#indexOf.set(`${start.id}`, 0);
    this.#next = next;
    this.#budget = budget;
  }

  /** The period after which layers repeat; infinite until it is known. */
  get period(): number {
    return this.#repeatsFrom === undefined ? Number.POSITIVE_INFINITY : this.#layers.length - this.#repeatsFrom;
  }

  at(length: number): readonly Place[] {
    while (this.#repeatsFrom === undefined && this.#layers.length <= length) this.#extend();
    return this.#layers[this.#index(length)] as readonly Place[];
  }

  /** The places and letters from which the place is reached after `length` characters. */
  waysTo(target: Place, length: number): readonly { place: Place; letter: number }[] {
    const layer = this.at(length);
    const key = `${target.id}:${this.#index(length)}`;
    const known = this.#ways.get(key);
    if (known !== undefined) return known;
    const ways: { place: Place; letter: number }[] = [];
    for (const place of layer) {
      for (const [letter, next] of this.#next(place).entries()) if (next === target) ways.push({ place, letter });
    }
    ways.sort((left, right) => left.letter - right.letter || left.place.id - right.place.id);
    this.#ways.set(key, ways);
    return ways;
  }

  #index(length: number): number {
    const from = this.#repeatsFrom;
    return from === undefined || length < this.#layers.length ? length : from + ((length - from) % this.period);
  }

  #extend(): void {
    const found = new Set<Place>();
    for (const place of this.#layers.at(-1) as readonly Place[]) {
      for (const next of this.#next(place)) if (next !== undefined) found.add(next);
    }
    const layer = [...found].sort((left, right) => left.id - right.id);
    this.#budget.spend(layer.length);
    const key = layer.map((each) => each.id).join();
    this.#repeatsFrom = this.#indexOf.get(key);
    if (this.#repeatsFrom !== undefined) return;
    this.#indexOf.set(key, this.#layers.length);
    this.#layers.push(layer);
  }
}
