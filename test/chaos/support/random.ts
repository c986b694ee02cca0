/** Reproducible random numbers: the same seed gives the same numbers, in independent streams. */

export interface Random {
  /** Returns a number from 0 to 1, exclusive of 1. */
  next(): number;
  /** Returns an integer, both ends included. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Returns an independent stream. It depends only on the seed and the name. */
  stream(name: string): Random;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32: 32 bits of state are plenty for choosing victims.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    pick(from) {
      const picked = from[Math.floor(next() * from.length)];
      if (picked === undefined) throw new RangeError('there is nothing to pick from');
      return picked;
    },
    stream: (name) => seeded(digest(`${seed}/${name}`)),
  };
}

/** FNV-1a. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
