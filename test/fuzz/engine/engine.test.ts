/** The fuzzer itself: counters change nothing but what they count, and they lead to a bug that chance alone does not find. */
import { describe, expect, test } from 'vitest';
import { Explorer, ensure } from './explore.ts';
import { instrument } from './instrument.ts';
import { randomFrom } from './mutate.ts';

function evaluated(code: string): { value: unknown; counters: Uint32Array } {
  const { code: made, branches } = instrument(code, 'counters');
  const counters = new Uint32Array(branches);
  return { value: new Function('counters', `${made};\nreturn result;`)(counters), counters };
}

describe('instrumented code does what it did', () => {
  test.each([
    {
      reason: 'a branch without a block',
      code: 'let result = 0; if (true) result = 1; else result = 2;',
      value: 1,
      reached: 1,
    },
    {
      reason: 'a chain of branches',
      code: 'let result; if (0) result = 1; else if (1) result = 2; else result = 3;',
      value: 2,
      reached: 2,
    },
    {
      reason: 'arrows that return an object',
      code: 'const f = (a = 2) => ({ a }); const result = f().a;',
      value: 2,
      reached: 2,
    },
    {
      reason: 'arrows that return a conditional',
      code: 'const f = (a) => a ? (a, 1) : 2; const result = f(0);',
      value: 2,
      reached: 2,
    },
    { reason: 'logical operators', code: 'const result = null ?? (0 || "a");', value: 'a', reached: 2 },
    {
      reason: 'loops without a block',
      code: 'let result = 0; for (const each of [1, 2]) result += each;',
      value: 3,
      reached: 1,
    },
    {
      reason: 'statements without a space between',
      code: 'let result=0;if(1)result++;if(1)result++;',
      value: 2,
      reached: 2,
    },
    {
      reason: 'cases, with a fall through',
      code: 'let result = 0; switch (1) { case 0: case 1: { result = 5; break; } default: result = 6; }',
      value: 5,
      reached: 1,
    },
    { reason: 'errors', code: 'let result; try { throw 1; } catch (error) { result = error; }', value: 1, reached: 1 },
    {
      reason: 'classes',
      code: 'class A { #a = 1; get a() { return this.#a; } } const result = new A().a;',
      value: 1,
      reached: 1,
    },
    {
      reason: 'characters of two code units',
      code: 'const a = "\u{1f600}"; const result = a === "" ? 0 : 1;',
      value: 1,
      reached: 1,
    },
  ])('$reason', ({ code, value, reached }) => {
    const { value: found, counters } = evaluated(code);
    expect(found).toBe(value);
    expect(counters.filter((each) => each > 0)).toHaveLength(reached);
  });

  test('on the same lines', () => {
    const { code } = instrument('const a = (b) =>\n  b\n    ? 1\n    : 2;\n', 'counters');
    expect(code.split('\n')).toHaveLength(5);
  });
});

/** A parser whose bug is behind four branches that must be taken one after the other. */
const buggy = `
  const result = (text) => {
    for (const [at, letter] of [...'FUZZ'].entries()) {
      if (text[at] !== letter) return at;
      switch (at) { case 0: break; case 1: break; case 2: break; default: throw new Error('the bug'); }
    }
  };`;

async function findings(isGuided: boolean): Promise<string[]> {
  const { value, counters } = evaluated(buggy);
  const parse = value as (text: string) => unknown;
  const explorer = new Explorer({
    run: (input) => void parse(input.toString('latin1')),
    counters: isGuided ? [counters] : [],
    words: [],
    isJson: false,
    mostBytes: 32,
    random: randomFrom(1),
    mostMilliseconds: 60_000,
  });
  await explorer.seed(Buffer.from('____'));
  while (explorer.executions < 300_000 && explorer.findings.size === 0) await explorer.step();
  return [...explorer.findings.values()].map(({ input }) => input.toString('latin1'));
}

test('coverage leads to a bug, which is cut to what it needs', async () => {
  expect(await findings(true)).toEqual(['FUZZ']);
});

test('without coverage it is not found', async () => {
  expect(await findings(false)).toEqual([]);
});

test('of several inputs that reach the same code, the shortest is kept', async () => {
  const counters = new Uint32Array(1);
  const explorer = new Explorer({
    run(input) {
      ensure(!input.includes('bad'), 'the word bad is refused');
      if (input.includes('a')) counters[0] = 1;
    },
    counters: [counters],
    words: [],
    isJson: false,
    mostBytes: 32,
    random: randomFrom(1),
    mostMilliseconds: 60_000,
  });
  for (const each of ['xxa', 'a', 'za', 'very bad']) await explorer.seed(Buffer.from(each));
  expect(explorer.corpus()).toEqual([Buffer.from('a')]);
  expect([...explorer.findings.values()].map(({ cause, input }) => [cause, input.toString()])).toEqual([
    ['the word bad is refused', 'bad'],
  ]);
});
