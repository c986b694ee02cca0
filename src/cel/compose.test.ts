import { describe, expect, test } from 'vitest';
import { type Compiled, compile } from './compile.ts';
import { compose, composedType, withComposed } from './compose.ts';
import { environment } from './environments.ts';
import { explain } from './explain.ts';
import { trust } from './host.ts';
import type { Budget, Evaluate } from './run/evaluate.ts';
import { DYN, type Type, typeName } from './types.ts';
import { CelError, NonValue, type Result } from './values.ts';

const base = environment('kubernetes-1.36', { variables: { object: DYN } });
const object = { spec: { list: [1, 2, 3], name: 'x' } };

describe.each(['code', 'closures'] as const)('composed variables (%s)', (backend) => {
  /** Compiles as a policy does: each variable sees those before it. */
  function policy(variables: Readonly<Record<string, string>>, expression: string) {
    const fields: Record<string, Type> = {};
    const definitions = new Map<string, Evaluate>();
    const counts: Record<string, number> = {};
    for (const [name, text] of Object.entries(variables)) {
      const compiled = compile(text, withComposed(base, fields), { backend }) as Compiled;
      fields[name] = composedType(compiled.type);
      definitions.set(name, (...given) => {
        counts[name] = (counts[name] ?? 0) + 1;
        return compiled.evaluate(...given);
      });
    }
    const compiled = compile(expression, withComposed(base, fields), { backend });
    return { compiled: compiled as Compiled, definitions, counts };
  }

  function answer(variables: Readonly<Record<string, string>>, expression: string, budget: Budget = { spent: 0 }) {
    const { compiled, definitions, counts } = policy(variables, expression);
    return { value: compiled.evaluate(compose(definitions, trust({ object }), budget), budget), counts, budget };
  }

  test.each<{ reason: string; variables: Record<string, string>; expression: string; value: unknown }>([
    { reason: 'a value', variables: { n: 'size(object.spec.list)' }, expression: 'variables.n == 3', value: true },
    {
      reason: 'one that reads another',
      variables: { l: 'object.spec.list', n: 'variables.l.size()' },
      expression: 'variables.n + variables.l[0]',
      value: 4,
    },
    { reason: 'has() of one that has a value', variables: { a: '1' }, expression: 'has(variables.a)', value: true },
    {
      reason: 'has() of one that fails is its failure',
      variables: { a: 'object.none' },
      expression: 'has(variables.a)',
      value: 'no_such_key',
    },
    {
      reason: 'a failure is absorbed as any other',
      variables: { a: 'object.none' },
      expression: 'variables.a == 1 || true',
      value: true,
    },
  ])('$reason', ({ variables, expression, value }) => {
    const { value: result } = answer(variables, expression);
    expect(result instanceof CelError ? result.code : result).toBe(value);
  });

  test('a variable that is not read is not computed, and any other is computed once', () => {
    const { counts } = answer({ a: '1', b: '2' }, 'variables.a + variables.a == 2');
    expect(counts).toEqual({ a: 1 });
  });

  test('an unknown field is a compile error', () => {
    const compiled = compile('variables.imagse', withComposed(base, { images: DYN }));
    expect(compiled.issues[0]?.message).toContain("did you mean 'images'");
  });

  test('each expression is charged its own cost, and reading a variable is charged as a selection', () => {
    // object.spec.list: 3, size: 1; variables.n: 2, ==: 1.
    const first = answer({ n: 'size(object.spec.list)' }, 'variables.n == 3');
    expect(first.budget.spent).toBe(7);
    // What is known already costs only the selection.
    const { compiled, definitions } = policy({ n: 'size(object.spec.list)' }, 'variables.n == 3');
    const budget = { spent: 0 };
    const inputs = compose(definitions, { object }, budget);
    compiled.evaluate(inputs, budget);
    compiled.evaluate(inputs, budget);
    expect(budget.spent).toBe(10);
  });

  test('a variable that exceeds the budget ends the evaluation, absorbed or not', () => {
    const { value } = answer({ n: 'object.spec.list.map(x, x).size()' }, 'variables.n == 3 || true', {
      spent: 0,
      limit: 20,
    });
    expect(value).toMatchObject({ code: 'cost_exceeded' });
  });

  test('an error has the position of the read, and its cause the position in the variable', () => {
    const { compiled, definitions } = policy({ bad: '1 + object.none' }, 'true && variables.bad == 1');
    const inputs = compose(definitions, trust({ object }));
    const error = compiled.evaluate(inputs) as CelError;
    expect(error).toMatchObject({ code: 'no_such_key', offset: 17, cause: { offset: 10 } });
    expect(error.message).toBe('composited variable "bad" fails to evaluate: no such key: none');
    // Another expression that reads it has a place of its own.
    const again = compile('variables.bad', withComposed(base, { bad: DYN }), { backend }) as Compiled;
    expect(again.evaluate(inputs)).toMatchObject({ offset: 9 });
  });

  test('a variable that reads itself, which only a host can define, is an error', () => {
    const compiled = compile('variables.a', withComposed(base, { a: DYN }), { backend }) as Compiled;
    const result = compiled.evaluate(compose(new Map([['a', compiled.evaluate]]), { object }));
    expect(result).toMatchObject({ code: 'host' });
  });

  test('the host may compute a variable when it is first read', () => {
    let computed = 0;
    const lazy = (): Result => {
      computed++;
      return object;
    };
    const inputs = trust({}, { object: lazy });
    const reading = compile("object.spec.name == 'x' && object.spec.list.size() == 3", base, { backend }) as Compiled;
    const not = compile('1 == 1', base, { backend }) as Compiled;
    not.evaluate(inputs);
    expect(computed).toBe(0);
    const values = [reading.evaluate(inputs), reading.evaluate(compose(new Map(), inputs))];
    expect(values).toEqual([true, true]);
    expect(computed).toBe(1);
  });

  test('an error in place of a variable has the position where the variable is read', () => {
    const unavailable = new CelError('host', 'params are not there');
    const evaluate = (text: string): Result =>
      (compile(text, base, { backend }) as Compiled).evaluate({ object: unavailable });
    expect(evaluate('1 == 1 && object == 2')).toMatchObject({ message: 'params are not there', offset: 10 });
    expect(evaluate('1 + object.a.b')).toMatchObject({ offset: 4 });
    expect(evaluate('object.?a.orValue(1)')).toMatchObject({ offset: 0 });
    expect(unavailable.offset).toBe(-1);
  });

  test('an explanation shows the value of a variable', () => {
    const { compiled, definitions } = policy({ n: 'size(object.spec.list)' }, 'variables.n == 4');
    const inputs = compose(definitions, trust({ object }));
    const { steps, result } = explain(compiled, inputs);
    expect(result).toBe(false);
    expect(steps.find((each) => each.text === 'variables.n')).toMatchObject({ value: 3 });
    expect([...inputs.variables.known()]).toEqual([['n', 3]]);
    expect([...inputs.variables.known().values()].some((each) => each instanceof NonValue)).toBe(false);
  });
});

test.each([
  { text: 'object', type: 'dyn' },
  { text: "{'a': [quantity('1')]}", type: 'map(string, list(dyn))' },
  { text: 'optional.of(1)', type: 'dyn' },
  { text: "duration('1s')", type: 'duration' },
])('others know $text as $type', ({ text, type }) => {
  expect(typeName(composedType((compile(text, base) as Compiled).type))).toBe(type);
});
