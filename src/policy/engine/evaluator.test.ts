import { describe, expect, it } from 'vitest';
import type { AdmissionRequest, Json } from '../request.ts';
import { emptyWorld, type World } from '../world.ts';
import { decide, decideWithAuthorizer } from './decide.ts';
import { policySet } from './set.ts';
import { exceptionFrom, NOW, policyFrom, requestFor, setFrom } from './support/policies.ts';

const thing = (spec: object, metadata: object = {}): Json => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 't', namespace: 'n', ...metadata },
  spec,
});
const world = emptyWorld(NOW);
const judge = (spec: object, object: Json, more: Partial<AdmissionRequest> = {}, in_: World = world) =>
  decide(setFrom(spec), requestFor(object, more), in_, { passes: true });
const first = (spec: object, object: Json, more: Partial<AdmissionRequest> = {}, in_: World = world) =>
  judge(spec, object, more, in_).results[0];
const rule = (more: object) => ({ rules: [{ name: 'r', expression: 'false', ...more }] });

describe('messages', () => {
  it.each<{ reason: string; rule: object; message: string }>([
    { reason: 'the message', rule: { message: ' Do it. ' }, message: 'Do it.' },
    {
      reason: 'the computed one first',
      rule: { message: 'a', messageExpression: "'it is ' + metadata.name" },
      message: 'it is t',
    },
    {
      reason: 'the written one where the computed fails',
      rule: { message: 'a', messageExpression: 'string(spec.none)' },
      message: 'a',
    },
    { reason: 'or is empty', rule: { message: 'a', messageExpression: "' '" }, message: 'a' },
    { reason: 'or has lines', rule: { message: 'a', messageExpression: "'x\\ny'" }, message: 'a' },
    { reason: 'or is too long', rule: { message: 'a', messageExpression: 'spec.long' }, message: 'a' },
    { reason: 'or is no text', rule: { message: 'a', messageExpression: 'spec.number' }, message: 'a' },
    { reason: 'the expression where there is nothing else', rule: {}, message: 'failed expression: false' },
  ])('$reason', ({ rule: more, message }) => {
    expect(first(rule(more), thing({ long: 'x'.repeat(6000), number: 1 }))?.message).toBe(message);
  });
});

describe('actions', () => {
  it.each<{ reason: string; rule: object; result: string; denies: boolean; audited: boolean }>([
    { reason: 'deny unless said otherwise', rule: {}, result: 'fail', denies: true, audited: false },
    { reason: 'warn', rule: { enforcement: 'Warn' }, result: 'warn', denies: false, audited: false },
    { reason: 'audit', rule: { enforcement: 'Audit' }, result: 'audit', denies: false, audited: true },
    {
      reason: 'audit before the date',
      rule: { enforceAfter: '2026-06-02' },
      result: 'audit',
      denies: false,
      audited: true,
    },
    {
      reason: 'deny from the date on',
      rule: { enforceAfter: '2026-06-01' },
      result: 'fail',
      denies: true,
      audited: false,
    },
    { reason: 'a failure denies', rule: { expression: 'spec.none' }, result: 'error', denies: true, audited: false },
    {
      reason: 'a failure of what only warns does not',
      rule: { expression: 'spec.none', enforcement: 'Warn' },
      result: 'error',
      denies: false,
      audited: false,
    },
    {
      reason: 'an answer that is none is a failure',
      rule: { expression: 'spec.number' },
      result: 'error',
      denies: true,
      audited: false,
    },
  ])('$reason', ({ rule: more, result, denies, audited }) => {
    expect(first(rule(more), thing({ number: 1 }))).toMatchObject({ result, denies, audited });
  });

  it('admits a failure with failurePolicy Ignore', () => {
    const decision = judge({ ...rule({ expression: 'spec.none' }), failurePolicy: 'Ignore' }, thing({}));
    expect(decision).toMatchObject({ allowed: true, results: [{ result: 'error', denies: false }] });
  });

  it('returns severity, category and reason', () => {
    expect(first(rule({ severity: 'high', category: 'Safety', reason: 'Forbidden' }), thing({}))).toMatchObject({
      severity: 'high',
      category: 'Safety',
      reason: 'Forbidden',
    });
  });
});

describe('match conditions', () => {
  it.each<{ reason: string; conditions: readonly string[]; failurePolicy?: string; results: readonly string[] }>([
    { reason: 'all are true', conditions: ['true', '1 == 1'], results: ['fail'] },
    { reason: 'one is false', conditions: ['true', 'false'], results: [] },
    { reason: 'false outweighs a failure', conditions: ['spec.none', 'false'], results: [] },
    { reason: 'a failure counts', conditions: ['spec.none', 'true'], results: ['error'] },
    { reason: 'a failure under Ignore is no match', conditions: ['spec.none'], failurePolicy: 'Ignore', results: [] },
  ])('$reason', ({ conditions, failurePolicy = 'Fail', results }) => {
    const matchConditions = conditions.map((expression, index) => ({ name: `c${index}`, expression }));
    const decision = judge({ ...rule({}), matchConditions, failurePolicy }, thing({}));
    expect(decision.results.map(({ result }) => result)).toEqual(results);
    expect(decision.matched.length).toBe(results.length);
  });
});

describe('variables', () => {
  it.each<{ reason: string; expression: string; more?: Partial<AdmissionRequest> }>([
    {
      reason: 'the object under its short names',
      expression: "spec.a == 1 && metadata.name == 't' && kind == 'Thing' && apiVersion == 'example.com/v1'",
    },
    {
      reason: 'no object on DELETE, and the short names are of what goes',
      expression: 'object == null && spec.a == 1 && oldObject.spec.a == 1',
      more: { operation: 'DELETE', object: null as never, oldObject: thing({ a: 1 }) },
    },
    { reason: 'no old object on CREATE', expression: 'oldObject == null' },
    {
      reason: 'the request',
      expression:
        "request.operation == 'CREATE' && request.kind.kind == 'Thing' && request.resource.resource == 'things' && !request.dryRun",
    },
    {
      reason: 'what is empty in a request is left out',
      expression: '!has(request.subResource) && !has(request.userInfo.username)',
    },
    {
      reason: 'who asks',
      expression: "request.userInfo.username == 'ada' && 'devs' in request.userInfo.groups",
      more: { userInfo: { username: 'ada', groups: ['devs'] } },
    },
    { reason: 'the namespace', expression: "namespaceObject.metadata.labels.env == 'prod'" },
  ])('$reason', ({ expression, more }) => {
    const known: World = { ...world, namespace: (name) => ({ metadata: { name, labels: { env: 'prod' } } }) };
    const operations = ['CREATE', 'UPDATE', 'DELETE'];
    const spec = { selector: { resourceTypes: ['*'], operations }, ...rule({ expression }) };
    expect(first(spec, thing({ a: 1 }), more, known)).toMatchObject({ result: 'pass' });
  });

  it('evaluates a variable once, however many read it, and charges each policy for it', () => {
    const variables = [
      { name: 'n', expression: 'spec.list.map(x, x * 2)' },
      { name: 'm', expression: 'variables.n.size()' },
    ];
    const reading = {
      variables,
      rules: [
        { name: 'a', expression: 'variables.m == 3' },
        { name: 'b', expression: 'variables.n.size() == 3' },
      ],
    };
    const object = thing({ list: [1, 2, 3] });
    const alone = judge(reading, object).cost;
    expect(decide(setFrom(reading, reading, reading), requestFor(object), world).cost).toBe(3 * alone);
  });

  it('fails if a variable that it reads fails', () => {
    const variables = [{ name: 'bad', expression: 'spec.none' }];
    expect(first({ variables, ...rule({ expression: 'variables.bad == 1' }) }, thing({}))?.message).toContain(
      'composited variable "bad" fails to evaluate: no such key: none',
    );
    expect(first({ variables, ...rule({ expression: 'true || variables.bad == 1' }) }, thing({}))?.result).toBe('pass');
  });

  it('reads other objects by name', () => {
    const context = [
      { name: 'limits', apiVersion: 'v1', kind: 'ConfigMap', resourceName: 'limits', namespace: 'x' },
      { name: 'things', apiVersion: 'example.com/v1', kind: 'Thing' },
    ];
    const find: World['find'] = ({ kind, name }) =>
      kind === 'Thing' ? [thing({}), thing({})] : name === 'limits' ? [{ data: { max: '3' } }] : [];
    const spec = { context, ...rule({ expression: 'things.size() < int(limits.data.max)' }) };
    expect(first(spec, thing({}), {}, { ...world, find })?.result).toBe('pass');
    expect(
      first({ context, ...rule({ expression: 'limits == null' }) }, thing({}), {}, { ...world, find: () => [] })
        ?.result,
    ).toBe('pass');
  });

  it('does not admit an object because a lookup failed, and skips the rule without a request', () => {
    const spec = {
      context: [{ name: 'things', apiVersion: 'example.com/v1', kind: 'Thing' }],
      ...rule({ expression: 'things.size() < 3' }),
    };
    expect(first(spec, thing({}))).toMatchObject({ result: 'error', denies: true });
    expect(first(spec, thing({}), { unknown: ['operation'] })).toMatchObject({ result: 'skip' });
  });
});

describe('params', () => {
  const params = { apiVersion: 'v1', kind: 'ConfigMap', name: 'p' };
  const reading = rule({ expression: 'spec.a < int(params.data.max)' });
  it.each<{ reason: string; found: readonly Json[]; more?: object; result: string; denies: boolean }>([
    { reason: 'one that allows', found: [{ data: { max: '5' } }], result: 'pass', denies: false },
    { reason: 'one that does not', found: [{ data: { max: '1' } }], result: 'fail', denies: true },
    { reason: 'none, and that counts', found: [], result: 'error', denies: true },
    {
      reason: 'none, and that is fine',
      found: [],
      more: { parameterNotFoundAction: 'Allow' },
      result: 'skip',
      denies: false,
    },
  ])('$reason', ({ found, more, result, denies }) => {
    const spec = { params: { ...params, ...more }, ...reading };
    expect(first(spec, thing({ a: 3 }), {}, { ...world, find: () => found })).toMatchObject({ result, denies });
  });

  it.each<{ reason: string; metadata: object; result: string }>([
    { reason: 'those without a namespace', metadata: { name: 'p' }, result: 'pass' },
    {
      reason: 'not those that somebody has in a namespace',
      metadata: { name: 'p', namespace: 'mine' },
      result: 'error',
    },
  ])('of what has no namespace are, unless one is said, $reason', ({ metadata, result }) => {
    const find = () => [{ metadata, data: { max: '5' } }];
    const clusterWide = thing({ a: 3 }, { namespace: '' });
    expect(first({ params, ...reading }, clusterWide, {}, { ...world, find })?.result).toBe(result);
    expect(
      first({ params: { ...params, namespace: 'mine' }, ...reading }, clusterWide, {}, { ...world, find })?.result,
    ).toBe('pass');
  });

  it('keeps the results of params objects apart', () => {
    const spec = {
      params: { apiVersion: 'v1', kind: 'ConfigMap', selector: {} },
      variables: [{ name: 'max', expression: 'int(params.data.max)' }],
      ...rule({ expression: 'spec.a < variables.max' }),
    };
    const find = () => [{ data: { max: '5' } }, { data: { max: '1' } }, { data: { max: '9' } }];
    expect(judge(spec, thing({ a: 3 }), {}, { ...world, find }).results.map(({ result }) => result)).toEqual([
      'pass',
      'fail',
      'pass',
    ]);
  });
});

describe('ratchet', () => {
  const list = (...bad: boolean[]) => thing({ list: bad.map((each) => ({ ok: !each })) });
  const spec = (expression: string) => rule({ expression, ratchet: true });
  const update = (oldObject: Json): Partial<AdmissionRequest> => ({ operation: 'UPDATE', oldObject });
  it.each<{ reason: string; expression?: string; before: Json; after: Json; result: string }>([
    { reason: 'it was right before', before: list(false), after: list(true), result: 'fail' },
    { reason: 'it is no worse', before: list(true), after: list(true), result: 'audit' },
    { reason: 'it is better', before: list(true, true), after: list(true), result: 'audit' },
    { reason: 'it is worse', before: list(true, false), after: list(true, true), result: 'fail' },
    { reason: 'it is right now', before: list(true), after: list(false), result: 'pass' },
    {
      reason: 'it is worse far down the list',
      before: list(true, ...Array<boolean>(700).fill(false)),
      after: list(true, ...Array<boolean>(700).fill(false), true),
      result: 'fail',
    },
    {
      reason: 'nobody counts so many',
      before: list(...Array<boolean>(20_001).fill(true)),
      after: list(...Array<boolean>(20_001).fill(true)),
      result: 'fail',
    },
    {
      reason: 'without a loop it is enough that it was so',
      expression: 'spec.a == 1',
      before: thing({ a: 2 }),
      after: thing({ a: 3 }),
      result: 'audit',
    },
    {
      reason: 'each loop counts',
      expression: 'spec.a.all(x, x) && spec.b.all(x, x)',
      before: thing({ a: [false], b: [true] }),
      after: thing({ a: [false], b: [false] }),
      result: 'fail',
    },
  ])('$reason', ({ expression = 'spec.list.all(x, x.ok)', before, after, result }) => {
    expect(first(spec(expression), after, update(before))?.result).toBe(result);
  });

  describe('an object that the policy did not match before did not violate it', () => {
    const labelled = (env: string) => thing({ a: 2 }, { labels: { env } });
    it.each<{ reason: string; policy: object; before: string; after: string; result: string }>([
      {
        reason: 'a label that it selects by is new',
        policy: { selector: { resourceTypes: ['*/*/*'], matchLabels: { env: 'prod' } } },
        before: 'dev',
        after: 'prod',
        result: 'fail',
      },
      {
        reason: 'the label was there before',
        policy: { selector: { resourceTypes: ['*/*/*'], matchLabels: { env: 'prod' } } },
        before: 'prod',
        after: 'prod',
        result: 'audit',
      },
      {
        reason: 'a condition is new',
        policy: { matchConditions: [{ name: 'c', expression: "metadata.labels.env == 'prod'" }] },
        before: 'dev',
        after: 'prod',
        result: 'fail',
      },
      {
        reason: 'a condition is about the change',
        policy: { matchConditions: [{ name: 'c', expression: 'object != oldObject' }] },
        before: 'dev',
        after: 'prod',
        result: 'audit',
      },
      {
        reason: 'a condition held before',
        policy: { matchConditions: [{ name: 'c', expression: "metadata.labels.env == 'prod'" }] },
        before: 'prod',
        after: 'prod',
        result: 'audit',
      },
    ])('$reason', ({ policy, before, after, result }) => {
      const found = first({ ...spec('spec.a == 1'), ...policy }, labelled(after), update(labelled(before)));
      expect(found?.result).toBe(result);
    });
  });

  it('applies to updates only', () => {
    expect(first(spec('spec.a == 1'), thing({ a: 2 }))?.result).toBe('fail');
    expect(first(spec('spec.a == 1'), thing({ a: 2 }), { unknown: ['oldObject'] })?.result).toBe('fail');
  });
});

describe('exceptions', () => {
  const policy = policyFrom(rule({}));
  const never = policyFrom(rule({ exceptions: 'Never' }));
  it.each<{ reason: string; exception: object; more?: Partial<AdmissionRequest>; to?: typeof policy; result: string }>([
    { reason: 'everything', exception: { selector: {} }, result: 'skip' },
    { reason: 'the rule', exception: { policies: [{ name: 'p', rules: ['r'] }], selector: {} }, result: 'skip' },
    { reason: 'another rule', exception: { policies: [{ name: 'p', rules: ['x'] }], selector: {} }, result: 'fail' },
    { reason: 'another policy', exception: { policies: [{ name: 'q' }], selector: {} }, result: 'fail' },
    { reason: 'another object', exception: { selector: { names: ['x'] } }, result: 'fail' },
    {
      reason: 'by an expression',
      exception: { matchConditions: [{ name: 'c', expression: 'spec.legacy' }] },
      result: 'skip',
    },
    {
      reason: 'an expression that fails exempts nobody',
      exception: { matchConditions: [{ name: 'c', expression: 'spec.none' }] },
      result: 'fail',
    },
    { reason: 'until it is over', exception: { selector: {}, expiresAt: '2026-06-02' }, result: 'skip' },
    { reason: 'not when it is over', exception: { selector: {}, expiresAt: '2026-06-01' }, result: 'fail' },
    { reason: 'a rule that has none', exception: { selector: {} }, to: never, result: 'fail' },
    {
      reason: 'not by the labels of a namespace where there is none',
      exception: { selector: { namespaceSelector: { matchLabels: { env: 'dev' } } } },
      more: { object: thing({}, { namespace: '' }) },
      result: 'fail',
    },
    {
      reason: 'by who asks, which is not known',
      exception: { selector: { users: ['ada'] } },
      more: { unknown: ['userInfo'] },
      result: 'skip',
    },
  ])('$reason', ({ exception, more, to = policy, result }) => {
    const set = policySet({ policies: [to], exceptions: [exceptionFrom(exception)] });
    expect(decide(set, requestFor(thing({ legacy: true }), more), world).results[0]?.result).toBe(result);
  });

  it('for Pods also applies to workload controllers', () => {
    const pods = policyFrom({ selector: { resourceTypes: ['core/v1/Pod'] }, ...rule({}) });
    const deployment: Json = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', namespace: 'n' },
      spec: { template: { spec: {} } },
    };
    const set = (type: string) =>
      policySet({ policies: [pods], exceptions: [exceptionFrom({ selector: { resourceTypes: [type] } })] });
    expect(decide(set('core/v1/Pod'), requestFor(deployment), world).results[0]?.result).toBe('skip');
    expect(decide(set('apps/v1/Deployment'), requestFor(deployment), world).results[0]?.result).toBe('skip');
    expect(decide(set('batch/v1/Job'), requestFor(deployment), world).results[0]?.result).toBe('fail');
  });
});

describe('authorizer', () => {
  const asking = rule({ expression: "authorizer.group('').resource('pods').namespace('n').check('create').allowed()" });
  it('lists the open questions, then uses the answers', async () => {
    const decision = judge(asking, thing({}));
    expect(decision.questions).toMatchObject([{ kind: 'resource', resource: 'pods', verb: 'create', namespace: 'n' }]);
    const answered = await decideWithAuthorizer(setFrom(asking), requestFor(thing({})), world, async (questions) =>
      questions.map(() => ({ allowed: true })),
    );
    expect(answered).toMatchObject({ allowed: true, questions: [] });
    const denied = await decideWithAuthorizer(setFrom(asking), requestFor(thing({})), world, async () => []);
    expect(denied.allowed).toBe(false);
  });

  it('provides the resource of the request', () => {
    const spec = rule({ expression: "authorizer.requestResource.check('approve').allowed()" });
    expect(judge(spec, thing({}), { namespace: 'n', name: 't' }).questions).toMatchObject([
      { group: 'example.com', resource: 'things', namespace: 'n', name: 't', verb: 'approve' },
    ]);
  });
});

it('publishes audit annotations, whether the rule passes or not', () => {
  const auditAnnotations = [
    { key: 'name', valueExpression: 'string(metadata.name)' },
    { key: 'none', valueExpression: 'null' },
    { key: 'bad', valueExpression: 'string(spec.none)' },
  ];
  expect(judge(rule({ expression: 'true', auditAnnotations }), thing({})).auditAnnotations).toEqual({ 'p0/name': 't' });
});
