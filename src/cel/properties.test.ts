/** What holds for every expression: formatting parses back, both back ends agree, explain's root is the result. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Expr } from './ast.ts';
import { compile } from './compile.ts';
import { environment } from './environments.ts';
import { explain } from './explain.ts';
import { format } from './format.ts';
import { parse } from './parse/parser.ts';
import { DYN } from './types.ts';
import { NonValue, type Result, type Value } from './values.ts';

const env = environment('extended', { variables: { object: DYN, x: DYN, y: DYN } });
const read = (source: string) => parse(source, { macros: env.macros, escapedFields: true });

const literal = fc.oneof(
  fc.constantFrom(
    '1',
    '-1',
    '0',
    '2u',
    '1.5',
    '-0.0',
    '1e100',
    '9223372036854775807',
    'true',
    'false',
    'null',
    "b'\\xff'",
  ),
  fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text).replaceAll(/\\u00[01].|[\u007f\ud800-\udfff]/g, '?')),
);
const name = fc.constantFrom('object', 'x', 'y', 'object.spec', 'object.spec.list', 'object.name', 'object.missing');
const binary = fc.constantFrom('+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in');

const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const part = tie('expression');
  const pair = fc.tuple(part, part);
  return {
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      literal,
      name,
      fc.tuple(part, binary, part).map(([a, op, b]) => `(${a}) ${op} (${b})`),
      fc.tuple(name, binary, literal).map(([a, op, b]) => `${a} ${op} ${b}`),
      fc
        .tuple(part, part, part)
        .map(([a, b, c]) => `${a} ? ${b} : ${c}`)
        .map((text) => `(${text})`),
      part.map((a) => `!(${a})`),
      part.map((a) => `-(${a})`),
      pair.map(([a, b]) => `[${a}, ${b}]`),
      pair.map(([a, b]) => `{"k": ${a}, "l": ${b}}`),
      pair.map(([a, b]) => `(${a})[${b}]`),
      part.map((a) => `(${a}).spec`),
      name.map((a) => `has(${a}.list)`),
      name.map((a) => `${a}.?list`),
      pair.map(([a, b]) => `(${a}).?k.orValue(${b})`),
      pair.map(([a, b]) => `(${a}).all(i, ${b})`),
      pair.map(([a, b]) => `(${a}).exists(i, i == ${b})`),
      pair.map(([a, b]) => `(${a}).map(i, ${b})`),
      pair.map(([a, b]) => `(${a}).filter(i, ${b})`),
      pair.map(([a, b]) => `(${a}).transformMap(i, v, ${b})`),
      pair.map(([a, b]) => `cel.bind(z, ${a}, [z, ${b}, z])`),
      pair.map(([a, b]) => `(${a}).optMap(o, ${b})`),
      part.map((a) => `size(${a})`),
      part.map((a) => `string(${a})`),
      pair.map(([a, b]) => `(${a}).startsWith(${b})`),
    ),
  };
});

const values = fc.constantFrom<Value>(
  { spec: { list: [1, 2, 3], k: 'v' }, name: 'web' },
  { spec: { list: ['a', 'b'] }, name: 'x' },
  { name: 5, spec: { list: {} } },
  [1, 'a', null],
  'text',
  3,
);

/** The tree without places: what formatting must not change. */
function bare(node: Expr): unknown {
  return JSON.parse(
    JSON.stringify(node, (key, value) => {
      if (['id', 'offset', 'start', 'end'].includes(key)) return undefined;
      if (typeof value === 'bigint') return `${value}n`;
      return Object.is(value, -0) ? '-0' : value;
    }),
  );
}

// Long, because the machine that runs this may be busy with everything else.
const patience = 120_000;

test('parse(format(ast)) = ast', { timeout: patience }, () => {
  fc.assert(
    fc.property(expression, (source) => {
      const { ast, issues } = read(source);
      expect(issues).toEqual([]);
      const again = read(format(ast as Expr));
      expect(again.issues).toEqual([]);
      expect(bare(again.ast as Expr)).toEqual(bare(ast as Expr));
    }),
    { numRuns: 1000, seed: 36 },
  );
});

const seen = (result: Result | undefined): unknown => (result instanceof NonValue ? { ...result } : result);

test('generated code = closures = explain, in value, error, place and cost', { timeout: patience }, () => {
  let ran = 0;
  fc.assert(
    fc.property(expression, values, values, (source, object, x) => {
      const variables = { object, x, y: 1 };
      const [code, closures] = (['code', 'closures'] as const).map((backend) => {
        const compiled = compile(source, env, { backend, unchecked: true });
        const budget = { spent: 0 };
        return compiled.evaluate && { value: seen(compiled.evaluate(variables, budget)), cost: budget.spent, compiled };
      });
      expect(code === undefined).toBe(closures === undefined);
      if (code === undefined || closures === undefined) return;
      ran++;
      expect([code.value, code.cost]).toEqual([closures.value, closures.cost]);
      const explained = explain(code.compiled, variables);
      expect([seen(explained.result), explained.cost]).toEqual([closures.value, closures.cost]);
      expect(explained.picture.length).toBeLessThanOrEqual(20_000);
    }),
    { numRuns: 1500, seed: 36 },
  );
  expect(ran).toBeGreaterThan(1000);
});

test('an expression damaged at random is refused with a place, or runs', { timeout: patience }, () => {
  fc.assert(
    fc.property(
      expression,
      fc.nat(),
      fc.constantFrom('', '(', ']', "'", '"""', '\ud800', '\0', '..', '?', '{', '9'.repeat(30)),
      (source, at, what) => {
        const cut = at % (source.length + 1);
        const compiled = compile(source.slice(0, cut) + what + source.slice(cut + 1), env);
        if (compiled.evaluate === undefined) {
          for (const issue of compiled.issues) expect(issue.line).toBeGreaterThanOrEqual(1);
          expect(compiled.message).toContain('^');
        } else compiled.evaluate({ object: {}, x: 1, y: 'a' });
      },
    ),
    { numRuns: 1500, seed: 36 },
  );
});
