import { describe, expect, test } from 'vitest';
import { describeFailure, exitCodeOf, InputError } from './failure.ts';

const coded = (code: string, message: string) => Object.assign(new Error(message), { code });

describe('a failure is one sentence and an exit code', () => {
  const rows: { reason: string; error: unknown; sentence: RegExp; exit: number }[] = [
    { reason: 'bad input is 2', error: new InputError('x', 'no such file.'), sentence: /^no such file\.$/, exit: 2 },
    { reason: 'a kubeconfig is input too', error: coded('config/parse', 'line 2'), sentence: /^line 2$/, exit: 2 },
    {
      reason: 'a full disk says what to do',
      error: coded('ENOSPC', 'write'),
      sentence: /disk is full .* free some space/,
      exit: 1,
    },
    {
      reason: 'a package that servers need and that is not installed is named with the command',
      error: coded('ERR_MODULE_NOT_FOUND', "Cannot find package 'fastify' imported from /a/chunk.js"),
      sentence:
        /^the package "fastify" is not installed: .* Run `npm install .*'fastify@\^5[^`]*`, then run the command/,
      exit: 2,
    },
    {
      reason: 'one that is required is, too',
      error: coded('MODULE_NOT_FOUND', "Cannot find module '@peculiar/asn1-schema'\nRequire stack:\n- /a/chunk.js"),
      sentence: /^the package "@peculiar\/asn1-schema" is not installed/,
      exit: 2,
    },
    {
      reason: 'any other missing file is an error of the package',
      error: coded('ERR_MODULE_NOT_FOUND', "Cannot find module '/a/chunk.js'"),
      sentence: /^Cannot find module/,
      exit: 1,
    },
    { reason: 'no permission says what to do', error: coded('EACCES', 'open'), sentence: /permission denied/, exit: 1 },
    {
      reason: 'an error with a code has its own message',
      error: coded('api/Forbidden', 'forbidden'),
      sentence: /^forbidden$/,
      exit: 1,
    },
    {
      reason: 'a bug shows its stack',
      error: new TypeError('x is not a function'),
      sentence: /failure\.test\.ts/,
      exit: 1,
    },
    { reason: 'any other thrown value is printed', error: 'text', sentence: /^text$/, exit: 1 },
  ];
  test.each(rows)('$reason', ({ error, sentence, exit }) => {
    expect(describeFailure(error)).toMatch(sentence);
    expect(exitCodeOf(error)).toBe(exit);
  });
});
