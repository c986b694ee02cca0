import { describe, expect, it } from 'vitest';
import type { ScopeEntry } from '../../policy/internal.ts';
import { resourceMapping, type ServedResource } from '../../runtime/internal.ts';
import {
  buildConfiguration,
  type ConfigurationOptions,
  heldBundle,
  phases,
  type WebhookConfiguration,
  withBundle,
} from './build.ts';
import { rulesFor } from './rules.ts';

const breakGlassGroup = 'kidp:break-glass';
const bundle = { pem: 'PEM', generation: 7 };
const served = (group: string, kind: string, plural: string, version = 'v1'): ServedResource => ({
  group,
  version,
  kind,
  plural,
  namespaced: true,
  verbs: [],
  subresources: [],
  preferred: true,
});
const mapping = resourceMapping([
  served('', 'Pod', 'pods'),
  served('', 'ConfigMap', 'configmaps'),
  served('apps', 'Deployment', 'deployments'),
  served('apps', 'StatefulSet', 'statefulsets'),
  served('platform.company.com', 'Database', 'databases'),
  served('platform.company.com', 'Widget', 'widgets'),
]);
const built = (over: Partial<ConfigurationOptions> = {}) =>
  phases.map((phase) =>
    buildConfiguration(phase, {
      target: { url: 'https://127.0.0.1:1' },
      bundle,
      failurePolicy: 'Fail',
      installer: { id: 'a', sharesCertificates: false },
      scope: [],
      mapping,
      platformNamespace: 'kidp-system',
      breakGlassGroup,
      ...over,
    }),
  );
const webhooksOf = (configurations: readonly WebhookConfiguration[]) =>
  configurations.flatMap(({ webhooks = [] }) => webhooks);

describe('the webhook configurations', () => {
  it('ask twice, first before the schema is looked at', () => {
    expect(built().map(({ kind }) => kind)).toEqual(['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']);
  });

  it('never hold the cluster up for long, and change nothing on the side of a dry run', () => {
    for (const webhook of webhooksOf(built({ failurePolicy: 'Ignore', scope: [entry({ failurePolicy: 'Fail' })] }))) {
      expect(webhook).toMatchObject({
        failurePolicy: 'Ignore',
        matchPolicy: 'Equivalent',
        sideEffects: 'NoneOnDryRun',
      });
      expect(webhook.timeoutSeconds).toBeLessThanOrEqual(5);
    }
  });

  it('are for the kinds of the platform; while we are away, the break-glass group can write Policies', () => {
    for (const { webhooks = [] } of built()) {
      const ofKinds = webhooks.filter(({ name }) => !name.includes('namespace'));
      expect(ofKinds.map(({ failurePolicy }) => failurePolicy)).toEqual(['Fail', 'Fail', 'Ignore']);
      const [own, ...policies] = ofKinds.map(
        ({ rules }) => (rules as { resources: string[]; apiGroups: string[] }[])[0],
      );
      expect(own?.apiGroups).toEqual(['platform.company.com']);
      expect(own?.resources).toEqual(
        expect.arrayContaining(['teams', 'applications', 'databases', 'services', 'caches', 'topics', 'secrets']),
      );
      expect(own?.resources.filter((resource) => /[*/]|polic|approvals/.test(resource))).toEqual([]);
      for (const each of policies) expect(each?.resources).toEqual(['policies', 'policyexceptions', 'approvals']);
    }
  });

  const deletions = (over: Partial<ConfigurationOptions>) =>
    webhooksOf(built(over)).filter(({ name }) => name.includes('namespaces'));
  const anyDeletion = entry({ group: '*', version: '*', kind: '*', operations: ['DELETE'] });
  const ofNamespaces: { reason: string; over: Partial<ConfigurationOptions>; failurePolicies: string[] }[] = [
    { reason: 'of a Team wait for us, others do not', over: {}, failurePolicies: ['Fail', 'Ignore'] },
    { reason: 'wait for nobody', over: { failurePolicy: 'Ignore' }, failurePolicies: ['Ignore', 'Ignore'] },
    { reason: 'wait where a policy says so', over: { scope: [anyDeletion] }, failurePolicies: ['Fail', 'Fail'] },
  ];
  it.each(ofNamespaces)('are for Namespaces that are deleted: those $reason', ({ over, failurePolicies }) => {
    const webhooks = deletions(over);
    expect(webhooks.map(({ name }) => name.split('.')[0])).toEqual(['validate-team-namespaces', 'validate-namespaces']);
    expect(webhooks.map(({ failurePolicy }) => failurePolicy)).toEqual(failurePolicies);
    for (const { clientConfig, namespaceSelector } of webhooks) {
      expect(clientConfig.url).toBe('https://127.0.0.1:1/validate/namespaces');
      expect(JSON.stringify(namespaceSelector)).toContain('"values":["kube-system","kidp-system"]');
    }
  });

  it('leave out excluded namespaces, except for their deletion, on which no policy has a say there', () => {
    const selectors = webhooksOf(built({ scope: [entry({})], excludedNamespaces: ['legacy'] })).map(
      ({ name, namespaceSelector }) => [name.split('.')[0], JSON.stringify(namespaceSelector).includes('legacy')],
    );
    expect(selectors.filter(([, excludes]) => excludes)).toEqual([['validate-fail', true]]);
  });

  const policiesOf = (over: Partial<ConfigurationOptions>) =>
    Object.fromEntries(
      webhooksOf(built({ crds: true, ...over })).map(({ name, failurePolicy }) => [name.split('.')[0], failurePolicy]),
    );
  const byWebhook: { reason: string; over: Partial<ConfigurationOptions>; expected: object }[] = [
    {
      reason: 'one of them is open',
      over: { failurePolicies: { crds: 'Ignore' } },
      expected: { validate: 'Fail', 'validate-crds': 'Ignore', 'validate-team-namespaces': 'Fail' },
    },
    {
      reason: 'one of them is closed; what is always open stays open',
      over: { failurePolicy: 'Ignore', failurePolicies: { crds: 'Fail' } },
      expected: { validate: 'Ignore', 'validate-crds': 'Fail', 'validate-platform-crds': 'Ignore' },
    },
    {
      reason: 'the webhooks for platform kinds and Namespaces are open, that for Policies only with all others',
      over: { failurePolicies: { 'platform-kinds': 'Ignore', namespaces: 'Ignore' } },
      expected: {
        mutate: 'Ignore',
        validate: 'Ignore',
        'validate-policies': 'Fail',
        'validate-team-namespaces': 'Ignore',
        'validate-namespace-labels': 'Ignore',
      },
    },
  ];
  it.each(byWebhook)('have a failurePolicy each: $reason', ({ over, expected }) => {
    expect(policiesOf(over)).toMatchObject(expected);
  });

  it('are those of CRDs and Approvals alone if only the CRD gate runs', () => {
    const webhooks = webhooksOf(built({ crds: 'only' }));
    const taken = webhooks.map(({ name, rules }) => [name.split('.')[0], (rules as { resources: string[] }[])[0]]);
    expect(taken.map(([name, rule]) => [name, (rule as { resources: string[] }).resources])).toEqual([
      ['mutate-policies', ['approvals']],
      ['mutate-policies-break-glass', ['approvals']],
      ['validate-policies', ['approvals']],
      ['validate-policies-break-glass', ['approvals']],
      ['validate-crds', ['customresourcedefinitions']],
      ['validate-platform-crds', ['customresourcedefinitions']],
    ]);
  });

  const targets = [
    { reason: 'an address', target: { url: 'https://host:8443' }, config: { url: 'https://host:8443/validate' } },
    {
      reason: 'a Service',
      target: { service: { namespace: 'kidp-system', name: 'kidp', port: 8443 } },
      config: { service: { namespace: 'kidp-system', name: 'kidp', port: 8443, path: '/validate' } },
    },
  ];
  it.each(targets)('find us at $reason', ({ target, config }) => {
    expect(built({ target })[1]?.webhooks?.[0]?.clientConfig).toMatchObject(config);
  });
});

function entry(over: Partial<ScopeEntry> = {}): ScopeEntry {
  return {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    sparing: false,
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'Fail',
    phase: 'validate',
    systemNamespaces: false,
    ...over,
  };
}

describe('the webhooks for policies', () => {
  const rulesOf = (name: string, scope: readonly ScopeEntry[]) =>
    (
      (webhooksOf(built({ scope })).find((webhook) => webhook.name.startsWith(`${name}.`))?.rules ?? []) as {
        apiGroups: string[];
        apiVersions: string[];
        operations: string[];
        resources: string[];
      }[]
    ).map(
      ({ apiGroups, apiVersions, operations, resources }) =>
        `${apiGroups}/${apiVersions}: ${resources} (${operations})`,
    );

  const rows: {
    reason: string;
    scope: ScopeEntry[];
    fail?: string[];
    ignore?: string[];
    mutate?: string[];
    again?: string[];
  }[] = [
    { reason: 'no webhook if no policy matches', scope: [] },
    { reason: 'a kind by its plural', scope: [entry()], fail: ['apps/v1: deployments (CREATE,UPDATE)'] },
    {
      reason: 'resources with the same operations in one rule',
      scope: [entry(), entry({ kind: 'StatefulSet', operations: ['UPDATE', 'CREATE'] })],
      fail: ['apps/v1: deployments,statefulsets (CREATE,UPDATE)'],
    },
    {
      reason: 'a pattern by all that fit',
      scope: [entry({ group: '*', version: '*', kind: '*Set' })],
      fail: ['apps/*: statefulsets (CREATE,UPDATE)'],
    },
    {
      reason: 'everything of a group',
      scope: [entry({ kind: '*' })],
      fail: ['apps/v1: * (CREATE,UPDATE)'],
    },
    {
      reason: 'subresources',
      scope: [
        entry({ group: '', kind: 'Pod', subresource: 'exec', operations: ['CONNECT'] }),
        entry({ group: '', kind: 'ConfigMap', subresource: '*', operations: ['CREATE'] }),
      ],
      fail: ['/v1: pods/exec (CONNECT)', '/v1: configmaps,configmaps/* (CREATE)'],
    },
    {
      reason: 'those that fail open apart',
      scope: [entry(), entry({ kind: 'StatefulSet', failurePolicy: 'Ignore' })],
      fail: ['apps/v1: deployments (CREATE,UPDATE)'],
      ignore: ['apps/v1: statefulsets (CREATE,UPDATE)'],
    },
    {
      reason: 'one webhook only, where policies of both sorts are about the same',
      scope: [entry(), entry({ failurePolicy: 'Ignore', operations: ['UPDATE', 'DELETE'] })],
      fail: ['apps/v1: deployments (CREATE,UPDATE)'],
      ignore: ['apps/v1: deployments (DELETE)'],
    },
    {
      reason: 'not the kinds of the platform, which have a webhook of their own; but their deletion',
      scope: [entry({ group: 'platform.company.com', kind: 'Database', operations: ['CREATE', 'UPDATE', 'DELETE'] })],
      fail: ['platform.company.com/v1: databases (DELETE)'],
    },
    {
      reason: 'mutations where there are some',
      scope: [entry({ phase: 'mutate', reinvocation: 'Never' })],
      mutate: ['apps/v1: deployments (CREATE,UPDATE)'],
    },
    {
      reason: 'mutations that may be asked again apart, and of the platform’s own kinds with the platform’s',
      scope: [
        entry({ phase: 'mutate', reinvocation: 'IfNeeded' }),
        entry({ phase: 'mutate', reinvocation: 'IfNeeded', group: 'platform.company.com', kind: 'Database' }),
        entry({ phase: 'mutate', reinvocation: 'Never', group: 'platform.company.com', kind: 'Database' }),
      ],
      mutate: ['platform.company.com/v1: databases (CREATE,UPDATE)'],
      again: ['apps/v1: deployments (CREATE,UPDATE)'],
    },
    {
      reason: 'a kind that somebody else has defined in our group: no other webhook is sent it',
      scope: [entry({ group: 'platform.company.com', kind: 'Widget' })],
      fail: ['platform.company.com/v1: widgets (CREATE,UPDATE)'],
    },
    {
      reason: 'everything of our group: some of it may be other people’s',
      scope: [entry({ group: 'platform.company.com', kind: '*' })],
      fail: ['platform.company.com/v1: * (CREATE,UPDATE)'],
    },
    {
      reason: 'nothing beside a star that stands for it: the API server refuses such a configuration',
      scope: [entry({ kind: '*' }), entry(), entry({ kind: 'StatefulSet', subresource: 'scale' })],
      fail: ['apps/v1: *,statefulsets/scale (CREATE,UPDATE)'],
    },
    {
      reason: 'no subresource beside all of them',
      scope: [
        entry({ group: '', kind: 'Pod', subresource: '*' }),
        entry({ group: '', kind: 'Pod', subresource: 'exec' }),
        entry({ group: '', kind: 'ConfigMap', subresource: 'status' }),
        entry({ group: '', kind: '*', subresource: 'status' }),
      ],
      fail: ['/v1: */status,pods,pods/* (CREATE,UPDATE)'],
    },
    {
      reason: 'everything with all of its subresources in one word',
      scope: [entry({ group: '*', version: '*', kind: '*', subresource: '*' })],
      fail: ['*/*: */* (CREATE,UPDATE)'],
    },
    { reason: 'no kind that nobody serves', scope: [entry({ kind: 'Rollout' })] },
  ];
  it.each(rows)('ask about $reason', ({ scope, fail = [], ignore = [], mutate = [], again = [] }) => {
    expect(rulesOf('validate-fail', scope).sort()).toEqual([...fail].sort());
    expect(rulesOf('validate-ignore', scope)).toEqual(ignore);
    expect(rulesOf('mutate-fail', scope)).toEqual(mutate);
    expect(rulesOf('mutate-fail-again', scope)).toEqual(again);
  });

  it('say which kinds nobody serves', () => {
    const unknown = entry({ kind: 'Rollout' });
    const ours = entry({ group: 'platform.company.com', kind: 'Database' });
    const scope = [entry(), ours, unknown];
    const { unresolved } = rulesFor({ scope, phase: 'validate', mapping, platformNamespace: 'x', breakGlassGroup });
    expect(unresolved).toEqual([unknown]);
  });

  const wanted = (scope: readonly ScopeEntry[]) =>
    webhooksOf(built({ scope })).find(({ name }) => name.startsWith('validate-fail.'));
  const system = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system', 'kidp-system'] };

  it('exempt kube-system and the platform, unless they are asked for', () => {
    expect(wanted([entry()])?.namespaceSelector).toEqual({ matchExpressions: [system] });
    expect(wanted([entry({ systemNamespaces: true })])).toMatchObject({ namespaceSelector: {} });
    const mixed = wanted([entry(), entry({ group: '', kind: 'Pod', systemNamespaces: true })]);
    expect(mixed?.namespaceSelector).toEqual({});
    expect(mixed?.matchConditions).toEqual([
      {
        name: 'system-namespaces',
        expression:
          "!(has(request.namespace) && request.namespace in ['kube-system', 'kidp-system']) || (request.resource.resource in ['pods'] && request.resource.group == '' && !has(request.subResource) && request.operation in ['CREATE', 'UPDATE'])",
      },
    ]);
  });

  it('leave out what a policy on everything does not mean', () => {
    const all = entry({ group: '*', version: '*', kind: '*', sparing: true });
    const conditions = (scope: readonly ScopeEntry[]) =>
      Object.fromEntries(
        ((wanted(scope)?.matchConditions ?? []) as { name: string; expression: string }[]).map(
          ({ name, expression }) => [name, expression],
        ),
      );
    expect(conditions([all])['no-noise']).toContain("request.resource.resource == 'leases'");
    expect(conditions([all])['not-the-platforms-own']).toContain("request.resource.group == 'platform.company.com'");
    const ofOurGroup = entry({ group: 'platform.company.com', kind: '*' });
    expect(conditions([ofOurGroup])['not-the-platforms-own']).toContain("request.resource.resource in ['teams'");
    const leases = entry({ group: 'coordination.k8s.io', resource: 'leases' });
    const knowing = resourceMapping([...mapping.resources, served('coordination.k8s.io', 'Lease', 'leases')]);
    const { asked } = rulesFor({
      scope: [all, leases],
      phase: 'validate',
      mapping: knowing,
      platformNamespace: 'x',
      breakGlassGroup,
    });
    expect(asked[0]?.matchConditions[0]?.expression).toContain(" || (request.resource.resource in ['leases']");
  });
});

describe('the bundle in a configuration', () => {
  const [configuration] = built();
  if (configuration === undefined) throw new Error('no configuration was built');

  it('is the one it was built with, or was given later', () => {
    expect(heldBundle(configuration)).toEqual(bundle);
    const later = { pem: 'LATER', generation: 8 };
    expect(heldBundle(withBundle(configuration, later))).toEqual(later);
  });

  const damaged = [
    { reason: 'the annotation is gone', change: { metadata: { name: 'x' } }, held: { pem: 'PEM', generation: 0 } },
    {
      reason: 'the annotation is no number',
      change: { metadata: { name: 'x', annotations: { 'platform.company.com/certificate-generation': 'x' } } },
      held: { pem: 'PEM', generation: 0 },
    },
    { reason: 'there are no webhooks', change: { webhooks: [] }, held: { pem: '', generation: 7 } },
    {
      reason: 'one webhook differs from another',
      change: { webhooks: [...(configuration.webhooks ?? []), { name: 'b', clientConfig: { caBundle: 'eA==' } }] },
      held: { pem: '', generation: 7 },
    },
  ];
  it.each(damaged)('counts for nothing that it is not: $reason', ({ change, held }) => {
    expect(heldBundle({ ...configuration, ...change })).toEqual(held);
  });
});
