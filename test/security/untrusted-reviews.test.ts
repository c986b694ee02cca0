/** A webhook that does not know its callers, on a real API server: a forged review yields whether it is admitted, and nothing else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Platform } from '../../src/platform/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { events } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { definitions } from '../admission/support/platform.ts';
import { size, widgets } from '../crd-gate/support/platform.ts';
import { type PolicyPlane, patient, policyObject, startPolicyPlane } from '../live-policies/support/platform.ts';
import { readMetrics } from '../support/metrics.ts';
import { admissionReview } from '../support/review.ts';

const hidden = 'hidden-value';
const configMap = { group: '', version: 'v1', kind: 'ConfigMap' };
const params = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kube-public', name: 'hidden' };
const selector = { resourceTypes: ['core/v1/ConfigMap'], namespaces: ['default'] };
const rules = [{ name: 'guess', expression: 'false', messageExpression: "'the value is ' + params.data.value" }];
const jsonPatch = { expression: "[JSONPatch{op: 'add', path: '/data/copied', value: params.data.value}]" };

let live: PolicyPlane;
let running: Platform;

beforeAll(async () => {
  live = await startPolicyPlane();
  const made = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'hidden', namespace: 'kube-public' },
    data: { value: hidden },
  };
  const team = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Team',
    metadata: { name: 'owners' },
    spec: { namespace: 'hidden-team', displayName: 'Owners', hosts: ['shop.example.com'] },
  };
  const labelled = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'labelled', labels: { secret: hidden } } };
  const held = {
    apiVersion: 'gate.example.com/v1',
    kind: 'StocksKind',
    metadata: { name: 'one', namespace: 'default' },
    spec: { size: 7 },
  };
  for (const input of [team, labelled, made, widgets('stocks', size({})), widgets('nothings', size({}))])
    expect(await live.kubectl(['create', '-f', '-'], { input })).toMatchObject({ code: 0 });
  await eventually(
    async () => expect(await live.kubectl(['create', '-f', '-'], { input: held })).toMatchObject({ code: 0 }),
    patient,
  );
  for (const input of [
    policyObject('guarded', { selector, params, rules }),
    policyObject('copying', {
      selector,
      params,
      failurePolicy: 'Ignore',
      mutations: [{ patchType: 'JSONPatch', jsonPatch }],
    }),
    policyObject('namespaced', {
      selector: { ...selector, namespaces: ['labelled'] },
      failurePolicy: 'Ignore',
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: {
            expression:
              "[JSONPatch{op: 'add', path: '/data/copied', value: namespaceObject.metadata.labels['secret']}]",
          },
        },
      ],
    }),
  ])
    expect(await live.kubectl(['create', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => live?.stop());

/** Sends a review as anyone on the network can, in the name of any user. */
async function forge(
  path: string,
  over: object,
  signal?: AbortSignal,
): Promise<{ allowed: boolean; text: string; patch: string }> {
  const { url, caBundle: ca } = running.admission;
  const dispatcher = new Agent({ connect: { ca } });
  const userInfo = { username: 'root', groups: ['system:masters'] };
  const body = JSON.stringify(admissionReview({ name: 'any', namespace: 'default', userInfo, ...over }));
  const answer = await request(`${url}${path}`, {
    method: 'POST',
    body,
    dispatcher,
    ...(signal === undefined ? {} : { signal }),
    headers: { 'content-type': 'application/json' },
  });
  const text = await answer.body.text();
  await dispatcher.close();
  const { allowed, patch = '' } = (JSON.parse(text) as { response: { allowed: boolean; patch?: string } }).response;
  return { allowed, text, patch: Buffer.from(patch, 'base64').toString() };
}

const creation = {
  kind: configMap,
  resource: { group: '', version: 'v1', resource: 'configmaps' },
  operation: 'CREATE',
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any', namespace: 'default' }, data: {} },
};

/** The deletion of a definition, which is denied for one that has objects. */
const deletion = async (plural: string) => ({
  kind: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
  name: `${plural}.gate.example.com`,
  namespace: undefined,
  operation: 'DELETE',
  oldObject: await live.client.get<UnknownObject>(definitions, { name: `${plural}.gate.example.com` }),
});

const denials = async () =>
  (await live.client.list<UnknownObject>(events)).items.filter(({ reason }) => reason === 'PolicyDenied');

const gauge = async () =>
  /^kidp_admission_callers_authenticated (\d)$/m.exec(await readMetrics(running.admission.url, live.client))?.[1];

describe('without a client CA', () => {
  beforeAll(async () => {
    running = await live.start({ clients: undefined, port: 0 });
    await live.untilReady('guarded');
  });
  afterAll(() => live.clear());

  test('a denial names the policy and the rule, and nothing that was read', async () => {
    const { allowed, text } = await forge('/validate/fail', creation);
    expect(allowed).toBe(false);
    expect(text).toContain('policy guarded, rule guess: denied; details are shown only to an authenticated API server');
    expect(text).not.toMatch(/hidden|the value is|auditAnnotations|warnings/);
  });

  test.each([
    { reason: 'params', namespace: 'default' },
    { reason: 'the namespace', namespace: 'labelled' },
  ])('a patch holds nothing that was read from $reason', async ({ namespace }) => {
    const { allowed, text, patch } = await forge('/mutate/fail', { ...creation, namespace });
    expect({ allowed, patch }).toEqual({ allowed: true, patch: '' });
    expect(text).not.toContain(hidden);
  });

  test('a patch does not say which team an owner belongs to', async () => {
    const owned = (name: string) =>
      forge('/mutate/fail-again', { ...written(databaseOf({ owner: { kind: 'Team', name } })), operation: 'CREATE' });
    const [exists, missing] = [await owned('owners'), await owned('nobody')];
    expect(exists).toEqual(missing);
    expect(exists.patch).not.toContain('hidden-team');
  });

  const ours = (kind: string, resource: string, object: object) => ({
    kind: { group: 'platform.company.com', version: 'v1', kind },
    resource: { group: 'platform.company.com', version: 'v1', resource },
    object: { apiVersion: 'platform.company.com/v1', kind, ...object },
  });
  const databaseOf = (spec: object, labels: object = {}) => ({
    metadata: { name: 'any', namespace: 'default', labels },
    spec: { engine: 'postgresql', owner: { kind: 'Team', name: 'owners' }, ...spec },
  });
  const written = (object: object) => ours('Database', 'databases', object);
  const namespaceOf = (name: string, labels: object) => ({
    ...{ kind: { group: '', version: 'v1', kind: 'Namespace' }, namespace: undefined, name },
    ...{ resource: { group: '', version: 'v1', resource: 'namespaces' } },
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
  });

  test.each([
    {
      reason: 'ownership: another owner',
      path: '/validate',
      over: {
        ...written(databaseOf({ owner: { kind: 'Team', name: 'others' } })),
        ...{ operation: 'UPDATE', oldObject: written(databaseOf({})).object },
      },
    },
    {
      reason: 'ownership: the finalizer',
      path: '/validate',
      over: {
        ...written(databaseOf({})),
        operation: 'UPDATE',
        oldObject: written({
          metadata: { name: 'any', namespace: 'default', finalizers: ['platform.company.com/cleanup-resources'] },
          spec: databaseOf({}).spec,
        }).object,
      },
    },
    {
      reason: 'labels: a team that is not the one of the owner',
      path: '/validate',
      over: { ...written(databaseOf({}, { 'platform.company.com/team': 'x' })), operation: 'CREATE' },
    },
    {
      reason: 'labels: a reserved one',
      path: '/mutate',
      over: { ...written(databaseOf({}, { 'platform.company.com/x': 'x' })), operation: 'CREATE' },
    },
    {
      reason: 'hosts: one of another team',
      path: '/validate',
      over: {
        ...ours('Team', 'teams', {
          metadata: { name: 'others' },
          spec: { namespace: 'others', displayName: 'Others', hosts: ['shop.example.com'] },
        }),
        ...{ operation: 'CREATE', namespace: undefined },
      },
    },
    {
      reason: 'operators: another requester',
      path: '/validate',
      over: {
        ...ours('OperatorDeployment', 'operatordeployments', {
          metadata: { name: 'any', annotations: { 'platform.company.com/requested-by': 'eve' } },
          spec: {},
        }),
        oldObject: {
          apiVersion: 'platform.company.com/v1',
          kind: 'OperatorDeployment',
          metadata: { name: 'any', annotations: { 'platform.company.com/requested-by': 'ada' } },
          spec: {},
        },
        ...{ operation: 'UPDATE', namespace: undefined },
      },
    },
    {
      reason: 'approvals: decided by somebody else',
      path: '/validate/policies',
      over: {
        ...ours('Approval', 'approvals', {
          metadata: { name: 'any' },
          spec: { action: 'x', subject: { kind: 'Operator', name: 'x' }, requestedBy: 'eve' },
          status: {},
        }),
        ...{ operation: 'CREATE', namespace: undefined },
      },
    },
    {
      reason: 'policies: an expression that does not parse',
      path: '/validate/policies',
      over: {
        ...ours('Policy', 'policies', {
          metadata: { name: 'p' },
          spec: policyObject('p', { rules: [{ name: 'a', expression: '(' }] }).spec,
        }),
        ...{ operation: 'CREATE', namespace: undefined },
      },
    },
    {
      reason: 'policies: a test that fails',
      path: '/validate/policies',
      over: {
        ...ours('Policy', 'policies', {
          metadata: { name: 'p' },
          spec: policyObject('p', {
            rules: [{ name: 'a', expression: 'true' }],
            tests: [{ name: 't', object: creation.object, expect: { allowed: false } }],
          }).spec,
        }),
        ...{ operation: 'CREATE', namespace: undefined },
      },
    },
    {
      reason: 'namespaces: the label of a team',
      path: '/validate/namespaces',
      over: { ...namespaceOf('new', { 'platform.company.com/team': 'hidden-team' }), operation: 'CREATE' },
    },
  ])('the answer to a denial is the same: $reason', async ({ path, over }) => {
    const answers = [await forge(path, over), await forge('/validate/crds', await deletion('stocks'))];
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ allowed: false, patch: '' });
    expect(JSON.parse(answers[0]?.text ?? '').response.status).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      details: { causes: [{ reason: 'Denied', field: '' }] },
    });
  });

  test('others are answered while Policies with slow tests are examined', async () => {
    const list = Array.from({ length: 1_000 }, (_, index) => ({ b: index, s: 'y'.repeat(100) }));
    const loops = 'dyn(object.data).list.all(x, dyn(object.data).list.all(y, x.s != y.s || x.b != y.b || x.b == y.b))';
    const slow = policyObject('slow', {
      rules: Array.from({ length: 128 }, (_, index) => ({
        name: `r${index}`,
        expression: `${loops} && ${index} >= 0`,
      })),
      tests: Array.from({ length: 10 }, (_, index) => ({
        name: `t${index}`,
        object: { ...creation.object, data: { list } },
        expect: { allowed: true },
      })),
    });
    const over = { ...ours('Policy', 'policies', slow), operation: 'CREATE', namespace: undefined };
    const examined = Array.from({ length: 5 }, () =>
      forge('/validate/policies?timeout=29s', over).catch(() => undefined),
    );
    for (let sent = 0; sent < 5; sent += 1) {
      const { allowed } = await forge('/validate/fail', creation, AbortSignal.timeout(1_000));
      expect(allowed).toBe(false);
      await sleep(200);
    }
    // The caller has asked for 29 s, and the webhook is registered with 5 s.
    const over5 = await Promise.all(examined);
    for (const answer of over5) expect(answer?.allowed ?? false).toBe(false);
  });

  test('the CRD gate gives the same answer whatever is stored', async () => {
    const answers = [];
    for (const plural of ['stocks', 'nothings']) answers.push(await forge('/validate/crds', await deletion(plural)));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.text).not.toMatch(/stocks|one|crd/);
  });

  test('the API server denies as ever, and a Policy says why the denial is so short', async () => {
    const { stderr } = await live.kubectl(['create', '-f', '-'], { input: creation.object });
    expect(stderr).toContain('policy guarded, rule guess: denied');
    expect(stderr).not.toContain(hidden);
    await eventually(
      async () =>
        expect(await live.condition('guarded', 'CallersAuthenticated')).toMatchObject({
          status: 'False',
          reason: 'Untrusted',
        }),
      patient,
    );
    expect(await gauge()).toBe('0');
    expect(await denials()).toEqual([]);
  });
});

test('with a client CA, the API server gets the details, and an Event is recorded', async () => {
  running = await live.start();
  for (const input of [policyObject('guarded', { selector, params, rules })])
    expect(await live.kubectl(['create', '-f', '-'], { input })).toMatchObject({ code: 0 });
  await live.untilReady('guarded');
  const { stderr } = await live.kubectl(['create', '-f', '-'], { input: creation.object });
  expect(stderr).toContain(`the value is ${hidden}`);
  await eventually(async () => expect(await denials()).not.toEqual([]), patient);
  expect(await live.condition('guarded', 'CallersAuthenticated')).toMatchObject({ status: 'True' });
  expect(await gauge()).toBe('1');
});
