/**
 * Invalid input, accidental or malicious, always yields an error with a position or a bounded result; never a crash, a
 * hang, or `true` where Kubernetes does not return true.
 */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { CelError, compile, type Result, type Value } from '../../src/cel/index.ts';
import { kubernetesFunctions, type OracleAnswer, startOracle } from '../support/cel-oracle.ts';
import { admissionEnvironment } from './support/admission.ts';
import { Choices } from './support/choices.ts';
import { type Backend, backends } from './support/engine.ts';
import { generator } from './support/generate.ts';
import { parseJson } from './support/json.ts';
import { mutateExpression, mutateJson } from './support/mutate.ts';
import { type Variables, variables } from './support/objects.ts';
import { groups } from './support/policy-expressions.ts';

const environment = admissionEnvironment();
const oracle = await startOracle();
afterAll(() => oracle.stop());

/** Returns the outcome of an expression: `true`, or any other allowed result. */
function outcome(expression: string, bound: Readonly<Record<string, Value>>, backend: Backend): Result | 'refused' {
  const compiled = compile(expression, environment, { backend });
  if (compiled.evaluate === undefined) {
    for (const issue of compiled.issues) {
      expect(issue.line).toBeGreaterThanOrEqual(1);
      expect(issue.column).toBeGreaterThanOrEqual(1);
      expect(issue.offset).toBeGreaterThanOrEqual(0);
      expect(issue.offset).toBeLessThanOrEqual(expression.length);
      expect(issue.message).not.toBe('');
    }
    // Error reports must stay small.
    expect(compiled.message.length).toBeLessThan(200_000);
    return 'refused';
  }
  const budget = { spent: 0 };
  const result = compiled.evaluate(bound, budget);
  expect(budget.spent).toBeLessThan(1_000_000 * 3);
  if (result instanceof CelError) {
    expect(result.offset).toBeGreaterThanOrEqual(0);
    expect(result.offset).toBeLessThanOrEqual(expression.length);
  }
  return result;
}

describe('ten thousand mutations', async () => {
  const { arbitrary } = generator(await kubernetesFunctions());
  const seeds = [
    ...groups.flatMap(({ rows }) => rows.map(([expression]) => expression)),
    ...fc.sample(arbitrary, { seed: 1, numRuns: 500 }).map(({ expression }) => expression),
  ];
  const mutation = fc.array(fc.nat(2 ** 30), { minLength: 40, maxLength: 120, size: 'max' }).map((tape) => {
    const choices = new Choices(tape);
    const expression = mutateExpression(choices, choices.pick(seeds), seeds);
    const whole = variables(choices);
    const texts = Object.entries(whole).map(([name, text]) => [name, mutateJson(choices, text)]);
    return { expression, texts: Object.fromEntries(texts) as Variables };
  });
  const mutations = fc.sample(mutation, { seed: 7, numRuns: 10_000 });

  test.each(
    backends,
  )('an error with its place, a bounded answer, or a true that Kubernetes shares (%s)', async (backend) => {
    const truths: string[] = [];
    for (const { expression, texts } of mutations) {
      const bound = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, parseJson(text as string)]));
      if (outcome(expression, bound, backend) === true) truths.push(request(expression, texts));
    }
    const answers = await oracle.ask(truths);
    const wrong = truths.filter((_, index) => !isTrue(answers[index]));
    expect(wrong).toEqual([]);
    // Despite the mutations, enough expressions must still be valid for the test to be meaningful.
    expect(truths.length).toBeGreaterThan(100);
  });
});

const request = (expression: string, texts: Variables) =>
  `{${Object.entries(texts)
    .map(([name, text]) => `"${name}":${text}`)
    .join(',')},"repeat":20,"expression":${JSON.stringify(expression)}}`;

const isTrue = (answer: OracleAnswer | undefined) =>
  answer !== undefined && [answer, ...(answer.others ?? [])].some(({ value }) => value?.bool === true);

const many = 100_000;
const text = (length: number) => 'a'.repeat(length);
const twoHundred = `[${Array.from({ length: 200 }, (_, index) => index).join(', ')}]`;

/** Each must end with an error or a value other than `true`. */
const extremes: readonly (readonly [reason: string, expression: string])[] = [
  ['brackets nested', `${'('.repeat(many)}true${')'.repeat(many)}`],
  ['brackets that are never closed', '('.repeat(many)],
  ['lists nested', `${'['.repeat(many)}1${']'.repeat(many)}`],
  ['maps nested', `${'{1:'.repeat(many)}1${'}'.repeat(many)}`],
  ['negations', `${'!'.repeat(many)}false`],
  ['signs', `${'-'.repeat(many)}1`],
  ['conditions nested', `${'true ? '.repeat(many)}1${' : 2'.repeat(many)}`],
  ['conditions in a row', `${'false ? 1 : '.repeat(many)}2`],
  ['fields in a row', `object${'.a'.repeat(many)}`],
  ['optional fields in a row', `object${'.?a'.repeat(many)}`],
  ['indices in a row', `object${'[0]'.repeat(many)}`],
  ['calls nested', `${'dyn('.repeat(many)}1${')'.repeat(many)}`],
  ['methods in a row', `'a'${'.trim()'.repeat(many)}`],
  ['macros nested', `${'[1].map(x, '.repeat(2_000)}1${')'.repeat(2_000)}`],
  ['a sum of many terms', Array.from({ length: many }, () => '1').join(' + ')],
  ['a conjunction of many terms', `${Array.from({ length: many }, () => 'true').join(' && ')} && false`],
  ['a list of many elements', `[${Array.from({ length: many }, () => '1').join(', ')}].size() == 0`],
  ['a literal of a megabyte', `'${text(2 ** 20)}' == ''`],
  ['bytes of a megabyte', `b'${text(2 ** 20)}' == b''`],
  ['a comment of a megabyte', `false // ${text(2 ** 20)}`],
  ['a name of a megabyte', text(2 ** 20)],
  ['a number of a megabyte', '9'.repeat(2 ** 20)],
  ['lines without end', `${'\n'.repeat(2 ** 20)}x`],
  ['a string that does not end', `'${text(2 ** 20)}`],
  ['a lone surrogate in the source', "'\ud800' == ''"],
  ['a lone surrogate as an escape', "'\\ud800' == ''"],
  ['a code point past the last', "'\\U00110000' == ''"],
  ['an expression that takes exponential time elsewhere', `'${text(50_000)}!'.matches('^(a+)+$')`],
  ['a pattern that grows', "'a'.matches('((a{0,100}){0,100}){0,100}b')"],
  ['a pattern nested', `'a'.matches('${'('.repeat(5_000)}b${')'.repeat(5_000)}')`],
  ['a pattern of a megabyte', `'a'.matches('${text(2 ** 20)}')`],
  ['eight million iterations', `${twoHundred}.all(x, ${twoHundred}.all(y, ${twoHundred}.all(z, x + y + z < 9999)))`],
  ['a range without end', 'lists.range(9223372036854775807).size() == 0'],
  ['a text that doubles', `${"['ab'].map(a, [a + a].map(a, ".repeat(20)}[a]${'))'.repeat(20)}.size() == 0`],
  ['a list that doubles', `${'('.repeat(40)}[1]${' + [1])'.repeat(40)}.size() == 0`],
  [
    'a replacement that multiplies',
    `'${text(1000)}'.replace('a', '${text(1000)}').replace('a', '${text(1000)}') == ''`,
  ],
  ['a join that multiplies', `lists.range(1000).map(x, '${text(1000)}').join('${text(1000)}') == ''`],
  ['a format that is wide', "'%.999999999f'.format([1.0]) == ''"],
  ['int64 is left above', '9223372036854775807 + object.one > 0'],
  ['int64 is left below', '-9223372036854775808 - object.one < 0'],
  ['int64 negated', '-(-9223372036854775807 - object.one) > 0'],
  ['int64 divided', '(-9223372036854775807 - object.one) / -1 > 0'],
  ['int64 multiplied', '4611686018427387904 * (object.one + 1) > 0'],
  ['uint64 is left', '18446744073709551615u + uint(object.one) > 0u'],
  ['a duration out of range', "duration('2562047h') + duration('2562047h') > duration('0s')"],
  [
    'a timestamp out of range',
    "timestamp('9999-12-31T23:59:59Z') + duration('24h') > timestamp('2000-01-01T00:00:00Z')",
  ],
  ['the prototype of an object', 'object.__proto__ != null'],
  ['the prototype as a key', "'__proto__' in object"],
  ['the prototype, present', 'has(object.__proto__)'],
  ['a constructor', 'has(object.constructor) || has(object.one.constructor)'],
  ['the prototype of a list', 'has(object.list.length) || has(object.list.map)'],
  ['the prototype of a string', 'has(object.text.length)'],
  ['a function of the host', "object.toString() == 'x'"],
  ['code in a string', `'$${'{'}process.exit(1)}' == '\`' + '\\u2028'`],
  ['code in a field', 'object[\'"); process.exit(1); ("\'] == 1'],
];

describe.each(backends)('extremes (%s)', (backend) => {
  const bound = { object: { one: 1, list: [1], text: 'abc' } };
  test.each(extremes)('%s', (_reason, expression) => {
    const started = Date.now();
    expect(outcome(expression, bound, backend)).not.toBe(true);
    // The limit is far above the need of a slow machine, and far below a hang.
    expect(Date.now() - started).toBeLessThan(60_000);
  });
});

/** Objects that JSON cannot represent, but a careless host may pass. */
const hosts: readonly (readonly [reason: string, make: () => unknown])[] = [
  [
    'a cycle',
    () => {
      const cycle: Record<string, unknown> = { one: 1, list: [] };
      cycle.self = cycle;
      (cycle.list as unknown[]).push(cycle.list, cycle);
      return cycle;
    },
  ],
  ['a getter that throws', () => Object.defineProperty({}, 'one', { enumerable: true, get: () => fail() })],
  ['an inherited field', () => Object.create({ one: 1, self: { one: 1 } })],
  [
    'a class',
    () =>
      new (class Host {
        one = 1;
      })(),
  ],
  ['a function', () => () => true],
  ['undefined', () => undefined],
  ['a symbol', () => Symbol('one')],
  ['a date', () => new Date(0)],
  ['a map of JavaScript', () => new Map([['one', 1]])],
  ['a number too large', () => ({ one: 2n ** 80n, list: [Number.NaN, Number.POSITIVE_INFINITY] })],
  ['a sparse list', () => ({ list: Object.assign(new Array(3), { one: 1 }) })],
  ['lone surrogates', () => ({ one: '\ud800', text: '\udc00\ud800' })],
  [
    'a proxy',
    () => new Proxy({}, { get: () => fail(), has: () => fail(), ownKeys: () => fail(), getPrototypeOf: () => fail() }),
  ],
];

const ran = 'code of the host has run';
function fail(): never {
  throw new Error(ran);
}

const probes = [
  'object.one == 1 && false',
  'object == object && false',
  'object.self.self.self.one == 2',
  'object.self == object.self && false',
  '[object, object].distinct().size() == 7',
  'object in [object] && false',
  'object.list.flatten().size() == -1',
  'object.list.map(x, x).size() == -1',
  'size(object) == -1',
  'type(object) == int',
  "string(object.text) == 'x'",
  "'%s'.format([object]) == 'x'",
  'object.exists(k, false)',
  "object.one.matches('^x$')",
  'sets.contains([object], [object]) && false',
  'object.list.sum() == -1',
  'object.list.sort() == [-1]',
  'quantity(object.one).isInteger() && false',
  'object',
];

describe.each(backends)('hosts (%s)', (backend) => {
  test.each(hosts)('%s', (reason, make) => {
    for (const expression of probes) {
      const bound = { object: make() as Value };
      const result = outcome(expression, bound, backend);
      // Only a proxy can run code on a property access.
      const ranCode = result instanceof CelError && result.message.includes(ran) && !reason.includes('proxy');
      expect({ expression, isTrue: result === true, ranCode }).toEqual({ expression, isTrue: false, ranCode: false });
    }
  });
});
