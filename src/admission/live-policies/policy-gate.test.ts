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
  const written = (kind: string, object: Json, oldObject?: Json) =>
    evaluate(
      {
        uid: '1',
        kind: { group: 'platform.company.com', version: 'v1', kind },
        operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
        object: { apiVersion: 'platform.company.com/v1', kind, ...object },
        ...(oldObject === undefined ? {} : { oldObject }),
      } as AdmissionRequest,
      deadlineIn(60_000),
    );
  const policy = (spec: object, oldSpec?: object) => {
    const metadata = { name: 'p' };
    return written('Policy', { metadata, spec }, oldSpec === undefined ? undefined : { metadata, spec: oldSpec });
  };
  const exception = (namespace: string, spec: object) =>
    written('PolicyException', { metadata: { name: 'e', namespace }, spec });
  return { cluster, source, policy, exception };
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
