/**
 * The order in which values are tried: the simplest first, then random ones interleaved with the rest in order. It is
 * the same on each run.
 */

/** Chooses one of `count` alternatives, counted from 0. */
export type Choose = (count: number) => number;

const MAX_IN_ORDER = 1_000;
const MAX_AT_RANDOM = 1_500;
/** The number of values that are tried in order before the first random one. */
const PLAINEST = 48;
/** After that, the number of random values for each one in order, because an early choice changes late in the order. */
const AT_RANDOM = 3;

/** `choices` yields one sequence of choices after the other, and ends once all have been tried. */
export function* choices(): Generator<Choose, undefined> {
  const random = pseudorandom();
  let path: { taken: number; count: number }[] = [];
  let atRandom = 0;
  for (let turn = 0; turn < MAX_IN_ORDER; turn++) {
    let at = 0;
    yield (count) => {
      if (count <= 1) return 0;
      const step = path[at] ?? { taken: 0, count };
      path[at++] = step;
      return step.taken;
    };
    path = path.slice(0, at);
    while (path.length > 0 && (path.at(-1)?.taken ?? 0) + 1 >= (path.at(-1)?.count ?? 0)) path.pop();
    const last = path.at(-1);
    if (last === undefined) return;
    last.taken++;
    if (turn < PLAINEST) continue;
    for (let more = 0; more < AT_RANDOM && atRandom < MAX_AT_RANDOM; more++, atRandom++) yield random;
  }
}

function pseudorandom(): Choose {
  let state = 0x2545f491;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}
