import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const kidp = join(import.meta.dirname, '..', '..', '..', 'bin', 'kidp.js');

const rows: { reason: string; words: string[]; input?: string; status: number; stdout: RegExp; stderr: RegExp }[] = [
  { reason: 'a value', words: ['eval', '1 + 1'], status: 0, stdout: /^2\n$/, stderr: /^$/ },
  {
    reason: 'several variables',
    words: ['eval', '--var', 'a=1', '--var', 'b={"c":"x=y"}', '[dyn(a), b.c]', '-o', 'json'],
    status: 0,
    stdout: /^\{"value":\[1,"x=y"\],"type":"list"/,
    stderr: /^$/,
  },
  {
    reason: 'an expression that starts with a minus',
    words: ['eval', '--', '-1'],
    status: 0,
    stdout: /^-1\n$/,
    stderr: /^$/,
  },
  { reason: 'a failed evaluation', words: ['eval', '1 / 0'], status: 1, stdout: /^$/, stderr: /1:3: division by zero/ },
  { reason: 'a failed check', words: ['check', 'nowhere'], status: 1, stdout: /^$/, stderr: /undeclared/ },
  { reason: 'no expression', words: ['check', '1 +'], status: 2, stdout: /^$/, stderr: /Syntax error/ },
  {
    reason: 'no file',
    words: ['explain', '1', '-f', 'nowhere.yaml'],
    status: 2,
    stdout: /^$/,
    stderr: /^kidp: nowhere/,
  },
  {
    reason: 'no such environment',
    words: ['eval', '1', '--environment', 'x'],
    status: 2,
    stdout: /^$/,
    stderr: /extended/,
  },
  { reason: 'no such output', words: ['format', '1', '-o', 'x'], status: 2, stdout: /^$/, stderr: /text, json/ },
  { reason: 'no variable', words: ['eval', '1', '--var', 'x'], status: 2, stdout: /^$/, stderr: /name=JSON/ },
  { reason: 'format', words: ['format', '-'], input: 'a+b', status: 0, stdout: /^a \+ b\n$/, stderr: /^$/ },
  {
    reason: 'a repl in a pipe',
    words: ['repl'],
    input: 'a = 2\na * a\n:quit\n',
    status: 0,
    stdout: /^2\n4\n$/,
    stderr: /^$/,
  },
  {
    reason: 'a batch larger than a pipe buffer',
    words: ['eval', '--batch'],
    input: `${JSON.stringify({ expr: 'x', x: 'y'.repeat(200_000) })}\n{"expr":"2"}\n`,
    status: 0,
    stdout: /^\{"value":"y{200000}"\}\n\{"value":2\}\n$/,
    stderr: /^$/,
  },
];

test.each(rows)('$reason', ({ words, input, status, stdout, stderr }) => {
  const ran = spawnSync(process.execPath, [kidp, 'cel', ...words], { input: input ?? '', encoding: 'utf8' });
  expect(ran.stderr).toMatch(stderr);
  expect(ran.stdout).toMatch(stdout);
  expect(ran.status).toBe(status);
});
