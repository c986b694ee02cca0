import { afterEach, describe, expect, test } from 'vitest';
import { type PolicyCluster, policyCluster, policySpec } from '../../../test/support/live-policies.ts';
import { eventually } from '../../runtime/testing/index.ts';
import { deadlineIn } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import { policyGate, describe as words } from './policy-gate.ts';
import { type LivePolicySource, startPolicySource } from './source.ts';

const running: LivePolicySource[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

async function start(cluster: PolicyCluster = policyCluster(), budgetMilliseconds = 10_000) {
  const source = startPolicySource({
    client: cluster.client,
    platformNamespace: 'kidp-system',
    exceptionNamespaces: ['policy-exceptions'],
  });
  running.push(source);
  await source.whenSynced();
  const evaluate = policyGate({ client: cluster.client, source, budgetMilliseconds });
  const written = (kind: string, object: Json, oldObject?: Json, { within = 60_000, address = '' } = {}) =>
    evaluate(
      {
        uid: '1',
        kind: { group: 'platform.company.com', version: 'v1', kind },
        operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
        object: { apiVersion: 'platform.company.com/v1', kind, ...object },
        ...(oldObject === undefined ? {} : { oldObject }),
        caller: { trusted: false, address },
      } as AdmissionRequest,
      deadlineIn(within),
    );
  const policy = (spec: object, oldSpec?: object) => {
    const metadata = { name: 'p' };
    return written('Policy', { metadata, spec }, oldSpec === undefined ? undefined : { metadata, spec: oldSpec });
  };
  const exception = (namespace: string, spec: object) =>
    written('PolicyException', { metadata: { name: 'e', namespace }, spec });
  return { cluster, source, policy, exception, written };
}

describe('a Policy is refused', () => {
  test.each([
    {
      reason: 'where it does not parse, with line and column',
      spec: policySpec('object.data.a ==\n  && true'),
      code: 'syntax',
      field: 'spec.rules[0].expression',
      said: /spec\.rules\[0\]\.expression, line 2, column 3: /,
    },
    {
      reason: 'where it names something that no type it matches has, with the nearest',
      spec: policySpec("object.dta.a == 'x'"),
      code: undefined,
      field: 'spec.rules[0].expression',
      said: /dta.*data/s,
    },
    {
      reason: 'where its own tests fail',
      spec: policySpec("object.data.a == 'x'", {
        tests: [
          {
            name: 'without it',
            object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' }, data: { a: 'y' } },
            expect: { allowed: true },
          },
        ],
      }),
      code: 'TestFailed',
      field: 'spec.tests[0]',
      said: /test "without it" \(spec\.tests\[0\]\) failed: /,
    },
    { reason: 'where it is no Policy', spec: { rules: 7 }, code: undefined, field: undefined, said: /./ },
  ])('$reason', async ({ spec, code, field, said }) => {
    const { policy } = await start();
    const { violations } = await policy(spec);
    expect(violations.length).toBeGreaterThan(0);
    expect(violations[0]).toMatchObject({ gate: 'policy', message: expect.stringMatching(said) });
    if (code !== undefined) expect(violations[0]?.code).toBe(code);
    if (field !== undefined) expect(violations[0]?.field).toBe(field);
  });
});

describe('a Policy is admitted', () => {
  test('with the existing objects that it would deny, by name', async () => {
    const cluster = policyCluster();
    for (let index = 0; index < 8; index += 1)
      cluster.putConfigMap(`c${index}`, 'team-a', { a: index < 7 ? 'y' : 'x' });
    const { policy } = await start(cluster);
    const { violations, warnings } = await policy(policySpec("object.data.a == 'x'"));
    expect(violations).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /^would deny 7 of 8 matched existing objects \(8 objects checked in \d+\.\d s\): ConfigMap team-a\/c0 \(rule\), .* and 2 more$/,
    );
  });

  test('with the objects that its params are read from, though nobody watches them yet', async () => {
    const cluster = policyCluster();
    cluster.putConfigMap('limits', 'default', { wanted: 'x' });
    cluster.putConfigMap('c', 'team-a', { a: 'y' });
    const { policy } = await start(cluster);
    const params = { params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', namespace: 'default' } };
    const spec = policySpec('object.data.?a.orValue(params.data.wanted) == params.data.wanted', params);
    expect((await policy(spec)).warnings[0]).toContain('would deny 1 of 2 matched existing objects');
  });

  test('without counting what an exception exempts, and says which rules only a request can answer', async () => {
    const cluster = policyCluster();
    cluster.putConfigMap('c', 'team-a', {});
    cluster.putException('e', 'policy-exceptions', {
      policies: [{ name: 'p', rules: ['rule'] }],
      selector: {},
      reason: 'for now',
      requester: 'ada@company.com',
    });
    const { policy, source } = await start(cluster);
    await eventually(() => source.current().set.exceptions.size === 1);
    const rules = [
      { name: 'rule', expression: 'false' },
      { name: 'who', expression: "request.userInfo.username == 'ada'" },
    ];
    const { warnings } = await policy(policySpec('true', { rules }));
    expect(warnings[0]).toContain('would deny none of 1 matched existing objects');
    expect(warnings[1]).toBe('rules not evaluated for existing objects, because they need a request: who');
  });

  test('with an honest count where not everything could be looked at', async () => {
    const cluster = policyCluster();
    cluster.putConfigMap('c', 'team-a', {});
    const { policy } = await start(cluster);
    cluster.refuse('configmaps', new Error('not today'));
    const { warnings } = await policy(policySpec('false'));
    expect(warnings).toEqual([
      expect.stringContaining('would deny none of 0 matched existing objects'),
      'not checked: configmaps (the lookup failed)',
    ]);
    cluster.refuse('configmaps', undefined);
    const late = await start(cluster, 0);
    expect((await late.policy(policySpec('false'))).warnings[0]).toContain('only the first 0 objects checked in 0.0 s');
  });

  test('with a warning where a type is not there yet', async () => {
    const { policy } = await start();
    const selector = { resourceTypes: ['x.dev/v1/Thing'] };
    const { violations, warnings } = await policy(policySpec('object.spec.size > 1', { selector }));
    expect(violations).toEqual([]);
    expect(warnings[0]).toMatch(/kind x\.dev\/v1\/Thing was not found/);
  });

  test('whatever it says, where that does not change', async () => {
    const { policy } = await start();
    const broken = policySpec('(');
    expect(await policy(broken, broken)).toEqual({ violations: [], warnings: [], patches: [] });
  });

  test('with nothing to count where it only mutates', async () => {
    const { policy } = await start();
    const { rules, ...spec } = policySpec('true');
    const expression = 'Object{metadata: Object.metadata{labels: {"a": "b"}}}';
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
    expect(await policy({ ...spec, mutations })).toMatchObject({ violations: [], warnings: [] });
  });
});

test('a partial count says so', () => {
  const radius = { looked: 4200, matched: 100, denied: 7, first: ['a', 'b'], missing: [], partial: true, unasked: [] };
  expect(words({ ...radius, milliseconds: 1_980 })).toEqual([
    'would deny at least 7 of 100 matched existing objects (only the first 4200 objects checked in 2.0 s): a, b and 5 more',
  ]);
});

describe('an exception', () => {
  const spec = (policies: object[], more: object = {}) => ({
    policies,
    selector: {},
    reason: 'for now',
    requester: 'ada@company.com',
    ...more,
  });

  test.each([
    {
      reason: 'from a policy that is not there',
      policies: [{ name: 'none' }],
      said: /Policy none does not exist \(yet\)/,
    },
    {
      reason: 'from a rule that is not there',
      policies: [{ name: 'p', rules: ['x'] }],
      said: /no rule x; it has rule/,
    },
    {
      reason: 'from a rule that takes none',
      policies: [{ name: 'p', rules: ['strict'] }],
      said: /does not allow exceptions/,
    },
    {
      reason: 'whose time is over',
      policies: [{ name: 'p' }],
      more: { expiresAt: '2020-01-01' },
      said: /it has expired/,
    },
    {
      reason: 'in a namespace that does not count',
      namespace: 'team-a',
      policies: [{ name: 'p' }],
      said: /no effect in namespace team-a: exceptions take effect only in policy-exceptions/,
    },
  ])('$reason is admitted with a warning', async ({ policies, more, namespace = 'policy-exceptions', said }) => {
    const cluster = policyCluster();
    const rules = [
      { name: 'rule', expression: 'true' },
      { name: 'strict', expression: 'true', exceptions: 'Never' },
    ];
    cluster.putPolicy('p', 'true', { rules });
    const { exception } = await start(cluster);
    const { violations, warnings } = await exception(namespace, spec(policies, more));
    expect(violations).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(said)]);
  });

  test('that does not compile is refused', async () => {
    const { exception } = await start();
    const conditions = { matchConditions: [{ name: 'c', expression: 'object.(' }] };
    const { violations } = await exception('policy-exceptions', spec([{ name: 'p' }], conditions));
    expect(violations[0]).toMatchObject({ field: 'spec.matchConditions[0].expression' });
  });

  test('that is valid is admitted without warnings', async () => {
    const cluster = policyCluster();
    cluster.putPolicy('p', 'true');
    const { exception } = await start(cluster);
    expect((await exception('policy-exceptions', spec([{ name: 'p', rules: ['rule'] }]))).warnings).toEqual([]);
  });
});

describe('a Policy that takes long to examine', () => {
  const list = Array.from({ length: 1_000 }, (_, index) => ({ b: index, s: 'y'.repeat(100) }));
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', namespace: 'n' },
    data: { a: 'x', list },
  };
  /** A rule that takes some ten milliseconds for `object`, and then its cost limit. */
  const slow = 'dyn(object.data).list.all(x, dyn(object.data).list.all(y, x.s != y.s || x.b != y.b || x.b == y.b))';
  const long = (index: number) =>
    `${Array.from({ length: 400 }, (_, each) => `object.data.a${index}_${each} == '1'`).join(' || ')} || true`;
  const rules = (count: number, text: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => ({ name: `r${index}`, expression: text(index) }));
  const tests = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `t${index}`, object, expect: { allowed: false } }));

  /** Counts the turns of the event loop until a promise settles. */
  async function turnsDuring(examined: Promise<unknown>): Promise<number> {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await examined.finally(() => {
      isOver = true;
    });
    return turns;
  }

  test.each([
    { reason: 'its expressions are compiled', spec: policySpec('true', { rules: rules(12, long) }) },
    {
      reason: 'the conditions of an exception are compiled',
      kind: 'PolicyException',
      spec: {
        policies: [{ name: 'p' }],
        selector: {},
        reason: 'for now',
        requester: 'ada@company.com',
        matchConditions: rules(12, (index) => long(index + 100)),
      },
    },
    { reason: 'its tests run', spec: policySpec(slow, { tests: tests(10) }) },
  ])('lets others have their turn while $reason', async ({ spec, kind = 'Policy' }) => {
    const { written } = await start();
    const metadata = { name: 'p', namespace: 'policy-exceptions' };
    expect(await turnsDuring(written(kind, { metadata, spec }))).toBeGreaterThan(10);
  });

  test('lets others have their turn while existing objects are evaluated', async () => {
    const cluster = policyCluster();
    const a = JSON.stringify(list);
    for (let index = 0; index < 40; index += 1) cluster.putConfigMap(`c${index}`, 'team-a', { a });
    const { policy } = await start(cluster);
    const expression = `[${list.map(({ b }) => b).join(',')}].all(x, object.data.a.contains('z'.substring(0, 1) + string(x)))`;
    let warnings: readonly string[] = [];
    const examined = policy(policySpec(expression)).then((found) => {
      warnings = found.warnings;
    });
    expect(await turnsDuring(examined)).toBeGreaterThan(10);
    expect(warnings[0]).toMatch(/^would deny 40 of 40 /);
  });

  test('is denied where the deadline passes first', async () => {
    const { written } = await start();
    const spec = policySpec('true', { rules: rules(90, (index) => long(index + 200)) });
    const { violations } = await written('Policy', { metadata: { name: 'p' }, spec }, undefined, { within: 510 });
    expect(violations).toEqual([expect.objectContaining({ code: 'ExaminationTimedOut' })]);
  });

  test('is denied where one test takes too long, though it expects a denial', async () => {
    const { policy } = await start();
    const spec = policySpec('true', { rules: rules(128, (index) => `${slow} && ${index} >= 0`), tests: tests(1) });
    const { violations } = await policy(spec);
    expect(violations).toEqual([
      expect.objectContaining({ code: 'TestFailed', message: expect.stringContaining('took longer than 250 ms') }),
    ]);
  });

  test('is denied where it is larger than an object can be', async () => {
    const { policy } = await start();
    const data = { a: 'x'.repeat(1_600_000) };
    const { violations } = await policy(
      policySpec('true', { tests: [{ ...tests(1)[0], object: { ...object, data } }] }),
    );
    expect(violations).toEqual([expect.objectContaining({ code: 'TooLarge' })]);
  });

  test('is examined alone: others wait, an address takes its turns, and too many are refused', async () => {
    const { written } = await start();
    const order: string[] = [];
    const apply = (address: string) =>
      written('Policy', { metadata: { name: 'p' }, spec: policySpec(slow, { tests: tests(2) }) }, undefined, {
        address,
      }).then(
        () => order.push(address),
        ({ status }) => order.push(`${address} ${status}`),
      );
    const many = Array.from({ length: 40 }, () => apply('10.0.0.1'));
    await Promise.all([...many, apply('10.0.0.2')]);
    // One begins at once, the bound is 32, and the newest of the address with the most is refused.
    expect(order.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => '10.0.0.1 429'));
    expect(order.indexOf('10.0.0.2')).toBeLessThanOrEqual(10);
    expect(order).toHaveLength(41);
  });
});
