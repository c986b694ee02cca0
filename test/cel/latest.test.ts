/** Random expressions: `extended` returns the same results as the newest cel-go with its extensions. */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { type EnvironmentName, environment, types, type Value } from '../../src/cel/index.ts';
import { latestFunctions, type OracleAnswer, startOracle, type WireValue } from '../support/cel-oracle.ts';
import { answer, backends, type EngineAnswer } from './support/engine.ts';
import { type Case, generator } from './support/generate.ts';
import { parseJson } from './support/json.ts';
import { latestMacros } from './support/macros.ts';
import { canonical, toWire } from './support/wire.ts';

const oracle = await startOracle();
afterAll(() => oracle.stop());

/** The functions that `extended` does not have, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  'yaml.encode': 'no YAML in the language',
  'yaml.parse': 'no YAML in the language',
  'json.encode': 'cel-go counts the highest cost there is, so that no budget allows a call',
  'json.parse': 'with a type it makes messages; without one cel-go takes any number of digits for a double',
};

const functions = (await latestFunctions()).filter(({ name }) => leftOut[name] === undefined);
const { arbitrary, subjects } = generator(functions, latestMacros);
const cases = fc.sample(arbitrary, { seed: 33, numRuns: 1_500 });
const name: EnvironmentName = 'extended';
const variableNames = ['object', 'oldObject', 'params', 'request', 'namespaceObject'] as const;
const declarations = variableNames.map((each) => ({ name: each, type: types.DYN }));
const extended = environment(name, {
  variables: Object.fromEntries(variableNames.map((each) => [each, types.DYN])),
  // The cel-spec makes a duplicate key an error, and so does `extended`; in cel-go the last one wins.
  language: { uniqueKeys: false },
});

const variablesOf = (each: Case): Record<string, Value> =>
  Object.fromEntries(variableNames.map((variable) => [variable, parseJson(each.variables[variable])]));

const answers = await oracle.ask(
  cases.map((each) => ({
    environment: 'latest',
    expression: each.expression,
    declarations,
    bindings: Object.fromEntries(
      Object.entries(variablesOf(each)).map(([variable, value]) => [variable, toWire(value)]),
    ),
  })),
);

test('most cases yield a value, and every function and macro occurs', () => {
  expect(answers.filter(({ value }) => value !== undefined).length / cases.length).toBeGreaterThanOrEqual(0.6);
  const met = new Map<string, number>();
  for (const { uses } of cases) for (const use of uses) met.set(use, (met.get(use) ?? 0) + 1);
  expect(subjects.filter((subject) => (met.get(subject) ?? 0) < 10)).toEqual([]);
});

test.each(backends)('returns the same value or error as cel-go (%s)', (backend) => {
  const wrong = cases.flatMap((each, index) => {
    const real = answers[index] as OracleAnswer;
    if (real.error?.kind === 'panic' || real.error?.kind === 'memory') return [];
    const ours = answer({ environment: extended, expression: each.expression, variables: variablesOf(each), backend });
    const latest = real.error === undefined ? canonical(real.value ?? {}) : 'error';
    const said = ours.error === undefined ? canonical(ours.value ?? {}) : 'error';
    if (latest === said || asInKubernetes(real, ours)) return [];
    if (/\{.*\}\.\w+\(/.test(each.expression) && inAnyOrder(real.value) === inAnyOrder(ours.value)) return [];
    return [{ expression: each.expression, latest: real.error?.message ?? latest, ours: ours.error?.message ?? said }];
  });
  expect(wrong).toEqual([]);
});

/** `extended` follows cel-go 0.26, the version of Kubernetes, where the newest cel-go changed the language itself. */
function asInKubernetes(real: OracleAnswer, ours: EngineAnswer): boolean {
  // Comparing NaN is an error; the newest cel-go returns false.
  if (ours.error?.message.includes('NaN values cannot be ordered') === true) return true;
  // The hours and minutes of a time zone are unlimited; the newest cel-go limits them.
  if (real.error?.message.includes('timezone offset') === true) return true;
  // A literal conversion that always fails is a compile error, even if it is not reached.
  if (ours.error?.codes.includes('invalid_literal') === true) return true;
  // A nested optional is flattened when a variable is read; the newest cel-go keeps it.
  return real.value !== undefined && flat(real.value) === flat(ours.value ?? {});
}

/** Go iterates over maps in random order: the result of a loop has the same elements in any order. */
const inAnyOrder = (value: WireValue | undefined): string => [...canonical(value ?? {})].sort().join('');

function flat(value: WireValue): string {
  let text = canonical(value);
  for (let last = ''; last !== text; ) {
    last = text;
    text = text.replaceAll('{"optional":{"optional":', '{"optional":');
  }
  return text.replaceAll('}', '');
}
