/**
 * Random CRD schemas: type errors, cost estimates, results and costs of expressions over typed objects are the same as
 * for the validation rules of Kubernetes.
 */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import {
  CelError,
  type Compiled,
  compile,
  estimate,
  type Schema,
  types,
  typesFromSchema,
  type Value,
} from '../../src/cel/index.ts';
import { valueBySchema } from '../../src/cel/internal.ts';
import { type OracleAnswer, startOracle } from '../support/cel-oracle.ts';
import { admissionEnvironment } from './support/admission.ts';
import { Choices } from './support/choices.ts';
import { parseJson } from './support/json.ts';
import { type SchemaCase, schemaCase } from './support/schemas.ts';
import { canonical, toWire } from './support/wire.ts';

const oracle = await startOracle();
afterAll(() => oracle.stop());

const arbitrary = fc
  .array(fc.nat(2 ** 30), { minLength: 60, maxLength: 300, size: 'max' })
  .map((tape) => schemaCase(new Choices(tape)));
const cases = fc.sample(arbitrary, { seed: 436, numRuns: 600 });

const text: Schema = { type: 'string' };
const spec = (fields: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: fields } },
});
const table: readonly (SchemaCase & { readonly reason: string })[] = [
  {
    reason: 'nullable changes no type',
    schema: spec({ n: { type: 'integer', nullable: true } }),
    object: '{"spec":{"n":null}}',
    expression: 'object.spec.n == null || object.spec.n > 1',
  },
  {
    reason: 'a field that is null is not there',
    schema: spec({ n: { type: 'integer', nullable: true } }),
    object: '{"spec":{"n":null}}',
    expression: '!has(object.spec.n)',
  },
  {
    reason: 'a value that is not nullable',
    schema: spec({ n: { type: 'integer' } }),
    object: '{"spec":{"n":1}}',
    expression: 'object.spec.n == null',
  },
  {
    reason: 'int-or-string is either',
    schema: spec({ p: { 'x-kubernetes-int-or-string': true } }),
    object: '{"spec":{"p":"50%"}}',
    expression: "type(object.spec.p) == int ? object.spec.p > 0 : object.spec.p.endsWith('%')",
  },
  {
    reason: 'unknown fields are kept and not seen',
    schema: spec({ f: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }),
    object: '{"spec":{"f":{"x":1}}}',
    expression: 'has(object.spec.f.x)',
  },
  {
    reason: 'additionalProperties are a map',
    schema: spec({ l: { type: 'object', additionalProperties: { type: 'string', maxLength: 5 }, maxProperties: 3 } }),
    object: '{"spec":{"l":{"a":"b"}}}',
    expression: "object.spec.l.all(k, object.spec.l[k] == k + 'x')",
  },
  {
    reason: 'a list of maps is equal in any order',
    schema: spec({
      l: {
        type: 'array',
        items: { type: 'object', properties: { name: text, v: text } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    }),
    object: '{"spec":{"l":[{"name":"a","v":"1"},{"name":"b","v":"2"}]}}',
    expression: 'object.spec.l + object.spec.l == object.spec.l',
  },
  {
    reason: 'a set too',
    schema: spec({ s: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' } }),
    object: '{"spec":{"s":["a","b"]}}',
    expression: "object.spec.s == ['b', 'a'] && object.spec.s + ['a', 'c'] == ['a', 'b', 'c']",
  },
  {
    reason: 'times are times',
    schema: spec({ t: { type: 'string', format: 'date-time' }, d: { type: 'string', format: 'duration' } }),
    object: '{"spec":{"t":"2024-01-01T00:00:00Z","d":"1h"}}',
    expression: "object.spec.t + object.spec.d == timestamp('2024-01-01T01:00:00Z')",
  },
];

const all = [...table, ...cases];
const [checks, estimates, values] = await Promise.all(
  (['check', 'estimate', 'evaluate'] as const).map((what) =>
    oracle.ask(
      all.map(({ schema, expression, object }) => {
        const rest = JSON.stringify({ schema, expression, do: what });
        return `{"object":${object},${rest.slice(1)}`;
      }),
    ),
  ),
);

const ours = all.map(({ schema, expression, object }) => {
  const made = typesFromSchema(schema, { name: 'schema.Object', unknownFields: 'hidden' });
  const environment = admissionEnvironment().extend({
    variables: { object: made.type, oldObject: made.type },
    types: [made.provider],
  });
  return { made, compiled: compile(expression, environment), value: parseJson(object) };
});

/** Returns the cases, with the answer of Kubernetes, in which a check finds a difference. */
function differing(
  answers: readonly OracleAnswer[] | undefined,
  differs: (real: OracleAnswer, index: number) => readonly [kubernetes: unknown, ours: unknown] | undefined,
): readonly unknown[] {
  return all.flatMap(({ expression, schema, object }, index) => {
    const [kubernetes, said] = differs(answers?.[index] as OracleAnswer, index) ?? [];
    if (kubernetes === said) return [];
    return [{ expression, kubernetes, ours: said, schema: JSON.stringify(schema), object }];
  });
}

test('enough generated cases are meaningful', () => {
  const checked = checks?.filter(({ error }) => error === undefined).length ?? 0;
  expect(checked / all.length).toBeGreaterThan(0.5);
  expect(values?.filter(({ value }) => value !== undefined).length).toBeGreaterThan(all.length / 3);
});

describe('same as Kubernetes', () => {
  test('type errors and result types', () => {
    const found = differing(checks, (real, index) => {
      const { compiled } = ours[index] as (typeof ours)[number];
      const kubernetes = real.error === undefined ? types.typeName(real.type as never) : 'refused';
      return [kubernetes, compiled.evaluate === undefined ? 'refused' : types.typeName(compiled.type)];
    });
    expect(found).toEqual([]);
  });

  test('the cost estimate', () => {
    const found = differing(estimates, (real, index) => {
      const { compiled, made } = ours[index] as (typeof ours)[number];
      if (compiled.evaluate === undefined || real.estimate === undefined) return undefined;
      const bounds = (path: readonly string[]) => made.bounds('object')(path) ?? made.bounds('oldObject')(path);
      const { min, max } = estimate((compiled as Compiled).checked, bounds);
      // Our estimates are doubles: past 2^53 they are only as precise as a double.
      const shown = (value: number): string => value.toPrecision(13);
      const kubernetes = [real.estimate.min, real.estimate.max].map((each) => shown(Number(each)));
      return [kubernetes.join(' to '), `${shown(min)} to ${shown(max)}`];
    });
    expect(found).toEqual([]);
  });

  test('the value and its cost', () => {
    const found = differing(values, (real, index) => {
      const { compiled, made, value } = ours[index] as (typeof ours)[number];
      if (compiled.evaluate === undefined || real.error?.kind === 'check') return undefined;
      const budget = { spent: 0 };
      const object = valueBySchema(value, made) as Value;
      const result = compiled.evaluate({ object, oldObject: null }, budget);
      const said = result instanceof CelError ? 'error' : canonical(toWire(result));
      const kubernetes = real.error === undefined ? canonical(real.value ?? {}) : 'error';
      // A null property is absent, but Kubernetes counts it in the size of its object.
      const costs = all[index]?.object.includes('null') === true ? [] : [real.cost, budget.spent];
      return [`${kubernetes} at ${costs[0]}`, `${said} at ${costs[1]}`];
    });
    expect(found).toEqual([]);
  });
});
