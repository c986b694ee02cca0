import { describe, expect, it } from 'vitest';
import { CelError } from '../../values.ts';
import { caller } from '../support/overloads.ts';
import { type Semver, semvers } from './semver.ts';

const call = caller(semvers);
const semver = (text: string, normalize = false): Semver => call('string_bool_to_semver', text, normalize) as Semver;

describe('isSemver', () => {
  it.each([
    { text: '1.0.0', strict: true, normalized: true, reason: 'plain' },
    { text: '0.1.0-alpha.1+build.5', strict: true, normalized: true, reason: 'prerelease and build' },
    { text: 'v1.0.0', strict: false, normalized: true, reason: 'a v in front' },
    { text: '1.0', strict: false, normalized: true, reason: 'no patch' },
    { text: '1', strict: false, normalized: true, reason: 'a major alone' },
    { text: '01.01.01', strict: false, normalized: true, reason: 'leading zeros' },
    { text: '1.0-alpha', strict: false, normalized: false, reason: 'short with a prerelease' },
    { text: '1.0.0-01', strict: false, normalized: false, reason: 'a numeric prerelease with a leading zero' },
    { text: '1.0.0-', strict: false, normalized: false, reason: 'an empty prerelease' },
    { text: '1.0.0+', strict: false, normalized: false, reason: 'empty build metadata' },
    { text: '1.0.0+b_c', strict: false, normalized: false, reason: 'an underscore' },
    { text: '1.0.0.0', strict: false, normalized: false, reason: 'four numbers' },
    { text: '18446744073709551616.0.0', strict: false, normalized: false, reason: 'past uint64' },
    { text: ' 1.0.0', strict: false, normalized: false, reason: 'blanks are not trimmed' },
    { text: '', strict: false, normalized: false, reason: 'nothing' },
    { text: 'hello', strict: false, normalized: false, reason: 'no version at all' },
  ])('$text: $reason', ({ text, strict, normalized }) => {
    expect(call('is_semver_string', text)).toBe(strict);
    expect(call('is_semver_string_bool', text, true)).toBe(normalized);
    expect(call('string_to_semver', text) instanceof CelError).toBe(!strict);
    expect(call('string_bool_to_semver', text, true) instanceof CelError).toBe(!normalized);
  });
});

describe('order', () => {
  // semver.org, 11
  const ascending = [
    '0.9.9',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1',
    '1.2.0',
    '2.0.0',
  ];
  it.each(
    ascending.flatMap((left, i) => ascending.map((right, j) => ({ left, right, order: Math.sign(i - j) }))),
  )('$left against $right is $order', ({ left, right, order }) => {
    expect(call('semver_compare_to', semver(left), semver(right))).toBe(order);
    expect(call('semver_is_less_than', semver(left), semver(right))).toBe(order < 0);
    expect(call('semver_is_greater_than', semver(left), semver(right))).toBe(order > 0);
    expect(semver(left).equalsOrError(semver(right))).toBe(order === 0);
  });

  it('ignores build metadata', () => {
    expect(semver('1.0.0+a').equalsOrError(semver('1.0.0+b'))).toBe(true);
  });

  it('fails for other types', () => {
    expect(semver('1.0.0').equalsOrError('1.0.0')).toMatchObject({ code: 'no_such_overload' });
  });
});

it('returns its numbers', () => {
  const value = semver('v1.02.3', true);
  expect(['major', 'minor', 'patch'].map((part) => call(`semver_${part}`, value))).toEqual([1, 2, 3]);
  expect(value.toString()).toBe('1.2.3');
});

it('returns a number past int64 as negative, like Kubernetes', () => {
  expect(call('semver_major', semver('18446744073709551615.0.0'))).toBe(-1);
});
