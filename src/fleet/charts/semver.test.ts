import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sameVersion } from '../../api/index.ts';
import { compareVersions, isVersion } from './semver.ts';

test('follows the order of semver.org, with and without a v', () => {
  const inOrder = [
    'not a version',
    '1.0.0-alpha',
    'v1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    'v1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    'v1.2.0',
    '1.10.0',
    'v2.0.0',
    '9007199254740993.0.0',
  ];
  const shuffled = [...inOrder].sort((one, other) => (one.length - other.length) * 7 + (one < other ? 1 : -1));
  expect(shuffled.sort(compareVersions)).toEqual(inOrder);
});

test.each([
  { version: '1.2.3', reason: 'plain', expected: true },
  { version: 'v1.2.3-rc.1+build.5', reason: 'with pre-release and build metadata', expected: true },
  { version: '1.2', reason: 'a number is missing', expected: false },
  { version: '01.2.3', reason: 'a number begins with 0', expected: false },
  { version: '1.2.3-01', reason: 'a number of the pre-release begins with 0', expected: false },
  { version: '1.2.3-a.00', reason: 'so does a later one', expected: false },
  { version: '1.2.3-0.0a.10', reason: '0 itself, and words that begin with it', expected: true },
  { version: '1.2.3-', reason: 'nothing after the dash', expected: false },
  { version: 'latest', reason: 'a word', expected: false },
])('$version: $reason', ({ version, expected }) => expect(isVersion(version)).toBe(expected));

test('a leading v and build metadata are ignored', () => {
  expect(sameVersion('v1.2.3', '1.2.3')).toBe(true);
  expect(sameVersion('1.2.3', '1.2.4')).toBe(false);
  expect(compareVersions('1.2.3+a', 'v1.2.3+b')).toBe(0);
});

test('the order is antisymmetric and transitive', () => {
  const part = fc.constantFrom('0', '1', '2', '10');
  const before = fc.constantFrom('', '-a', '-a.1', '-1', '-a.b');
  const version = fc.tuple(part, part, part, before).map(([a, b, c, d]) => `${a}.${b}.${c}${d}`);
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      expect(Math.sign(compareVersions(a, b))).toBe(-Math.sign(compareVersions(b, a)) + 0);
      if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
        expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
    }),
  );
});
