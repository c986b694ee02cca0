import { describe, expect, test } from 'vitest';
import { runCel as run, withCelFiles } from '../../../test/support/cel-command.ts';
import { exitCodeOf } from '../common/failure.ts';
import { checkOne, evaluateOne, explainOne, formatOne } from './run.ts';
import type { CelOptions } from './session.ts';

withCelFiles();

describe('eval', () => {
  const failures: {
    reason: string;
    expression: string;
    options?: Partial<CelOptions>;
    code: number;
    problem: object;
  }[] = [
    {
      reason: 'a failed evaluation reports its position',
      expression: '[1][0] + {"a": 1}["b"]',
      code: 1,
      problem: { code: 'no_such_key', line: 1, column: 18 },
    },
    {
      reason: 'lines count',
      expression: 'true &&\n  1 / 0 == 1',
      code: 1,
      problem: { code: 'divide_by_zero', line: 2, column: 5 },
    },
    {
      reason: 'a missing object',
      expression: 'object.x',
      code: 1,
      problem: { code: 'host', line: 1, column: 1 },
    },
    {
      reason: 'an undeclared name',
      expression: 'nowhere',
      code: 1,
      problem: { code: 'undeclared_reference', line: 1, column: 1 },
    },
    {
      reason: 'a field that the schema does not have',
      expression: 'object.spec.replicsa',
      options: { schema: 'crd.yaml' },
      code: 1,
      problem: { code: 'no_such_field', message: expect.stringContaining("'replicas'") },
    },
    {
      reason: 'a syntax error is bad input',
      expression: '1 +',
      code: 2,
      problem: { code: 'syntax', line: 1, column: 4 },
    },
  ];
  test.each(failures)('$reason: $expression', async ({ expression, options, code, problem }) => {
    const asJson = await run(evaluateOne, expression, { ...options, output: 'json' });
    expect({ ...asJson, out: JSON.parse(asJson.out) }).toMatchObject({ code, out: { error: problem }, err: '' });
    const asText = await run(evaluateOne, expression, options);
    expect(asText).toMatchObject({
      code,
      out: '',
      err: expect.stringMatching(/^ERROR: <input>:\d+:\d+: .*\n \| .*\n \| \.*\^/),
    });
  });

  const refusals: { reason: string; expression?: string; options: Partial<CelOptions>; code: string }[] = [
    { reason: 'no expression', options: {}, code: 'input/expression' },
    { reason: 'no such file', expression: '1', options: { filename: 'nowhere.yaml' }, code: 'input/no-such-file' },
    { reason: 'no such schema', expression: '1', options: { schema: 'nowhere.yaml' }, code: 'input/no-such-file' },
    { reason: 'two documents', expression: '1', options: { filename: 'two.yaml' }, code: 'input/several' },
    { reason: 'no document', expression: '1', options: { filename: 'empty.yaml' }, code: 'input/nothing' },
    { reason: 'no YAML', expression: '1', options: { filename: 'broken.yaml' }, code: 'input/yaml' },
    { reason: 'an unresolved alias', expression: '1', options: { filename: 'alias.yaml' }, code: 'input/yaml' },
    {
      reason: 'a schema that is not a definition',
      expression: '1',
      options: { schema: 'widget.yaml' },
      code: 'input/schema',
    },
    {
      reason: 'a definition without versions',
      expression: '1',
      options: { schema: 'no-versions.yaml' },
      code: 'input/schema',
    },
    {
      reason: 'a version that does not exist',
      expression: '1',
      options: { schema: 'crd.yaml', schemaVersion: 'v9' },
      code: 'input/schema',
    },
    {
      reason: 'an object that does not match its schema',
      expression: '1',
      options: { filename: 'wrong.yaml', schema: 'crd.yaml' },
      code: 'input/schema',
    },
    { reason: 'a variable that is not JSON', expression: '1', options: { var: { a: 'text' } }, code: 'input/variable' },
  ];
  test.each(refusals)('rejects $reason', async ({ expression, options, code }) => {
    const error = await run(evaluateOne, expression, options).catch((thrown) => thrown);
    expect(error).toMatchObject({ code });
    expect(exitCodeOf(error)).toBe(2);
  });
});

describe('check', () => {
  test('lists all errors, with suggestions', async () => {
    const expression = 'object.spec.replicsa > 1 && nowhere && object.metadata.labls == {}';
    const { code, err } = await run(checkOne, expression, { schema: 'crd.yaml' });
    expect(code).toBe(1);
    expect(err.match(/^ERROR/gm)).toHaveLength(3);
    expect(err).toMatch(/'replicas'[\s\S]*\n \| \.{11}\^\n[\s\S]*'labels'/);
    const { out } = await run(checkOne, expression, { schema: 'crd.yaml', output: 'json' });
    expect(JSON.parse(out).errors.map(({ code }: { code: string }) => code)).toEqual([
      'no_such_field',
      'undeclared_reference',
      'no_such_field',
    ]);
  });

  const clean: { reason: string; expression: string; options?: Partial<CelOptions>; answer: object }[] = [
    {
      reason: 'a schema bounds the cost',
      expression: 'object.spec.names.all(n, n.startsWith("a"))',
      options: { schema: 'crd.yaml' },
      answer: { type: 'bool', cost: { min: expect.any(Number), max: expect.any(Number) } },
    },
    {
      reason: 'without a schema the cost is unbounded',
      expression: 'object.spec.names.all(n, n.startsWith("a"))',
      answer: { type: 'bool', cost: { max: null } },
    },
    { reason: 'types have parameters', expression: '{"a": [1]}', answer: { type: 'map(string, list(int))' } },
    {
      reason: 'another version has other fields',
      expression: 'object.spec.size',
      options: { schema: 'crd.yaml', schemaVersion: 'v1alpha1' },
      answer: { type: 'int' },
    },
  ];
  test.each(clean)('$reason', async ({ expression, options, answer }) => {
    const { code, out } = await run(checkOne, expression, { ...options, output: 'json' });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject(answer);
    expect((await run(checkOne, expression, options)).out).toMatch(/^type: .+\ncost: \d+ to .+\n$/);
  });

  test('a syntax error is bad input', async () => {
    expect((await run(checkOne, 'a b')).code).toBe(2);
    expect((await run(checkOne, 'a b', { output: 'json' })).code).toBe(2);
  });
});

describe('explain', () => {
  test('draws the values below the source', async () => {
    const { code, out } = await run(explainOne, 'limit.a <= 2', { var: { limit: '{"a":3}' } });
    expect({ code, out }).toEqual({
      code: 0,
      out: ['limit.a <= 2', '|     | |', '|     3 false', '{"a": 3}', ''].join('\n'),
    });
  });

  test('prints data with -o json', async () => {
    const { out } = await run(explainOne, 'limit.a <= 2', { var: { limit: '{"a":3}' }, output: 'json' });
    const { value, steps } = JSON.parse(out);
    expect(value).toBe(false);
    expect(steps).toContainEqual(
      expect.objectContaining({ text: 'limit.a', value: 3, line: 1, column: 7, start: 0, end: 7 }),
    );
  });

  test('an error is drawn and fails', async () => {
    const { code, out, err } = await run(explainOne, 'limit.b', { var: { limit: '{}' } });
    expect({ code, out, err }).toMatchObject({
      code: 1,
      out: expect.stringContaining('no such key'),
      err: expect.stringContaining('1:6'),
    });
    const asJson = await run(explainOne, 'limit.b', { var: { limit: '{}' }, output: 'json' });
    expect(JSON.parse(asJson.out)).toMatchObject({ error: { code: 'no_such_key' }, steps: expect.any(Array) });
  });

  test('a syntax error is bad input', async () => {
    expect((await run(explainOne, '(')).code).toBe(2);
  });
});

describe('format', () => {
  const rows = [
    {
      reason: 'spaces and parentheses',
      expression: 'a&&( (b)||c )?[1,2]:x.map(y,y)',
      code: 0,
      out: 'a && (b || c) ? [1, 2] : x.map(y, y)\n',
    },
    { reason: 'standard input', expression: '-', input: 'a  +\n b', code: 0, out: 'a + b\n' },
    { reason: 'as JSON', expression: 'a+b', output: 'json' as const, code: 0, out: '{"formatted":"a + b"}\n' },
    { reason: 'a syntax error', expression: 'a +', code: 2, out: '' },
  ];
  test.each(rows)('$reason', async ({ expression, input, output, code, out }) => {
    expect(await run(formatOne, expression, output && { output }, [input ?? ''])).toMatchObject({ code, out });
  });
});
