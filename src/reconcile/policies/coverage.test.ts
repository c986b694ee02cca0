import { describe, expect, test } from 'vitest';
import type { ScopeEntry } from '../../policy/internal.ts';
import type { UnknownObject } from '../../runtime/index.ts';
import { resourceMapping, type ServedResource } from '../../runtime/internal.ts';
import { uncovered } from './coverage.ts';

const served = (group: string, kind: string, plural: string, subresources: string[] = []): ServedResource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: true,
  verbs: ['create', 'list'],
  subresources,
  preferred: true,
});
const mapping = resourceMapping([
  served('', 'Pod', 'pods', ['exec', 'status']),
  served('apps', 'Deployment', 'deployments', ['scale']),
  { ...served('authorization.k8s.io', 'SubjectAccessReview', 'subjectaccessreviews'), verbs: ['create'] },
]);
const scalers = (version: string) => ({ ...served('autoscaling', 'Scaler', 'scalers'), version });
const inTwoVersions = resourceMapping([scalers('v1'), scalers('v2')]);
const entry = (more: Partial<ScopeEntry> = {}): ScopeEntry => ({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  sparing: false,
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'Fail',
  phase: 'validate',
  systemNamespaces: false,
  ...more,
});
const configuration = (rules: object[], caBundle = 'pem'): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'kidp-admission' },
  webhooks: [{ clientConfig: { caBundle }, rules }],
});
const rule = (more: object = {}) => ({
  apiGroups: ['apps'],
  apiVersions: ['v1'],
  resources: ['deployments'],
  operations: ['CREATE', 'UPDATE'],
  ...more,
});

describe('the webhook configuration', () => {
  test.each([
    { reason: 'an exact match', scope: entry(), rules: [rule()] },
    {
      reason: 'everything',
      scope: entry(),
      rules: [rule({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*'] })],
    },
    {
      reason: 'each operation by a rule of its own',
      scope: entry(),
      rules: [rule({ operations: ['CREATE'] }), rule({ operations: ['UPDATE'] })],
    },
    { reason: 'a kind that is not served yet', scope: entry({ group: 'x.dev', kind: 'Thing' }), rules: [] },
    {
      reason: 'a subresource',
      scope: entry({ group: '', kind: 'Pod', subresource: 'exec', operations: ['CONNECT'] }),
      rules: [rule({ apiGroups: [''], resources: ['pods/*'], operations: ['CONNECT'] })],
    },
    {
      reason: 'every kind, named one by one, without high-volume kinds',
      scope: entry({ group: '*', version: '*', kind: '*', sparing: true }),
      rules: [rule(), rule({ apiGroups: [''], resources: ['pods'] })],
    },
  ])('covers $reason', ({ scope, rules }) => {
    expect(uncovered([scope], { mutate: undefined, validate: configuration(rules) }, mapping)).toBeUndefined();
  });

  test.each([
    {
      reason: 'there is no configuration',
      scope: entry({ phase: 'mutate' }),
      rules: [rule()],
      said: 'no webhook configuration to mutate',
    },
    {
      reason: 'an operation is missing',
      scope: entry(),
      rules: [rule({ operations: ['CREATE'] })],
      said: 'UPDATE of apps/v1/Deployment',
    },
    {
      reason: 'only subresources are sent',
      scope: entry(),
      rules: [rule({ resources: ['deployments/scale'] })],
      said: 'CREATE of apps',
    },
    {
      reason: 'a star does not mean subresources',
      scope: entry({ group: '', kind: 'Pod', subresource: 'exec', operations: ['CONNECT'] }),
      rules: [rule({ apiGroups: [''], resources: ['*'], operations: ['CONNECT'] })],
      said: 'CONNECT of core/v1/Pod/exec',
    },
    {
      reason: 'one of all kinds is missing',
      scope: entry({ group: '*', kind: '*' }),
      rules: [rule()],
      said: 'CREATE of */v1/*',
    },
  ])('does not cover a policy if $reason', ({ scope, rules, said }) => {
    expect(uncovered([scope], { mutate: undefined, validate: configuration(rules) }, mapping)).toContain(said);
  });

  const onScalers = (version: string) =>
    rule({ apiGroups: ['autoscaling'], apiVersions: [version], resources: ['scalers'] });
  test.each([
    { reason: 'converted to what it names', webhooks: [[onScalers('v2')]], covered: true },
    {
      reason: 'as it was sent, because another rule takes that',
      webhooks: [[onScalers('v2'), onScalers('*')]],
      covered: false,
    },
    { reason: 'as it was sent and converted', webhooks: [[onScalers('*')], [onScalers('v2')]], covered: true },
    { reason: 'in another version only', webhooks: [[onScalers('v1')]], covered: false },
  ])('for a request in a version that the policy does not name: received $reason', ({ webhooks, covered }) => {
    const scope = [entry({ group: 'autoscaling', version: 'v2', kind: 'Scaler' })];
    const validate = {
      ...configuration([]),
      webhooks: webhooks.map((rules) => ({ clientConfig: { caBundle: 'x' }, rules })),
    };
    expect(uncovered(scope, { mutate: undefined, validate }, inTwoVersions) === undefined).toBe(covered);
  });

  test('does not count without a CA bundle', () => {
    expect(uncovered([entry()], { mutate: undefined, validate: configuration([rule()], '') }, mapping)).toBeDefined();
  });
});
