import { expect, test } from 'vitest';
import { compile, environment, types } from '../../cel/index.ts';
import type { ScopeEntry } from '../../policy/internal.ts';
import { resourceMapping } from '../../runtime/internal.ts';
import { policyKindWebhooks } from './policy-kinds-webhook.ts';
import { rulesFor } from './rules.ts';
import type { WebhookScope } from './types.ts';

const group = `it's "ours"\\`;
const everything: ScopeEntry = {
  group: '*',
  version: '*',
  kind: '*',
  sparing: false,
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  failurePolicy: 'Fail',
  phase: 'validate',
  systemNamespaces: true,
};

interface Sent {
  readonly operation: string;
  readonly groups?: readonly string[];
  readonly resource?: string;
}

/** Reports whether the API server sends the request to a webhook. */
function receives(
  { rules, matchConditions }: WebhookScope,
  { operation, groups, resource = 'policies' }: Sent,
): boolean {
  const request = {
    operation,
    resource: { group: 'platform.company.com', version: 'v1', resource },
    userInfo: groups === undefined ? {} : { groups },
  };
  const holds = ({ expression }: { expression: string }) => {
    const compiled = compile(expression, environment('kubernetes-1.36', { variables: { request: types.DYN } }));
    if (compiled.evaluate === undefined) throw new Error(compiled.message);
    return compiled.evaluate({ request } as never) === true;
  };
  return (
    rules.some(
      (rule) => rule.operations.includes(operation) && rule.resources.some((each) => each === '*' || each === resource),
    ) && matchConditions.every(holds)
  );
}

const members = [{ groups: ['a', group] }, { groups: [group] }];
const others = [{}, { groups: [] }, { groups: ['a', 'ours', `${group}x`] }];

test.each(['mutate', 'validate'] as const)('a write of Policies is sent to one webhook to %s', (verb) => {
  const [everyone, breakGlass] = policyKindWebhooks(verb, group);
  if (everyone === undefined || breakGlass === undefined) throw new Error('two webhooks');
  expect([everyone.failurePolicy, breakGlass.failurePolicy]).toEqual(['Fail', 'Ignore']);
  for (const operation of ['CREATE', 'UPDATE']) {
    for (const { groups } of members) {
      expect(receives(everyone.scope, { operation, groups })).toBe(false);
      expect(receives(breakGlass.scope, { operation, groups })).toBe(true);
    }
    for (const user of others) {
      expect(receives(everyone.scope, { operation, ...user })).toBe(true);
      expect(receives(breakGlass.scope, { operation, ...user })).toBe(false);
    }
  }
});

const rows: {
  reason: string;
  scope: Partial<ScopeEntry>;
  sent: Sent;
  /** The failurePolicies of the webhooks for policies that receive the request. */
  to: string[];
}[] = [
  {
    reason: 'the group deletes Policies through a webhook that never fails closed',
    scope: {},
    sent: { operation: 'DELETE', groups: [group] },
    to: [],
  },
  { reason: 'nobody else does', scope: {}, sent: { operation: 'DELETE', groups: ['a'] }, to: ['Fail'] },
  {
    reason: 'the group deletes other kinds like everyone',
    scope: {},
    sent: { operation: 'DELETE', groups: [group], resource: 'databases' },
    to: ['Fail'],
  },
  {
    reason: 'a Policy that fails open is evaluated there too',
    scope: { failurePolicy: 'Ignore' },
    sent: { operation: 'DELETE', groups: [group] },
    to: [],
  },
  {
    reason: 'a mutation that runs once does not hold the group up',
    scope: { phase: 'mutate', reinvocation: 'Never' },
    sent: { operation: 'UPDATE', groups: [group] },
    to: ['Ignore'],
  },
  {
    reason: 'it holds everybody else up',
    scope: { phase: 'mutate', reinvocation: 'Never' },
    sent: { operation: 'UPDATE', groups: ['a'] },
    to: ['Fail'],
  },
  {
    reason: 'a mutation of other kinds knows no group',
    scope: { phase: 'mutate', reinvocation: 'Never' },
    sent: { operation: 'UPDATE', groups: [group], resource: 'databases' },
    to: ['Fail'],
  },
];

test.each(rows)('$reason', ({ scope, sent, to }) => {
  const { phase, reinvocation, ...entry } = { ...everything, ...scope };
  const { asked } = rulesFor({
    scope: [{ ...entry, phase, ...(reinvocation === undefined ? {} : { reinvocation }) }],
    phase,
    ...(reinvocation === undefined ? {} : { reinvocation }),
    mapping: resourceMapping([]),
    platformNamespace: 'kidp-system',
    breakGlassGroup: group,
  });
  expect(asked.filter((each) => receives(each, sent)).map(({ failurePolicy }) => failurePolicy)).toEqual(to);
});
