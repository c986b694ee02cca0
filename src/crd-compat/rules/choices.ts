/** In which order values are tried: the plainest first, then some at random next to some in order. The same each time. */

/** One of `count` alternatives, counted from 0. */
export type Choose = (count: number) => number;

const MAX_IN_ORDER = 1_000;
const MAX_AT_RANDOM = 1_500;
/** So many are in order before any is at random. */
const PLAINEST = 48;
/** After that, so many at random for each in order: in order it takes long to come to what is chosen first. */
const AT_RANDOM = 3;

/** Ends early where all sequences of choices have been gone through. */
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
