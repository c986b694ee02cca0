/** Log messages are constant strings; what varies is in fields, none of which has the name of the message itself. */
import { expect, test } from 'vitest';
import { read, sourceFiles } from './source.ts';

const calls = sourceFiles('src')
  .filter((file) => !/\.test\.ts$|\/support\//.test(file))
  .flatMap((file) =>
    [...read(file).matchAll(/\blog\??\.(?:debug|info|warn|error)\(([^;]*?)\);/g)].map(([, words = '']) => ({
      file,
      words: words.replace(/\s+/g, ' ').trim(),
    })),
  );

test('there are log messages to check', () => {
  expect(calls.length).toBeGreaterThan(50);
});

test('every log message is a constant', () => {
  expect(calls.filter(({ words }) => words.startsWith('`'))).toEqual([]);
});

test('no field is called message, timestamp or level, which the log line has already', () => {
  expect(calls.filter(({ words }) => /[{,] (message|timestamp|level)(:|,| \})/.test(words))).toEqual([]);
});
