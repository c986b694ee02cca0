import { describe, expect, test } from 'vitest';
import { explainInstallFailure, holds } from './install.mjs';

describe('what is installed is compared with the lockfile', () => {
  const wanted = {
    '': { version: '0.1.0' },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', optional: true },
  };
  const rows = [
    {
      reason: 'all of it is there',
      installed: { 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } },
      expected: true,
    },
    {
      reason: 'an optional package may be for another platform',
      installed: { 'node_modules/a': { version: '1.0.0' } },
      expected: true,
    },
    {
      reason: 'another version is not what is wanted',
      installed: { 'node_modules/a': { version: '1.0.1' } },
      expected: false,
    },
    {
      reason: 'an optional package of another version neither',
      installed: { 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '1.9.0' } },
      expected: false,
    },
    { reason: 'a missing package', installed: {}, expected: false },
  ];
  test.each(rows)('$reason', ({ installed, expected }) => {
    expect(holds(installed, wanted)).toBe(expected);
  });
});

describe('a failed installation is explained in one sentence', () => {
  const rows = [
    { reason: 'disk full', output: 'npm error code ENOSPC\nnpm error nospc', sentence: /disk is full/ },
    {
      reason: 'no network',
      output: 'npm error code ENOTFOUND\nnpm error network request failed',
      sentence: /registry cannot be reached/,
    },
    { reason: 'no permission', output: 'npm error code EACCES', sentence: /cannot write/ },
    { reason: 'lockfile out of step', output: 'npm error code EUSAGE', sentence: /package-lock\.json disagree/ },
    { reason: 'anything else points at npm itself', output: 'npm error strange', sentence: /its output is above/ },
  ];
  test.each(rows)('$reason', ({ output, sentence }) => {
    expect(explainInstallFailure(output)).toMatch(sentence);
  });
});
