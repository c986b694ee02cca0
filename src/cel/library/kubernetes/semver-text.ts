/** Parses and compares semantic versions like github.com/blang/semver. */
import { quote } from '../go-text.ts';

export interface Version {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** Identifiers that consist of digits are numbers. */
  readonly prerelease: readonly (bigint | string)[];
  /** Build metadata does not affect the order. */
  readonly build: readonly string[];
}

const DIGITS = /^[0-9]*$/;
const IDENTIFIER = /^[0-9A-Za-z-]*$/;
const MAX = 2n ** 64n - 1n;

/** `parseVersion` returns the version, or an error text. */
export function parseVersion(text: string): Version | string {
  if (text === '') return 'Version string empty';
  const parts = splitThree(text);
  if (parts === undefined) return 'No Major.Minor.Patch elements found';
  const major = parseNumber('Major', parts[0]);
  if (typeof major === 'string') return major;
  const minor = parseNumber('Minor', parts[1]);
  if (typeof minor === 'string') return minor;
  const [beforeBuild, buildText] = cut(parts[2], '+');
  const [patchText, prereleaseText] = cut(beforeBuild, '-');
  const patch = parseNumber('Patch', patchText);
  if (typeof patch === 'string') return patch;
  const prerelease: (bigint | string)[] = [];
  for (const each of prereleaseText?.split('.') ?? []) {
    const part = parsePrerelease(each);
    if (part.problem !== undefined) return part.problem;
    prerelease.push(part.value);
  }
  const build = buildText?.split('.') ?? [];
  for (const each of build) {
    if (each === '') return 'Build meta data is empty';
    if (!IDENTIFIER.test(each)) return `Invalid character(s) found in build meta data ${quote(each)}`;
  }
  return { major, minor, patch, prerelease, build };
}

/** `normalizeVersion` removes a leading `v` and leading zeros, and sets a missing minor or patch to 0. */
export function normalizeVersion(text: string): string | undefined {
  const parts = splitAtMost(text.startsWith('v') ? text.slice(1) : text, 3).map(withoutZeros);
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? '')) return undefined;
  while (parts.length < 3) parts.push('0');
  return parts.join('.');
}

export const SHORT_WITH_METADATA = 'short version cannot contain PreRelease/Build meta data';

function withoutZeros(part: string): string {
  if (part.length < 2) return part;
  const stripped = part.replace(/^0+/, '');
  return /^[0-9]/.test(stripped) ? stripped : `0${stripped}`;
}

function splitThree(text: string): [string, string, string] | undefined {
  const parts = splitAtMost(text, 3);
  return parts.length === 3 ? (parts as [string, string, string]) : undefined;
}

/** Splits at dots like Go's strings.SplitN. */
function splitAtMost(text: string, count: number): string[] {
  const parts = text.split('.');
  return parts.length <= count ? parts : [...parts.slice(0, count - 1), parts.slice(count - 1).join('.')];
}

function cut(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function parseNumber(name: 'Major' | 'Minor' | 'Patch', text: string): bigint | string {
  if (!DIGITS.test(text)) return `Invalid character(s) found in ${name.toLowerCase()} number ${quote(text)}`;
  if (text.length > 1 && text.startsWith('0')) return `${name} number must not contain leading zeroes ${quote(text)}`;
  return toUint64(text) ?? notParsed(text);
}

const notParsed = (text: string): string =>
  `strconv.ParseUint: parsing ${quote(text)}: ${text === '' ? 'invalid syntax' : 'value out of range'}`;

function toUint64(text: string): bigint | undefined {
  // A uint64 has at most twenty digits, so longer numbers are not parsed.
  if (text === '' || text.length > 20) return undefined;
  const value = BigInt(text);
  return value > MAX ? undefined : value;
}

type Part = { value: bigint | string; problem?: undefined } | { problem: string };

function parsePrerelease(text: string): Part {
  if (text === '') return { problem: 'Prerelease is empty' };
  if (!DIGITS.test(text)) {
    if (IDENTIFIER.test(text)) return { value: text };
    return { problem: `Invalid character(s) found in prerelease ${quote(text)}` };
  }
  if (text.length > 1 && text.startsWith('0')) {
    return { problem: `Numeric PreRelease version must not contain leading zeroes ${quote(text)}` };
  }
  const value = toUint64(text);
  return value === undefined ? { problem: notParsed(text) } : { value };
}

/** `compareVersions` returns -1, 0 or 1. */
export function compareVersions(left: Version, right: Version): number {
  return (
    order(left.major, right.major) ||
    order(left.minor, right.minor) ||
    order(left.patch, right.patch) ||
    comparePrereleases(left.prerelease, right.prerelease)
  );
}

function comparePrereleases(left: Version['prerelease'], right: Version['prerelease']): number {
  // A version without a prerelease is higher than all versions that have one.
  if (left.length === 0 || right.length === 0) return order(right.length === 0 ? 0 : 1, left.length === 0 ? 0 : 1);
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const result = typeof part === typeof other ? order(part, other) : typeof part === 'bigint' ? -1 : 1;
    if (result !== 0) return result;
  }
  return left.length < right.length ? -1 : 0;
}

const order = (left: bigint | string | number, right: bigint | string | number): number =>
  left < right ? -1 : left > right ? 1 : 0;

export function formatVersion({ major, minor, patch, prerelease, build }: Version): string {
  const suffix = (mark: string, parts: readonly (bigint | string)[]): string =>
    parts.length === 0 ? '' : `${mark}${parts.join('.')}`;
  return `${major}.${minor}.${patch}${suffix('-', prerelease)}${suffix('+', build)}`;
}
