/**
 * Strings that the functions of rules accept: addresses, URLs, quantities and so on. A rule that parses a string refuses all others, so
 * that they show nothing about the rest of it.
 */
import type { Literals } from './literals.ts';

const addresses = [
  '10.0.0.1',
  '127.0.0.1',
  '192.168.1.1',
  '8.8.8.8',
  '169.254.0.1',
  '224.0.0.1',
  '0.0.0.0',
  '2001:db8::1',
  '2001:DB8::1',
  '::1',
  'fe80::1',
  'ff02::1',
];
const ranges = [
  '10.0.0.0/8',
  '10.1.0.0/16',
  '192.168.1.0/24',
  '192.168.1.1/24',
  '0.0.0.0/0',
  '8.8.8.8/32',
  '2001:db8::/32',
  '2001:db8::1/64',
];
const locations = [
  'https://example.com',
  'http://example.com:8080/path?query=value',
  'https://example.com/',
  'ftp://user@10.0.0.1:21/',
  'http://[::1]:80/a%20b',
  '/path',
];
const quantities = ['1', '0', '-1', '1.5', '100m', '1k', '1Ki', '1Mi', '1Gi', '1Ti', '1Ei'];
const releases = ['1.0.0', '0.0.1', '0.1.0', '1.2.3', '2.0.0', '10.0.0', '1.0.0-alpha', '1.0.0+build'];
const formatted = [
  'example',
  'example.com',
  'example.com/name',
  'Example_1',
  '-',
  '1example',
  '',
  'a'.repeat(64),
  '123e4567-e89b-12d3-a456-426614174000',
  'a23e4567-e89b-12d3-a456-426614174000',
  'ZXhhbXBsZQ==',
  '2001-02-03',
  '2031-02-03',
  '2031-02-03T04:05:06Z',
  'https://example.com',
];
const times = ['1970-01-01T00:00:00Z', '2001-02-03T04:05:06Z', '2031-02-03T04:05:06.7+08:00', '2100-12-31T23:59:59Z'];
const spans = ['0s', '1ms', '1s', '1m', '1h', '24h', '1000h', '-1s'];

/** The strings for a function: fixed ones, and those beside the literals of the rules. */
interface Words {
  readonly fixed: readonly string[];
  readonly beside?: (literals: Literals) => readonly string[];
}

const QUANTITY = /^(\d+)(\D*)$/;
const RELEASE = /^(\d+)\.(\d+)\.(\d+)/;

const about = (text: string): readonly string[] => {
  const [, amount, unit] = QUANTITY.exec(text) ?? [];
  if (amount === undefined) return [];
  return [Number(amount) + 1, Math.max(0, Number(amount) - 1), Number(amount) * 2].map((each) => `${each}${unit}`);
};

const releasesAbout = (text: string): readonly string[] => {
  const [, ...parts] = RELEASE.exec(text) ?? [];
  const [major = 0, minor = 0, patch = 0] = parts.map(Number);
  if (parts.length === 0) return [];
  return [
    `${major + 1}.${minor}.${patch}`,
    `${major}.${minor}.${patch + 1}`,
    ...(major > 0 ? [`${major - 1}.${minor}.${patch}`] : []),
    ...(minor > 0 ? [`${major}.${minor - 1}.${patch}`] : []),
  ];
};

const besideTexts =
  (of: (text: string) => readonly string[]) =>
  ({ texts }: Literals): readonly string[] =>
    texts.flatMap(of);
const besideNumbers =
  (of: (number: number) => string) =>
  ({ numbers }: Literals): readonly string[] =>
    numbers.filter(Number.isInteger).flatMap((each) => [each - 1, each, each + 1].map(of));

const ip: Words = { fixed: addresses };
const cidr: Words = { fixed: ranges };
const url: Words = { fixed: locations };
const quantity: Words = { fixed: quantities, beside: besideTexts(about) };
const semver: Words = { fixed: releases, beside: besideTexts(releasesAbout) };
const format: Words = { fixed: formatted };
const number: Words = { fixed: ['0', '1', '-1'], beside: besideNumbers(String) };

const words: ReadonlyMap<string, Words> = new Map([
  ['ip', ip],
  ['isIP', ip],
  ['isCanonical', ip],
  ['containsIP', ip],
  ['cidr', cidr],
  ['isCIDR', cidr],
  ['containsCIDR', cidr],
  ['url', url],
  ['isURL', url],
  ['quantity', quantity],
  ['isQuantity', quantity],
  ['semver', semver],
  ['isSemver', semver],
  ['validate', format],
  ['timestamp', { fixed: times, beside: besideNumbers((year) => `${String(year).padStart(4, '0')}-06-15T12:00:00Z`) }],
  ['duration', { fixed: spans, beside: besideTexts(about) }],
  ['int', number],
  ['uint', number],
  ['double', number],
]);

/** `vocabularyOf` returns strings that the functions of the rules accept. */
export function vocabularyOf(literals: Literals): readonly string[] {
  const known = new Set([...literals.functions].flatMap((name) => words.get(name) ?? []));
  return [...new Set([...known].flatMap(({ fixed, beside }) => [...(beside?.(literals) ?? []), ...fixed]))];
}
