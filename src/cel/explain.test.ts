import { describe, expect, test } from 'vitest';
import { type Compiled, compile } from './compile.ts';
import { environment } from './environments.ts';
import { explain } from './explain.ts';
import { DYN } from './types.ts';
import type { Value } from './values.ts';

const env = environment('kubernetes-1.36', { variables: { object: DYN } });
const object: Value = { spec: { replicas: 3, list: [1, 5, 2] }, data: { password: 'secret' } };
const compiled = (source: string) => compile(source, env) as Compiled;

describe('explain', () => {
  test('draws the value of each sub-expression below it', () => {
    expect(explain(compiled('object.spec.replicas <= 2'), { object }, { maxValue: 20 }).picture).toBe(
      [
        'object.spec.replicas <= 2',
        '|      |    |        |',
        '|      |    3        false',
        '|      {"replicas": 3, "li…',
        '{"spec": {"replicas…',
      ].join('\n'),
    );
  });

  test('a sub-expression in a loop has its last value and a count', () => {
    const { steps, result } = explain(compiled('object.spec.list.all(x, x < 4)'), { object });
    expect(result).toBe(false);
    expect(steps.find((each) => each.text === 'x < 4')).toMatchObject({ value: false, count: 2 });
    expect(steps.find((each) => each.text.endsWith('.all(x, x < 4)'))).toMatchObject({ value: false, count: 1 });
    expect(steps.every((each) => !each.text.includes('@'))).toBe(true);
  });

  test('a selection outside of loops is computed once', () => {
    const { steps } = explain(compiled('object.spec.replicas == 3'), { object });
    expect(steps.map(({ text, count }) => [text, count])).toEqual([
      ['object.spec.replicas == 3', 1],
      ['object.spec.replicas', 1],
      ['object.spec', 1],
      ['object', 1],
    ]);
  });

  test('a budget also limits an explanation', () => {
    const budget = { spent: 0, limit: 2 };
    expect(explain(compiled('object.spec.replicas == 3'), { object }, { budget }).result).toMatchObject({
      code: 'cost_exceeded',
    });
    expect(budget.spent).toBe(4);
  });

  test('sub-expressions that were not evaluated are not shown', () => {
    const { steps } = explain(compiled('true || object.spec.replicas == 3'), { object });
    expect(steps.map((each) => each.text)).toEqual(['true || object.spec.replicas == 3']);
  });

  test('an error is a value with a position', () => {
    const { result, steps } = explain(compiled('object.spec.missing == 1'), { object });
    expect(result).toMatchObject({ code: 'no_such_key', offset: 11 });
    expect(steps.find((each) => each.text === 'object.spec.missing')?.shown).toContain('no such key');
  });

  test('redacted values are neither shown nor returned', () => {
    const { steps, picture } = explain(
      compiled("object.data.password == 'x'"),
      { object },
      {
        redact: ({ path, value }) =>
          path === 'object' || path?.startsWith('object.data') ? '<redacted>' : value === true ? '' : undefined,
      },
    );
    expect(picture).not.toContain('secret');
    expect(JSON.stringify(steps)).not.toContain('secret');
    expect(steps.find((each) => each.text === "object.data.password == 'x'")).toMatchObject({ value: false });
  });

  test('has a limited size for any data and expression', () => {
    const huge: Value = { spec: { list: Array.from({ length: 100_000 }, () => 'x'.repeat(1000)) } };
    const source = Array.from({ length: 300 }, () => "object.spec.list[0] != 'y'").join(' && ');
    const { picture, steps, truncated } = explain(compiled(source), { object: huge });
    expect(picture.length).toBeLessThanOrEqual(20_000);
    expect(steps.length).toBe(200);
    expect(truncated).toBe(true);
    for (const each of steps) expect(each.shown.length).toBeLessThanOrEqual(80);
  });
});
