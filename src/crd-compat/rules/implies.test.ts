import { describe, expect, it } from 'vitest';
import { applyDefaults, validator } from '../instance/index.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { ruleImplies } from './index.ts';

const SCHEMA: CrdSchema = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 0 },
    min: { type: 'integer' },
    max: { type: 'integer' },
    ratio: { type: 'number' },
    name: { type: 'string' },
    mode: { type: 'string', enum: ['A', 'B', 'C'] },
    flag: { type: 'boolean' },
    since: { type: 'string', format: 'date-time' },
    port: { 'x-kubernetes-int-or-string': true },
    'dashed-name': { type: 'integer' },
    items: {
      type: 'array',
      maxItems: 5,
      items: {
        type: 'object',
        required: ['port'],
        properties: { port: { type: 'integer' }, name: { type: 'string' } },
      },
    },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    holes: { type: 'array', items: { type: 'integer', nullable: true } },
    inner: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string' } } },
  },
};
const WIDER: CrdSchema = {
  ...SCHEMA,
  properties: { ...SCHEMA.properties, fresh: { type: 'integer' }, usual: { type: 'integer', default: 5 } },
};
const TEXT: CrdSchema = { type: 'string' };

interface Row {
  readonly reason: string;
  readonly old: readonly string[];
  readonly added: string;
  readonly answer: 'yes' | 'no' | 'unknown';
  readonly before?: CrdSchema;
  readonly after?: CrdSchema;
}

const rows: readonly Row[] = [
  { reason: 'a higher bound', old: ['self.size <= 10'], added: 'self.size <= 20', answer: 'yes' },
  { reason: 'a lower bound', old: ['self.size <= 20'], added: 'self.size <= 10', answer: 'no' },
  { reason: 'the bound of the schema', old: [], added: 'self.size > -1', answer: 'yes' },
  { reason: 'more than the bound of the schema', old: [], added: 'self.size > 0', answer: 'no' },
  { reason: 'whole numbers', old: ['self.size > 0'], added: '1 <= self.size', answer: 'yes' },
  { reason: 'numbers that are not whole', old: ['self.ratio < 2'], added: 'self.ratio <= 1.0', answer: 'no' },
  { reason: 'a double and an int', old: ['self.ratio < 1.5'], added: 'self.ratio < 2', answer: 'yes' },
  {
    reason: 'one number is left',
    old: ['self.size > 0 && self.size < 3 && self.size != 1'],
    added: 'self.size == 2',
    answer: 'yes',
  },
  { reason: 'a field that may be missing fails the rule', old: [], added: 'self.max < 11 || true', answer: 'yes' },
  { reason: 'what is read must be there', old: [], added: 'self.max < 11 || self.max >= 11', answer: 'no' },
  {
    reason: 'a rule that read it shows that it is there',
    old: ['self.max <= 10'],
    added: 'has(self.max)',
    answer: 'yes',
  },
  {
    reason: 'an implication',
    old: ['!has(self.max) || self.max <= 10'],
    added: '!has(self.max) || self.max <= 20',
    answer: 'yes',
  },
  {
    reason: 'without its guard',
    old: ['!has(self.max) || self.max <= 10'],
    added: 'self.max <= 20',
    answer: 'no',
  },
  { reason: 'a conjunct is dropped', old: ['self.flag && self.size > 2'], added: 'self.flag', answer: 'yes' },
  { reason: 'a conjunct is added', old: ['self.flag'], added: 'self.flag && self.size > 2', answer: 'no' },
  {
    reason: 'two rules become one',
    old: ['self.flag', 'self.size > 2'],
    added: 'self.size > 2 && self.flag',
    answer: 'yes',
  },
  {
    reason: 'De Morgan',
    old: ['!(self.flag && self.size > 5)'],
    added: '!self.flag || self.size <= 5',
    answer: 'yes',
  },
  {
    reason: 'both or none',
    old: ['has(self.min) == has(self.max)'],
    added: '!has(self.min) || has(self.max)',
    answer: 'yes',
  },
  {
    reason: 'one needs the other, not the reverse',
    old: ['!has(self.min) || has(self.max)'],
    added: 'has(self.min) == has(self.max)',
    answer: 'no',
  },
  {
    reason: 'exactly one of, with one more to choose that is new',
    old: ['[has(self.min), has(self.max)].filter(x, x == true).size() == 1'],
    added: '[has(self.min), has(self.max), has(self.fresh)].filter(x, x == true).size() == 1',
    answer: 'yes',
    after: WIDER,
  },
  {
    reason: 'exactly one of, written as a sum',
    old: ['(has(self.min) ? 1 : 0) + (has(self.max) ? 1 : 0) == 1'],
    added: '[has(self.max), has(self.min)].exists_one(x, x)',
    answer: 'yes',
  },
  {
    reason: 'at most one of more',
    old: ['[has(self.min), has(self.max)].filter(x, x).size() <= 1'],
    added: '[has(self.min), has(self.max), has(self.name)].filter(x, x).size() <= 1',
    answer: 'no',
  },
  {
    reason: 'exactly one is at most one and at least one',
    old: ['[has(self.min), has(self.max), has(self.name)].filter(x, x).size() == 1'],
    added: '!(has(self.min) && has(self.max)) && (has(self.min) || has(self.max) || has(self.name))',
    answer: 'yes',
  },
  {
    reason: 'the key of a list that is a map is there once',
    old: [],
    added: 'self.all(x, self.exists_one(y, x.name == y.name))',
    answer: 'yes',
    before: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
  },
  {
    reason: 'elements that are alike',
    old: [],
    added: 'self.all(x, self.exists_one(y, x == y))',
    answer: 'no',
    before: { type: 'array', items: { type: 'string' } },
  },
  {
    reason: 'a choice by a condition',
    old: ['self.flag ? self.size > 5 : self.size < 3'],
    added: 'self.size != 4',
    answer: 'yes',
  },
  {
    reason: 'two fields, the other way round',
    old: ['self.min <= self.max'],
    added: 'self.max >= self.min',
    answer: 'yes',
  },
  { reason: 'two fields, strictly', old: ['self.min <= self.max'], added: 'self.min < self.max', answer: 'no' },
  { reason: 'an enumeration', old: [], added: '!has(self.mode) || self.mode in ["A", "B", "C"]', answer: 'yes' },
  { reason: 'less than the enumeration', old: [], added: '!has(self.mode) || self.mode in ["A", "B"]', answer: 'no' },
  {
    reason: 'what is left of an enumeration',
    old: ['self.mode != "C"'],
    added: 'self.mode == "A" || self.mode == "B"',
    answer: 'yes',
  },
  {
    reason: 'a wider pattern',
    old: ['self.name.matches("^[a-z]+$")'],
    added: 'self.name.matches("^[a-z0-9]+$")',
    answer: 'yes',
  },
  {
    reason: 'a narrower pattern',
    old: ['self.name.matches("^[a-z0-9]+$")'],
    added: 'self.name.matches("^[a-z]+$")',
    answer: 'no',
  },
  {
    reason: 'a shorter prefix',
    old: ['self.name.startsWith("ab")'],
    added: 'self.name.startsWith("a")',
    answer: 'yes',
  },
  {
    reason: 'a prefix has a length',
    old: ['self.name.startsWith("ab")'],
    added: 'size(self.name) >= 2',
    answer: 'yes',
  },
  {
    reason: 'a dot is no newline',
    old: ['self.name.size() <= 5'],
    added: 'self.name.matches("^.{0,5}$")',
    answer: 'no',
  },
  { reason: 'the size of a list', old: [], added: '!has(self.items) || size(self.items) <= 5', answer: 'yes' },
  {
    reason: 'all elements',
    old: ['self.items.all(i, i.port > 1000)'],
    added: 'self.items.all(x, x.port > 0)',
    answer: 'yes',
  },
  {
    reason: 'fewer elements',
    old: ['self.items.all(i, i.port > 0)'],
    added: 'self.items.all(x, x.port > 1000)',
    answer: 'no',
  },
  {
    reason: 'no element',
    old: ['!self.items.exists(x, x.port < 500)'],
    added: 'self.items.all(i, i.port >= 500)',
    answer: 'yes',
  },
  {
    reason: 'there is an element',
    old: ['self.items.exists(i, i.port > 1000)'],
    added: 'size(self.items) > 0 && self.items.exists(x, x.port > 0)',
    answer: 'yes',
  },
  {
    reason: 'all is no promise that there is one',
    old: ['self.items.all(i, i.port > 1000)'],
    added: 'self.items.exists(i, i.port > 1000)',
    answer: 'no',
  },
  {
    reason: 'an element that is null fails what reads it',
    old: ['has(self.holes)'],
    added: 'self.holes.all(x, x > 5 || x <= 5)',
    answer: 'unknown',
  },
  {
    reason: 'the values of a map',
    old: ['self.labels.all(k, self.labels[k].size() < 5)'],
    added: 'self.labels.all(k, self.labels[k].size() < 10)',
    answer: 'yes',
  },
  {
    reason: 'an entry of a map',
    old: ['self.labels["a"] == "x"'],
    added: '"a" in self.labels && has(self.labels.a)',
    answer: 'yes',
  },
  { reason: 'an entry that may be missing', old: ['has(self.labels)'], added: 'self.labels["a"] == "x"', answer: 'no' },
  {
    reason: 'a sum is the same either way',
    old: ['self.inner.a + self.size <= 10'],
    added: 'self.size + self.inner.a <= 20 && has(self.inner)',
    answer: 'yes',
  },
  {
    reason: 'times',
    old: ['self.since < timestamp("2020-01-01T00:00:00Z")'],
    added: 'self.since < timestamp("2021-01-01T00:00:00Z")',
    answer: 'yes',
  },
  {
    reason: 'what is not understood is the same if it is written the same, whatever its variables are called',
    old: ['self.items.map(i, i.port).sum() < 10'],
    added: 'self.items.map(each, each.port).sum() < 20',
    answer: 'yes',
  },
  { reason: 'int or string', old: ['self.port == 5'], added: 'self.port == 5', answer: 'yes' },
  {
    reason: 'names that are escaped',
    old: ['self.dashed__dash__name > 5'],
    added: 'self.dashed__dash__name > 4',
    answer: 'yes',
  },
  { reason: 'nothing is said', old: [], added: 'true', answer: 'yes' },
  { reason: 'nothing was accepted', old: ['false'], added: 'self.size == 77', answer: 'yes' },
  { reason: 'no rule', old: [], added: 'self.', answer: 'unknown' },
  {
    reason: 'a string as a whole',
    old: ['self.matches("^a+$")'],
    added: 'self.size() > 0 && !self.contains("b")',
    answer: 'yes',
    before: TEXT,
    after: TEXT,
  },
  {
    reason: 'the length of the schema',
    old: [],
    added: 'self.size() < 3',
    answer: 'yes',
    before: { ...TEXT, maxLength: 2 },
    after: TEXT,
  },
  {
    reason: 'a field that is new is not there',
    old: [],
    added: '!has(self.fresh) || self.fresh > 5',
    answer: 'yes',
    after: WIDER,
  },
  { reason: 'a field that is new is asked for', old: [], added: 'has(self.fresh)', answer: 'no', after: WIDER },
  { reason: 'a new default meets the rule', old: [], added: 'self.usual > 4', answer: 'yes', after: WIDER },
  { reason: 'a new default fails the rule', old: [], added: 'self.usual > 5', answer: 'no', after: WIDER },
  {
    reason: 'what else is new does not matter',
    old: ['self.size < 5'],
    added: 'self.size < 6',
    answer: 'yes',
    after: WIDER,
  },
  {
    reason: 'a default that is changed is not seen through',
    old: ['self.usual > 4'],
    added: 'self.usual > 4',
    answer: 'no',
    before: WIDER,
    after: { ...WIDER, properties: { ...WIDER.properties, usual: { type: 'integer', default: 1 } } },
  },
];

/** Rules that parse a string: only strings that the old rule accepts show that the new one refuses some. */
const parsing: readonly (readonly [old: string, added: string])[] = [
  ['isIP(self)', 'ip(self).family() == 4'],
  ['isIP(self)', 'ip(self).family() == 6'],
  ['isIP(self)', '!ip(self).isLoopback()'],
  ['isIP(self)', 'ip.isCanonical(self)'],
  ['isIP(self)', "cidr('10.0.0.0/8').containsIP(self)"],
  ['isCIDR(self)', 'cidr(self).prefixLength() >= 16'],
  ['isCIDR(self)', "cidr('10.0.0.0/8').containsCIDR(self)"],
  ['isCIDR(self)', 'cidr(self) == cidr(self).masked()'],
  ['isCIDR(self)', 'cidr(self).ip().family() == 4'],
  ['isURL(self)', "url(self).getScheme() == 'https'"],
  ['isURL(self)', "url(self).getHost() != ''"],
  ['isURL(self)', "url(self).getPort() == ''"],
  ['isURL(self)', 'url(self).getQuery().size() == 0'],
  ['isQuantity(self)', "quantity(self).isLessThan(quantity('10Gi'))"],
  ['isQuantity(self)', 'quantity(self).isInteger()'],
  [
    "isQuantity(self) && quantity(self).isGreaterThan(quantity('5Gi'))",
    "quantity(self).isGreaterThan(quantity('9Gi'))",
  ],
  ['isSemver(self)', 'semver(self).major() < 2'],
  ['isSemver(self)', "semver(self).isGreaterThan(semver('1.2.3'))"],
  ['!format.dns1123Subdomain().validate(self).hasValue()', '!format.dns1123Label().validate(self).hasValue()'],
  ['!format.uuid().validate(self).hasValue()', "self.startsWith('a')"],
  ['!format.qualifiedName().validate(self).hasValue()', "self.contains('/')"],
  ["duration(self) > duration('1s')", "duration(self) < duration('1h')"],
  ['timestamp(self).getFullYear() > 2000', 'timestamp(self).getFullYear() > 2020'],
  ["self.matches('^[0-9]+$')", 'int(self) < 100'],
];

describe('a rule that parses a string', () => {
  it.each(parsing)('%s does not imply %s, and is implied by both', (old, added) => {
    const judged = (given: string, rule: string) =>
      ruleImplies({ rules: [{ rule: given }], schema: TEXT }, { rule }, TEXT).answer;
    expect(judged(old, added)).toBe('no');
    expect(judged(`(${old}) && (${added})`, old)).toBe('yes');
  });
});

describe('whether a new rule follows', () => {
  it.each(rows)('$reason: $answer', ({ old, added, answer, before = SCHEMA, after = before }) => {
    const rules = old.map((rule) => ({ rule }));
    const found = ruleImplies({ rules, schema: before }, { rule: added }, after);
    expect(found.answer, found.because).toBe(answer);
    if (answer !== 'no') return;
    const valid = validator({ ...before, 'x-kubernetes-validations': rules }, { resource: false });
    expect(valid.validate(applyDefaults(found.witness, before))).toEqual([]);
  });

  it('shows a small value', () => {
    const found = ruleImplies(
      { rules: [{ rule: 'self.size <= 20' }], schema: SCHEMA },
      { rule: 'self.size <= 10' },
      SCHEMA,
    );
    expect(found.witness).toEqual({ size: 11 });
  });
});

const transitions: readonly {
  reason: string;
  old: readonly ValidationRule[];
  added: ValidationRule;
  answer: string;
}[] = [
  { reason: 'the same', old: [{ rule: 'self == oldSelf' }], added: { rule: 'oldSelf == self' }, answer: 'yes' },
  {
    reason: 'looser',
    old: [{ rule: 'self.size == oldSelf.size' }],
    added: { rule: 'self.size >= oldSelf.size' },
    answer: 'yes',
  },
  {
    reason: 'tighter',
    old: [{ rule: 'self.size >= oldSelf.size' }],
    added: { rule: 'self.size == oldSelf.size' },
    answer: 'unknown',
  },
  {
    reason: 'the other way round',
    old: [{ rule: 'self.size >= oldSelf.size' }],
    added: { rule: 'self.size <= oldSelf.size' },
    answer: 'unknown',
  },
  {
    reason: 'an exception more',
    old: [{ rule: 'self.name == oldSelf.name' }],
    added: { rule: '!has(oldSelf.name) || self.name == oldSelf.name' },
    answer: 'yes',
  },
  {
    reason: 'an exception less',
    old: [{ rule: '!has(oldSelf.name) || self.name == oldSelf.name' }],
    added: { rule: 'self.name == oldSelf.name' },
    answer: 'unknown',
  },
  { reason: 'one that always holds', old: [], added: { rule: 'self == oldSelf || self.size >= 0' }, answer: 'yes' },
  {
    reason: 'on an update alone',
    old: [{ rule: 'self.size == oldSelf.size && self.flag' }],
    added: { rule: 'self.flag' },
    answer: 'no',
  },
  {
    reason: 'on a create as well',
    old: [{ rule: 'self == oldSelf' }],
    added: { rule: 'oldSelf.hasValue()', optionalOldSelf: true },
    answer: 'unknown',
  },
];

describe('rules about a change', () => {
  it.each(transitions)('$reason: $answer', ({ old, added, answer }) => {
    expect(ruleImplies({ rules: old, schema: SCHEMA }, added, SCHEMA).answer).toBe(answer);
  });
});

describe('the root of a definition', () => {
  const root: CrdSchema = {
    type: 'object',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { type: 'object', properties: { size: { type: 'integer' } } },
    },
  };

  it('has metadata that rules may read', () => {
    const old = { rules: [{ rule: 'self.metadata.name.size() < 5' }], schema: root };
    expect(ruleImplies(old, { rule: 'self.metadata.name.size() < 9' }, root).answer).toBe('yes');
  });

  it('has metadata even where its schema does not name it', () => {
    const bare: CrdSchema = { type: 'object', properties: { spec: { type: 'object' } } };
    const found = ruleImplies({ rules: [], schema: bare }, { rule: 'self.metadata.name.size() < 5' }, bare);
    expect(found).toMatchObject({ answer: 'no', witness: { metadata: { name: 'example' } } });
  });

  it('is shown as a whole', () => {
    const found = ruleImplies({ rules: [], schema: root }, { rule: '!has(self.spec)' }, root);
    expect(found).toMatchObject({ answer: 'no', witness: { metadata: { name: 'example' }, spec: {} } });
  });
});
