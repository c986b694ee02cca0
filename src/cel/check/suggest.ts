/** Finds the closest valid name for "did you mean" hints. */

/**
 * `nearest` returns the known name closest to `name`, or undefined if none is close. Case and separators weigh little.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let distance = limit + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const found = simplify(candidate) === simplify(name) ? 0 : editDistance(name, candidate, distance);
    if (found < distance) {
      distance = found;
      best = candidate;
    }
  }
  return best;
}

export function didYouMean(name: string, known: Iterable<string>): string {
  const found = nearest(name, known);
  return found === undefined || found === name ? '' : `, did you mean '${found}'?`;
}

const simplify = (name: string): string => name.toLowerCase().replaceAll(/[_.-]/g, '');

/** Counts insertions, deletions, replacements and swaps of neighbours; stops at `limit`. */
function editDistance(left: string, right: string, limit: number): number {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    let smallest = row;
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(
        (previous[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (previous[column - 1] as number) + (same ? 0 : 1),
      );
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) cost = Math.min(cost, (before[column - 2] as number) + 1);
      current.push(cost);
      smallest = Math.min(smallest, cost);
    }
    if (smallest >= limit) return limit;
    before = previous;
    previous = current;
  }
  return previous[right.length] as number;
}
