/**
 * Semantic versions, with or without the leading `v` of many charts and images, ordered like Helm does
 * (docs/decisions/0027).
 */

interface Parsed {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly preRelease: readonly string[];
}

/** A number of a pre-release has no leading zero, as in Helm: `-1` and `-01` would be two versions without an order. */
const VERSION =
  /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?!0\d+(?:[.+]|$))[0-9A-Za-z-]+(?:\.(?!0\d+(?:[.+]|$))[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

export const isVersion = (text: string): boolean => VERSION.test(text);

/**
 * `compareVersions` orders by semver 2.0, older first. An invalid version is older than all others. Build metadata is
 * ignored.
 */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [parse(one), parse(other)];
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  for (const [index, number] of a.numbers.entries()) {
    const against = b.numbers[index] ?? 0n;
    if (number !== against) return number < against ? -1 : 1;
  }
  return comparePreReleases(a.preRelease, b.preRelease);
}

function parse(text: string): Parsed | undefined {
  const match = VERSION.exec(text);
  if (match === null) return undefined;
  const [, major = '0', minor = '0', patch = '0', preRelease] = match;
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], preRelease: preRelease?.split('.') ?? [] };
}

/** A release is newer than its pre-releases; numeric identifiers are older than alphanumeric ones. */
function comparePreReleases(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return Number(one.length === 0) - Number(other.length === 0);
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const [a, b] = [one[index], other[index]];
    if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
    if (a === b) continue;
    const [aIsNumber, bIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
    if (aIsNumber && bIsNumber) return BigInt(a) < BigInt(b) ? -1 : 1;
    if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
    return a < b ? -1 : 1;
  }
  return 0;
}
