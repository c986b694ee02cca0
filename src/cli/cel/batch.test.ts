import { Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCel as run, withCelFiles } from '../../../test/support/cel-command.ts';
import { evaluateBatch } from './run.ts';
import type { CelOptions } from './session.ts';

withCelFiles();

describe('eval --batch', () => {
  const answers = async (input: readonly (string | Buffer)[], options: Partial<CelOptions> = {}) => {
    const { code, out } = await run(evaluateBatch, undefined, options, input);
    expect(code).toBe(0);
    return out.split('\n').slice(0, -1);
  };

  test('answers each line in order and continues after invalid ones', async () => {
    const lines = [
      '{"expr":"object.a + x","object":{"a":9007199254740993},"x":1}',
      '{bad',
      '{"expr":"1 +"}',
      '{"expr":"true &&\\n a.b","a":{}}',
      '{"x":1}',
      '[1]',
      '',
      '{"expr":"a","a":1.0}',
    ];
    expect((await answers([lines.join('\n')])).map((line) => JSON.parse(line))).toMatchObject([
      { value: expect.any(Number) },
      { error: { code: 'input/json', line: 2, column: 2 } },
      { error: { code: 'syntax', line: 1, column: 4 } },
      { error: { code: 'no_such_key', line: 2, column: 3 } },
      { error: { code: 'input/expression', line: 5 } },
      { error: { code: 'input/json', line: 6 } },
      { error: { code: 'input/json', line: 7 } },
      { value: 1 },
    ]);
    expect(await answers([lines[0] as string])).toEqual(['{"value":9007199254740994}']);
  });

  const cuts: { reason: string; input: readonly (string | Buffer)[]; out: string[] }[] = [
    { reason: 'no line, no answer', input: [''], out: [] },
    {
      reason: 'a line in pieces',
      input: ['{"ex', 'pr":"1', '"}\n{"expr"', ':"2"}\n'],
      out: ['{"value":1}', '{"value":2}'],
    },
    {
      reason: 'a character in pieces',
      input: [...Buffer.from('{"expr":"\'é€😀\'"}\n')].map((byte) => Buffer.from([byte])),
      out: ['{"value":"é€😀"}'],
    },
    { reason: 'separators inside a text', input: ['{"expr":"x","x":"a\u2028b"}\r\n'], out: ['{"value":"a\\u2028b"}'] },
    {
      reason: 'the same expression with other variables',
      input: ['{"expr":"x","x":1}\n{"expr":"x","x":"a"}\n{"expr":"type(x)","x":1}\n'],
      out: ['{"value":1}', '{"value":"a"}', '{"value":"int"}'],
    },
    {
      reason: 'names of prototype properties',
      input: ['{"expr":"__proto__.a","__proto__":{"a":1}}\n'],
      out: ['{"value":1}'],
    },
  ];
  test.each(cuts)('$reason', async ({ input, out }) => {
    expect(await answers(input)).toEqual(out);
  });

  test('a compiled expression is not reused for other variables', async () => {
    const [known, unknown] = await answers(['{"expr":"x","x":1}\n{"expr":"x","y":1}\n']);
    expect([known, JSON.parse(unknown ?? '')]).toMatchObject([
      '{"value":1}',
      { error: { code: 'undeclared_reference' } },
    ]);
  });

  test('more expressions than the cache holds', async () => {
    const lines = Array.from({ length: 1100 }, (_, index) => `{"expr":"${index} + 0"}\n`);
    expect(await answers([...lines, lines[0] as string])).toEqual([
      ...lines.map((_, index) => `{"value":${index}}`),
      '{"value":0}',
    ]);
  });

  test('the schema applies to each object', async () => {
    const lines = ['{"spec":{"replicas":1}}', '{"spec":{"replicas":"a"}}'].map(
      (object) => `{"expr":"object.spec.replicas","object":${object}}\n`,
    );
    const [good, bad] = await answers(lines, { schema: 'crd.yaml' });
    expect([good, JSON.parse(bad ?? '')]).toMatchObject(['{"value":1}', { error: { code: 'invalid_argument' } }]);
  });

  test('variables of a line override those of the command line', async () => {
    const lines = ['{"expr":"limit"}\n', '{"expr":"limit","limit":2}\n'];
    expect(await answers(lines, { var: { limit: '1' } })).toEqual(['{"value":1}', '{"value":2}']);
  });

  test('reads no further until the output is consumed', async () => {
    let read = 0;
    const release: (() => void)[] = [];
    const input = Readable.from(
      (function* () {
        for (; read < 500; read++) yield '{"expr":"1"}\n';
      })(),
      { highWaterMark: 2 },
    );
    const out = new Writable({ write: (_chunk, _encoding, done) => void release.push(done) });
    const done = evaluateBatch(
      undefined,
      { environment: 'kubernetes-1.36', output: 'text' },
      { in: input, out, err: out },
    );
    while (release.length === 0) await new Promise(setImmediate);
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    expect(read).toBeLessThan(20);
    let ended = false;
    void done.then(() => (ended = true));
    while (!ended) {
      release.shift()?.();
      await new Promise(setImmediate);
    }
    expect(read).toBe(500);
  });

  test('a closed pipe ends the batch; any other write error is thrown', async () => {
    const batchInto = (code: string) => {
      const out = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
      const streams = { in: Readable.from(['{"expr":"1"}\n']), out, err: process.stderr };
      return evaluateBatch(undefined, { environment: 'kubernetes-1.36', output: 'text' }, streams);
    };
    expect(await batchInto('EPIPE')).toBe(0);
    await expect(batchInto('ENOSPC')).rejects.toMatchObject({ code: 'ENOSPC' });
  });

  test('standard input cannot be used twice', async () => {
    await expect(run(evaluateBatch, undefined, { filename: '-' })).rejects.toMatchObject({
      code: 'input/standard-input',
    });
    await expect(run(evaluateBatch, '1')).rejects.toMatchObject({ code: 'input/expression' });
  });
});
