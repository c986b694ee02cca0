import { describe, expect, test } from 'vitest';
import { compile } from './compile.ts';
import { environment } from './environments.ts';
import { hostValue, trust } from './host.ts';
import { DYN } from './types.ts';
import {
  CelError,
  Double,
  Duration,
  HostObject,
  NonValue,
  Optional,
  TypeValue,
  Uint,
  Unknown,
  type Value,
} from './values.ts';

const object: Value = {
  metadata: { name: 'web', labels: { app: 'web', team: 'payments-core' } },
  spec: {
    replicas: 3,
    big: 9223372036854775807n,
    whole: new Double(1),
    none: null,
    text: 'héllo 😀',
    list: [1, 2, 3],
    containers: [
      { name: 'a', image: 'registry.example.com/x:1', ports: [80, 443] },
      { name: 'b', image: 'docker.io/y:2', ports: [] },
    ],
  },
};

const kubernetes = environment('kubernetes-1.36', { variables: { object: DYN } });
const extended = environment('extended', { variables: { object: DYN } });

describe.each(['code', 'closures'] as const)('%s', (backend) => {
  const run = (source: string, env = kubernetes, options: object = {}) => {
    const compiled = compile(source, env, { backend, ...options });
    if (compiled.evaluate === undefined) throw new Error(compiled.message);
    const budget = { spent: 0 };
    return { value: compiled.evaluate({ object }, budget), cost: budget.spent };
  };

  // The costs are those that Kubernetes 1.36 counts; test/cel/oracle.test.ts asks it again for many more.
  test.each([
    { reason: 'a field', source: 'object.spec.replicas <= 5', value: true, cost: 4 },
    { reason: 'an error absorbed on the left', source: 'object.spec.missing.deep == 1 || true', value: true, cost: 4 },
    { reason: 'an error absorbed on the right', source: 'false && object.spec.missing', value: false, cost: 0 },
    { reason: 'has costs nothing for its root', source: 'has(object.spec.replicas)', value: true, cost: 2 },
    { reason: 'has of a scalar', source: 'has(object.spec.replicas.deep)', value: false, cost: 3 },
    {
      reason: 'the branch of a conditional costs no root',
      source: 'true ? object.spec.replicas : 1',
      value: 3,
      cost: 2,
    },
    {
      reason: 'a string costs by its length',
      source: "object.metadata.labels.team.startsWith('pay')",
      value: true,
      cost: 6,
    },
    { reason: 'code points, not units', source: 'size(object.spec.text)', value: 7, cost: 4 },
    {
      reason: 'all stops at the first false',
      source: "object.spec.containers.all(c, c.name == 'x')",
      value: false,
      cost: 12,
    },
    {
      reason: 'exists absorbs errors',
      source: "object.spec.containers.exists(c, c.missing || c.name == 'b')",
      value: true,
      cost: 22,
    },
    { reason: 'map makes lists', source: 'object.spec.list.map(x, x * 2)', value: [2, 4, 6], cost: 46 },
    { reason: 'constant lists are free', source: 'object.spec.replicas in [1, 2, 3]', value: true, cost: 3 },
    {
      reason: 'hours as Go rounds them',
      source:
        "duration('2562047h') - duration('1ns') < duration('2562047h') && (duration('2562047h') - duration('1ns')).getHours() == 2562047",
      value: true,
      cost: 5,
    },
    { reason: 'less than a unit is none', source: "duration('-1ns').getSeconds()", value: 0, cost: 1 },
    { reason: 'two variables', source: 'object.spec.list.transformList(i, v, i > 0, i * v)', value: [2, 6], cost: 40 },
    {
      reason: 'optional chains',
      source: "object.?metadata.?annotations[?'x'].orValue('none')",
      value: 'none',
      cost: 2,
    },
    {
      reason: 'the key of an optional without a value is not computed, and cannot fail',
      source: "optional.of(1).optFlatMap(o, optional.none())[object.missing].orValue('none')",
      value: 'none',
      cost: 3,
    },
    {
      reason: 'nor after a question mark',
      source: "[optional.none()].map(o, o[?object.missing].orValue('none'))",
      value: ['none'],
      cost: 25,
    },
    { reason: 'an optional element left out', source: '[?object.?missing, ?object.?kind]', value: [], cost: 12 },
    { reason: 'int64 is exact', source: 'object.spec.big - 1', value: 9223372036854775806n, cost: 4 },
    { reason: 'a double that is whole is equal to the int', source: 'object.spec.whole == 1', value: true, cost: 4 },
    {
      reason: 'matches by RE2',
      source: "object.metadata.labels.team.matches('^[a-z]+(-[a-z]+)*$')",
      value: true,
      cost: 14,
    },
  ])('$reason: $source', ({ source, value, cost }) => {
    expect(run(source)).toEqual({ value, cost });
  });

  test.each([
    { reason: 'a key that is not there', source: 'object.spec.missing', code: 'no_such_key', offset: 11 },
    { reason: 'an index past the end', source: 'object.spec.list[3]', code: 'index_out_of_bounds', offset: 16 },
    { reason: 'a division by zero', source: '1 / (object.spec.replicas - 3)', code: 'divide_by_zero', offset: 2 },
    { reason: 'an overflow', source: 'object.spec.big + 1', code: 'overflow', offset: 16 },
    {
      reason: 'types that do not fit',
      source: 'object.spec.replicas + object.metadata.name',
      code: 'no_such_overload',
      offset: 21,
    },
    {
      reason: 'a method of another type',
      source: "object.spec.replicas.startsWith('a')",
      code: 'no_such_overload',
      offset: 31,
    },
    { reason: 'no condition', source: 'object.spec.replicas ? 1 : 2', code: 'no_such_overload', offset: 21 },
    { reason: 'no range', source: 'object.spec.replicas.all(x, true)', code: 'no_such_overload', offset: 11 },
    { reason: 'a conversion', source: 'int(object.metadata.name)', code: 'conversion', offset: 3 },
    { reason: 'none has no value', source: 'object.?missing.value()', code: 'invalid_argument', offset: 21 },
  ])('fails on $reason: $source', ({ source, code, offset }) => {
    expect(run(source).value).toMatchObject({ code, offset });
  });

  test.each([
    { reason: 'repeated keys', source: '{"a": 1, "a": 2}', code: 'duplicate_key' },
    { reason: 'keys that cannot be', source: '{1.5: 1}', code: 'unsupported_key' },
    { reason: 'a field of what has none', source: 'has(dyn(1).a)', code: 'no_such_key' },
  ])('extended is strict about $reason', ({ source, code }) => {
    expect(run(source, extended).value).toMatchObject({ code });
  });

  test.each([
    { source: 'cel.bind(x, 1 / 0, true)', value: true, reason: 'a value that is not used is not computed' },
    { source: 'cel.bind(x, object.spec.replicas, x + x)', value: 6, reason: 'a value is computed once' },
    { source: 'cel.block([1, cel.index(0) + 1], cel.index(1))', value: 2, reason: 'blocks name their parts' },
  ])('bindings: $reason', ({ source, value }) => {
    expect(run(source, extended).value).toEqual(value);
  });

  test.each([
    { source: 'type(object.spec.whole)', value: new TypeValue('double') },
    { source: '1u + 2u', value: new Uint(3) },
    { source: '0.5 + 0.5', value: new Double(1) },
    { source: 'duration("1h") - duration("30m")', value: new Duration(1_800_000_000_000n) },
    { source: 'object.?spec.?replicas', value: new Optional(3) },
    { source: '{"__proto__": 1}.size() + {"constructor": 2}.constructor', value: 3 },
  ])('$source', ({ source, value }) => {
    expect(run(source).value).toEqual(value);
  });

  test('an evaluation over its budget stops, and the budget records the cost', () => {
    const source = '[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, a * b * c)))';
    const { value, cost } = run(source, kubernetes, { costLimit: 1000 });
    expect(value).toMatchObject({ code: 'cost_exceeded' });
    expect(cost).toBeGreaterThan(1000);
    expect(cost).toBeLessThan(1200);
    expect(run(`${source} == [] || true`, kubernetes, { costLimit: 1000 }).value).toBeInstanceOf(CelError);
  });

  test('budgets are shared between evaluations', () => {
    const compiled = compile('object.spec.list.map(x, x + 1).size() == 3', kubernetes, { backend });
    const budget = { spent: 0, limit: 60 };
    const results = [1, 2, 3].map(() => compiled.evaluate?.({ object }, budget));
    expect(results.map((each) => (each instanceof CelError ? each.code : each))).toEqual([
      true,
      'cost_exceeded',
      'cost_exceeded',
    ]);
  });

  test('a host can interrupt a loop', () => {
    const many = Array.from({ length: 1000 }, (_, index) => index);
    const compiled = compile('object.all(x, x >= 0)', kubernetes, { backend });
    let asked = 0;
    const result = compiled.evaluate?.({ object: many }, { spent: 0, interrupt: () => ++asked === 3 });
    expect(result).toMatchObject({ code: 'interrupted' });
    expect(asked).toBe(3);
  });

  test.each([
    { reason: 'spreads', source: 'object.a + 1', value: 'unknown' },
    { reason: 'is absorbed', source: 'object.a == 1 || true', value: true },
    { reason: 'wins over an error', source: 'object.a == 1 || 1 / 0 == 1', value: 'unknown' },
  ])('an unknown $reason', ({ source, value }) => {
    const compiled = compile(source, environment('extended', { variables: { object: DYN } }), { backend });
    const result = compiled.evaluate?.({ object: new Unknown(['object']) });
    expect(result instanceof NonValue ? result.kind : result).toBe(value);
  });

  test('a host object computes its fields', () => {
    class Lazy extends HostObject {
      override readonly type = new TypeValue('lazy');
      override field(name: string) {
        return name === 'x' ? 5 : undefined;
      }
      override has(name: string) {
        return name === 'x';
      }
      override toString() {
        return 'lazy';
      }
    }
    const evaluate = (source: string) => compile(source, kubernetes, { backend }).evaluate?.({ object: new Lazy() });
    expect(evaluate('object.x + 1')).toBe(6);
    expect(evaluate('has(object.y)')).toBe(false);
    expect(evaluate('object.y')).toMatchObject({ code: 'no_such_key' });
  });

  test('expressions reach no prototype and run no getter', () => {
    let runs = 0;
    class Host {
      get inherited() {
        return ++runs;
      }
    }
    const own = {
      get secret() {
        return ++runs;
      },
      plain: 1,
    };
    const evaluate = (source: string, value: unknown) =>
      compile(source, kubernetes, { backend }).evaluate?.({ object: value as Value });
    for (const name of ['__proto__', 'constructor', 'toString', 'secret', 'inherited', 'hasOwnProperty']) {
      expect(evaluate(`has(object.${name})`, own)).toBe(false);
      expect(evaluate(`has(object.${name})`, new Host())).toBe(false);
      expect(evaluate(`object.${name}`, {})).toMatchObject({ code: 'no_such_key' });
      expect(evaluate(`object['${name}']`, own)).toMatchObject({ code: 'no_such_key' });
    }
    expect(evaluate('object.plain', own)).toBe(1);
    expect(evaluate('object.length', [1])).toBeInstanceOf(CelError);
    expect(runs).toBe(0);
  });
});

describe('hostValue', () => {
  test('returns data unchanged', () => {
    const data = { a: [1, { b: null }] };
    expect(hostValue(data)).toBe(data);
  });

  test.each([
    { reason: 'functions', value: { f: () => 1 }, code: 'host' },
    { reason: 'symbols', value: [Symbol('x')], code: 'host' },
  ])('refuses $reason', ({ value, code }) => {
    expect(hostValue(value)).toMatchObject({ code });
  });

  test('rejects cycles and unlimited nesting', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(hostValue(cyclic)).toMatchObject({ code: 'host' });
    let deep: unknown = 1;
    for (let depth = 0; depth < 5000; depth++) deep = [deep];
    expect(hostValue(deep)).toMatchObject({ code: 'too_deep' });
  });

  test('trusted values are not checked', () => {
    let runs = 0;
    const value = {
      get a() {
        return ++runs;
      },
    };
    compile('object.a', kubernetes).evaluate?.(trust({ object: value as unknown as Value }));
    expect(runs).toBeGreaterThan(0);
  });
});

describe.each(['code', 'closures'] as const)('equality of the opaque types of Kubernetes (%s)', (backend) => {
  test.each([
    { source: "quantity('1') == quantity('1000m')", value: true },
    { source: "dyn(quantity('1')) == 1", value: 'no_such_overload' },
    { source: "dyn(quantity('1')) == 'a'", value: 'no_such_overload' },
    { source: "dyn(quantity('1')) != dyn('a')", value: true },
    { source: "dyn(1) == dyn(quantity('1'))", value: false },
    { source: "quantity('2') == quantity('1').add(quantity('1'))", value: 'no_such_overload' },
    { source: "dyn(ip('1.2.3.4')) == dyn('x') || true", value: true },
  ])('$source', ({ source, value }) => {
    const { evaluate } = compile(source, kubernetes, { backend });
    const result = evaluate?.({ object: null });
    expect(result instanceof CelError ? result.code : result).toBe(value);
  });
});
