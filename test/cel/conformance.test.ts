/**
 * The conformance tests of the cel-spec for JSON values. `kubernetes-1.36` must pass every test that the real
 * environment of Kubernetes passes, which is determined in the same run; `extended` must pass all. Excluded tests are
 * listed in left-out.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EnvironmentName, types, type Value } from '../../src/cel/index.ts';
import { type ConformanceTest, conformanceTests, type OracleAnswer, startOracle } from '../support/cel-oracle.ts';
import { answer, type Backend, backends, declared, type EngineAnswer } from './support/engine.ts';
import { codesFor } from './support/error-kinds.ts';
import { leftOut } from './support/left-out.ts';
import { canonical, fromWire } from './support/wire.ts';

const all = await conformanceTests();
const overJson = all.filter(({ messages }) => messages === undefined);
const files = [...new Set(overJson.map(({ file }) => file))];
const oracle = await startOracle();
afterAll(() => oracle.stop());

test('the conformance data is complete', () => {
  expect({ all: all.length, overJson: overJson.length }).toEqual({ all: 2508, overJson: 1795 });
});

describe('kubernetes-1.36', () => {
  /** The answers of the real environment, for each test that it passes. */
  const passed = new Map<ConformanceTest, OracleAnswer>();
  beforeAll(async () => {
    const answers = await oracle.ask(
      overJson.map(({ expression, declarations, bindings = {}, container = '', disableCheck = false, checkOnly }) => ({
        expression,
        declarations,
        bindings,
        container,
        disableCheck,
        do: checkOnly === true ? 'check' : 'evaluate',
      })),
    );
    for (const [index, each] of overJson.entries()) {
      const said = answers[index] as OracleAnswer;
      if (passes(each, said) === undefined) passed.set(each, said);
    }
  });

  test('the real environment passes the tests that it is known to pass', () => {
    expect(passed.size).toBeGreaterThanOrEqual(1403);
    const values = [...passed.keys()].filter(({ errors, unknown }) => errors === undefined && unknown !== true);
    expect(values.length).toBeGreaterThanOrEqual(1233);
  });

  describe.each(backends)('%s', (backend) => {
    test.each(files)('%s', (file) => {
      const failures = overJson
        .filter((each) => each.file === file && passed.has(each) && !isLeftOut('kubernetes-1.36', each))
        .flatMap((each) => failure(each, 'kubernetes-1.36', backend, passed.get(each)));
      expect(failures).toEqual([]);
    });
  });
});

describe('extended', () => {
  describe.each(backends)('%s', (backend) => {
    test.each(files)('%s', (file) => {
      const failures = overJson
        .filter((each) => each.file === file && !isLeftOut('extended', each))
        .flatMap((each) => failure(each, 'extended', backend));
      expect(failures).toEqual([]);
    });
  });
});

test('every excluded test exists and has a reason', () => {
  const idle = leftOut.filter(({ test }) => !overJson.some((each) => covers(test, each)));
  expect(idle).toEqual([]);
  expect(leftOut.filter(({ reason }) => reason === '')).toEqual([]);
});

function failure(each: ConformanceTest, name: EnvironmentName, backend: Backend, real?: OracleAnswer): string[] {
  const environment = declared(name, each.declarations, each.container ?? '');
  const variables: Record<string, Value> = {};
  for (const [variable, bound] of Object.entries(each.bindings ?? {})) variables[variable] = fromWire(bound);
  const said = answer({
    environment,
    expression: each.expression,
    variables,
    backend,
    unchecked: each.disableCheck ?? false,
    checkOnly: each.checkOnly ?? false,
  });
  const wrong = passes(each, said) ?? differs(said, real);
  return wrong === undefined ? [] : [`${idOf(each)}: ${each.expression}: ${wrong}`];
}

/** Returns the problem of an answer, or undefined if it passes the test. */
function passes(each: ConformanceTest, said: OracleAnswer | EngineAnswer): string | undefined {
  const { error } = said;
  if (each.errors !== undefined) {
    if (error === undefined) return `wanted an error (${each.errors[0]}), got ${JSON.stringify(said.value)}`;
    const wanted = codesFor(each.expression, each.errors);
    // Only type errors may be reported before evaluation; a data error must be an evaluation error.
    if (error.kind !== 'eval' && error.kind !== 'program' && !wanted.static)
      return `wanted an error when it runs, got ${error.message}`;
    // The oracle has no error codes; an undefined function is not the error that a test expects.
    const isUndeclared = !('codes' in error) && error.message.includes('undeclared reference');
    if (isUndeclared && !wanted.codes.includes('undeclared_reference')) return error.message;
    if ('codes' in error && !error.codes.some((code) => wanted.codes.includes(code)))
      return `wanted ${wanted.codes.join(' or ')}, got ${error.codes}: ${error.message}`;
    return undefined;
  }
  if (error !== undefined) return error.message;
  if (each.value !== undefined && each.checkOnly !== true) {
    const [wanted, got] = [canonical(each.value), canonical(said.value ?? {})];
    if (wanted !== got) return `wanted ${wanted}, got ${got}`;
  }
  if (each.type !== undefined) {
    const [wanted, got] = [types.typeName(each.type), said.type === undefined ? 'none' : types.typeName(said.type)];
    if (wanted !== got) return `wanted type ${wanted}, got ${got}`;
  }
  return undefined;
}

/** An error that Kubernetes finds at run time must also be a run-time error here. */
function differs(said: EngineAnswer, real: OracleAnswer | undefined): string | undefined {
  if (said.error === undefined || real?.error === undefined) return undefined;
  // Errors of constant folding in cel-go may be compile-time or run-time errors here: both reject the policy.
  if (real.error.kind === 'program') return undefined;
  const early = (kind: string) => kind === 'check' || kind === 'parse';
  return early(said.error.kind) === early(real.error.kind) ? undefined : `Kubernetes says at ${real.error.kind} time`;
}

const idOf = ({ file, section, name }: ConformanceTest) => `${file}/${section}/${name}`;
const covers = (pattern: string, each: ConformanceTest) =>
  pattern.endsWith('/') ? idOf(each).startsWith(pattern) : idOf(each) === pattern;
const isLeftOut = (name: EnvironmentName, each: ConformanceTest) =>
  leftOut.some(({ environment, test }) => environment === name && covers(test, each));
