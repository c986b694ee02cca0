/** A webhook that does not know its callers, on a real API server: a forged review yields whether it is admitted, and nothing else. */
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
  const held = {
    apiVersion: 'gate.example.com/v1',
    kind: 'StocksKind',
    metadata: { name: 'one', namespace: 'default' },
    spec: { size: 7 },
  };
  for (const input of [made, widgets('stocks', size({})), widgets('nothings', size({}))])
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
  ])
    expect(await live.kubectl(['create', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => live?.stop());

/** Sends a review as anyone on the network can, in the name of any user. */
async function forge(path: string, over: object): Promise<{ allowed: boolean; text: string; patch: string }> {
  const { url, caBundle: ca } = running.admission;
  const dispatcher = new Agent({ connect: { ca } });
  const userInfo = { username: 'root', groups: ['system:masters'] };
  const body = JSON.stringify(admissionReview({ name: 'any', namespace: 'default', userInfo, ...over }));
  const answer = await request(`${url}${path}`, {
    method: 'POST',
    body,
    dispatcher,
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

  test('a patch holds nothing that was read', async () => {
    const { allowed, text, patch } = await forge('/mutate/fail', creation);
    expect({ allowed, patch }).toEqual({ allowed: true, patch: '' });
    expect(text).not.toContain(hidden);
  });

  test('the CRD gate gives the same answer whatever is stored', async () => {
    const answers = [];
    for (const plural of ['stocks', 'nothings']) answers.push(await forge('/validate/crds', await deletion(plural)));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.text).toContain('crd compatibility');
    expect(answers[0]?.text).not.toMatch(/stocks|one/);
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
