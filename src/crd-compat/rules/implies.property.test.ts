import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDefaults, prune, validator } from '../instance/index.ts';
import type { CrdSchema } from '../schema.ts';
import { compileRule } from './compiled.ts';
import { ruleImplies } from './index.ts';

/** Few fields with few values, so that all values can be enumerated. */
const before: CrdSchema = {
  type: 'object',
  required: ['n'],
  properties: {
    n: { type: 'integer', minimum: 0, maximum: 3 },
    m: { type: 'integer', minimum: 0, maximum: 2 },
    s: { type: 'string', pattern: '^[ab]{0,2}$' },
    f: { type: 'boolean' },
    l: { type: 'array', maxItems: 2, items: { type: 'integer', minimum: 0, maximum: 2 } },
    o: {
      type: 'object',
      required: ['y'],
      properties: { x: { type: 'integer', enum: [1, 2] }, y: { type: 'boolean' } },
    },
    p: { type: 'object', additionalProperties: { type: 'integer', minimum: 0, maximum: 1 } },
  },
};
const { s: _, ...others } = before.properties ?? {};
/** One field removed, one added, one with a default. */
const after: CrdSchema = {
  ...before,
  properties: {
    ...others,
    d: { type: 'integer', default: 2 },
    e: { type: 'boolean' },
    m: { type: 'integer', default: 1 },
  },
};

const domains: Readonly<Record<string, readonly unknown[]>> = {
  n: [0, 1, 2, 3],
  m: [undefined, 0, 2],
  s: [undefined, 'a', 'bb'],
  f: [undefined, true, false],
  l: [undefined, [], [0, 2]],
  o: [undefined, { y: true }, { x: 2, y: false }],
  p: [undefined, { a: 1 }, { a: 0, b: 1 }],
};
const values = Object.entries(domains).reduce<Record<string, unknown>[]>(
  (made, [name, domain]) =>
    made.flatMap((each) => domain.map((value) => (value === undefined ? each : { ...each, [name]: value }))),
  [{}],
);

const number = fc.constantFrom(-1, 0, 1, 2, 3);
const integer = (fields: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...fields);
const order = fc.constantFrom('<', '<=', '>', '>=', '==', '!=');

function ruleOf(ints: readonly string[], others: readonly string[]): fc.Arbitrary<string> {
  const compared = fc
    .tuple(integer(ints), order, fc.oneof(number.map(String), integer(ints)))
    .map((parts) => parts.join(' '));
  const listed = fc
    .tuple(integer(ints), fc.array(number, { minLength: 1, maxLength: 3 }))
    .map(([left, list]) => `${left} in [${list.join()}]`);
  const body = (variable: string): fc.Arbitrary<string> =>
    fc.tuple(order, number).map(([sign, value]) => `${variable} ${sign} ${value}`);
  const loop = fc
    .tuple(fc.constantFrom('all', 'exists', 'exists_one'), fc.constantFrom('x', 'y'), fc.boolean())
    .chain(([macro, variable, isMap]) =>
      body(isMap ? `self.p[${variable}]` : variable).map(
        (inner) => `self.${isMap ? 'p' : 'l'}.${macro}(${variable}, ${inner})`,
      ),
    );
  const nested = fc
    .tuple(fc.constantFrom('all', 'exists'), fc.constantFrom('all', 'exists', 'exists_one'), order)
    .map(([outer, inner, sign]) => `self.l.${outer}(x, self.l.${inner}(y, x ${sign} y))`);
  const cardinality = fc
    .tuple(fc.subarray([...others], { minLength: 1, maxLength: 3 }), order, fc.nat(3))
    .map(([conditions, sign, count]) => `[${conditions.join()}].filter(x, x).size() ${sign} ${count}`);
  const leaf = fc.oneof(nested, cardinality, cardinality, compared, compared, listed, loop, fc.constantFrom(...others));
  return fc.letrec<{ rule: string }>((tie) => ({
    rule: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc
        .tuple(tie('rule'), fc.constantFrom('&&', '||', '=='), tie('rule'))
        .map(([left, sign, right]) => `(${left}) ${sign} (${right})`),
      tie('rule').map((inner) => `!(${inner})`),
      fc.tuple(tie('rule'), tie('rule'), tie('rule')).map(([a, b, c]) => `((${a}) ? (${b}) : (${c}))`),
    ),
  })).rule;
}

const INTS = [
  'self.n',
  'self.m',
  'self.o.x',
  'size(self.l)',
  'self.l[0]',
  'self.n + self.m',
  'self.p.a',
  'self.p["b"]',
  'self.p.size()',
];
const SHARED = [
  'has(self.m)',
  'has(self.f)',
  'self.f',
  'has(self.o)',
  'has(self.o.x)',
  'self.o.y',
  '"a" in self.p',
  'has(self.p.b)',
  '1 in self.l',
];
const TEXTS = [
  'has(self.s)',
  'self.s == "a"',
  'self.s.startsWith("a")',
  'self.s.matches("b$")',
  'self.s.contains("b")',
  'size(self.s) > 1',
  'self.s in ["a", "ab"]',
];

const same = ruleOf(INTS, [...SHARED, ...TEXTS]);
const later = ruleOf([...INTS, 'self.d'], [...SHARED, 'has(self.d)', 'has(self.e)', 'self.e']);

interface Case {
  readonly old: readonly string[];
  readonly added: string;
  readonly schema: CrdSchema;
}

/** The new rule is often derived from an old one, because two random rules are rarely related. */
const related = (added: fc.Arbitrary<string>, schema: CrdSchema): fc.Arbitrary<Case> =>
  fc.tuple(fc.array(same, { minLength: 1, maxLength: 2 }), added, fc.nat(3)).map(([old, other, way]) => {
    const [first = 'true'] = old;
    const reuse = schema === before && way > 0;
    return {
      old,
      schema,
      added: !reuse
        ? other
        : way === 1
          ? `(${first}) || (${other})`
          : way === 2
            ? `!(${other}) || (${first})`
            : `(${first}) && (${other})`,
    };
  });

const valid = validator(before, { resource: false });
const accepted = values.filter((value) => valid.validate(value).length === 0);
const asSeenBy = (schema: CrdSchema, value: unknown): unknown =>
  applyDefaults(prune(value, schema, { resource: false }).value, schema);
const pairs = new Map(
  [before, after].map((schema) => [schema, accepted.map((value) => ({ value, now: asSeenBy(schema, value) }))]),
);

function check({ old, added, schema }: Case): 'yes' | 'no' | 'unknown' {
  const rules = old.map((rule) => ({ rule }));
  const found = ruleImplies({ rules, schema: before }, { rule: added }, schema);
  const compiled = compileRule({ rule: added }, schema);
  const premises = rules.map((rule) => compileRule(rule, before));
  if (typeof compiled === 'string') return found.answer;
  const wasAccepted = (value: unknown): boolean =>
    premises.every((each) => typeof each === 'string' || each.holds(value));
  if (found.answer === 'yes') {
    const broken = pairs.get(schema)?.find(({ value, now }) => wasAccepted(value) && !compiled.holds(now));
    expect(broken, `${old.join(' ; ')} => ${added}`).toBeUndefined();
  }
  if (found.answer === 'no') {
    const { witness } = found;
    const answers = [valid.validate(witness), wasAccepted(witness), compiled.holds(asSeenBy(schema, witness))];
    expect(answers).toEqual([[], true, false]);
  }
  return found.answer;
}

const RUNS = 30;

describe('no answer is contradicted by any value', () => {
  it.each([
    { reason: 'one schema', cases: related(same, before) },
    { reason: 'two schemas', cases: related(later, after) },
  ])('$reason', ({ cases }) => {
    const answers = { yes: 0, no: 0, unknown: 0 };
    fc.assert(
      fc.property(cases, (each) => {
        answers[check(each)]++;
      }),
      { numRuns: RUNS },
    );
    // The test must see each answer, or it proves nothing about that answer.
    expect(Math.min(answers.yes, answers.no)).toBeGreaterThan(RUNS / 40);
  });
});
