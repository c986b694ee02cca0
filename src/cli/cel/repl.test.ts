import { Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCel as run, withCelFiles } from '../../../test/support/cel-command.ts';
import { repl } from './run.ts';

withCelFiles();

describe('repl', () => {
  const rows: { reason: string; lines: string[]; out: string[] }[] = [
    { reason: 'one value per line', lines: ['1 + 1', '', '"a"'], out: ['2', '"a"'] },
    {
      reason: 'names keep values and types',
      lines: ['a = [1, 2]', 'b=a.map(x, x * 2)', 'b', ':type b'],
      out: ['[1,2]', '[2,4]', '[2,4]', 'list(int)'],
    },
    { reason: 'two equal signs compare', lines: ['a = 1', 'a == 1'], out: ['1', 'true'] },
    { reason: 'explains', lines: ['a = 3', ':explain a > 2'], out: ['3', 'a > 2', '| |', '3 true'] },
    {
      reason: 'an error does not end it',
      lines: ['1 +', '1 / 0', 'b = nowhere', ':type nowhere', ':explain a b', '5'],
      out: [
        expect.stringContaining('ERROR: <input>:1:4'),
        ' | 1 +',
        ' | ...^',
        expect.stringContaining('ERROR: <input>:1:3'),
        ' | 1 / 0',
        ' | ..^',
        expect.stringContaining('ERROR: <input>:1:1'),
        ' | nowhere',
        ' | ^',
        expect.stringContaining('ERROR: <input>:1:1'),
        ' | nowhere',
        ' | ^',
        expect.stringContaining('ERROR: <input>:1:3'),
        ' | a b',
        ' | ..^',
        '5',
      ],
    },
    { reason: 'an unknown command refers to :help', lines: [':nonsense'], out: [expect.stringContaining(':help')] },
    {
      reason: 'lists the names',
      lines: ['a = 1', ':variables'],
      out: [
        '1',
        'object',
        'authorizer',
        'authorizer.requestResource',
        'oldObject',
        'params',
        'namespaceObject',
        'request',
        'a',
      ],
    },
    { reason: 'ends on :quit', lines: ['1', ':quit', '2'], out: ['1'] },
  ];
  test.each(rows)('$reason', async ({ lines, out }) => {
    const result = await run(repl, undefined, {}, [`${lines.join('\n')}\n`]);
    expect(result.code).toBe(0);
    expect(result.out.split('\n').slice(0, -1)).toEqual(out);
  });

  test('starts with the given expression, and prints help', async () => {
    const { out } = await run(repl, 'object.spec.replicas', { filename: 'widget.yaml' }, [':help\n']);
    expect(out).toMatch(/^3\n.*\n.*name = /);
  });

  test('standard input cannot be used twice', async () => {
    await expect(run(repl, undefined, { filename: '-' })).rejects.toMatchObject({ code: 'input/standard-input' });
  });

  test('a closed pipe ends it', async () => {
    let writes = 0;
    const out = new Writable({
      write(_chunk, _encoding, done) {
        writes++;
        done(Object.assign(new Error('gone'), { code: 'EPIPE' }));
      },
    });
    const streams = { in: Readable.from(['1\n2\n3\n']), out, err: process.stderr };
    expect(await repl(undefined, { environment: 'kubernetes-1.36', output: 'text' }, streams)).toBe(0);
    expect(writes).toBe(1);
  });
});
