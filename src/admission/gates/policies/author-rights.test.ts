import { expect, test } from 'vitest';
import { readPolicy } from '../../../policy/index.ts';
import { resourceMapping, type ServedResource } from '../../../runtime/internal.ts';
import { deadlineIn } from '../../review/deadline.ts';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { authorRightsGate } from './author-rights.ts';

const apiVersion = 'platform.company.com/v1';
const selector = { resourceTypes: ['core/v1/ConfigMap'] };
const rules = [{ name: 'only', expression: 'true' }];
const objectOf = (kind: string, spec: object): Json => ({
  apiVersion,
  kind,
  metadata: { name: 'p', namespace: 'x' },
  spec,
});
const policyOf = (over: object): Json => objectOf('Policy', { selector, rules, ...over });
const written = (object: Json, oldObject?: Json, over: object = {}): AdmissionRequest =>
  ({
    uid: 'u',
    kind: { group: 'platform.company.com', version: 'v1', kind: object.kind },
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'paula' },
    object,
    ...(oldObject === undefined ? {} : { oldObject }),
    ...over,
  }) as AdmissionRequest;

const secret = { apiVersion: 'v1', kind: 'Secret' };
const reading = { context: [{ name: 'x', ...secret }] };
const served = (group: string, kind: string, plural: string, namespaced: boolean): ServedResource => ({
  ...{ group, version: 'v1', kind, plural, namespaced },
  ...{ verbs: [], subresources: [], preferred: true },
});
const mapping = () =>
  resourceMapping([served('', 'Node', 'nodes', false), served('example.com', 'Mouse', 'mice', true)]);

/** Which rights are asked for, and what is found with none of them. */
async function evaluate(request: AdmissionRequest, holds: readonly string[] = [], policies: readonly Json[] = []) {
  const asked: string[] = [];
  const gate = authorRightsGate({
    ask: () => async (questions) =>
      questions.map((question) => {
        if (question.kind !== 'resource') throw new Error('want a resource');
        const { verb, group, resource, subresource, namespace, name } = question;
        const text = [verb, group, subresource === '' ? resource : `${resource}/${subresource}`, namespace, name].join(
          ' ',
        );
        asked.push(text);
        return { allowed: holds.includes(text) };
      }),
    mapping,
    policy: (name) => policies.map((each) => readPolicy(each).model).find((model) => model?.name === name),
  });
  const { violations } = gate.matches(request) ? await gate.evaluate(request, deadlineIn(1_000)) : { violations: [] };
  return { asked, violations };
}

const everySecret = 'list  secrets  ';
const everything = 'select platform.company.com policies/everything  ';
const conditions = [{ name: 'c', expression: 'true' }];

test.each<{ reason: string; over: object; asked: readonly string[] }>([
  { reason: 'reads nothing and selects no Secrets', over: {}, asked: [] },
  { reason: 'all Secrets as context', over: reading, asked: [everySecret] },
  {
    reason: 'one Secret as context',
    over: { context: [{ name: 'x', ...secret, resourceName: 'a', namespace: 'red' }] },
    asked: ['get  secrets red a'],
  },
  {
    reason: 'a Secret of any namespace as params',
    over: { params: { ...secret, name: 'a' } },
    asked: ['get  secrets  a'],
  },
  {
    reason: 'another kind, whose plural cannot be guessed',
    over: { context: [{ name: 'x', apiVersion: 'example.com/v1', kind: 'Mouse', namespace: 'red' }] },
    asked: ['list example.com mice red '],
  },
  {
    reason: 'a cluster-scoped kind, for which the namespace is ignored',
    over: { context: [{ name: 'x', apiVersion: 'v1', kind: 'Node', namespace: 'red' }] },
    asked: ['list  nodes  '],
  },
  {
    reason: 'a kind that is not served yet',
    over: { context: [{ name: 'x', apiVersion: 'later.io/v1', kind: 'Policy' }] },
    asked: ['list later.io policies  '],
  },
  { reason: 'selects Secrets', over: { selector: { resourceTypes: ['core/v1/Secret'] } }, asked: [everySecret] },
  {
    reason: 'by all kinds of the group',
    over: { selector: { resourceTypes: ['core/*/*'] } },
    asked: [everySecret, everything],
  },
  { reason: 'by all kinds', over: { selector: { resourceTypes: ['*'] } }, asked: [everySecret, everything] },
  {
    reason: 'when they are deleted',
    over: { selector: { resourceTypes: ['core/v1/Secret'], operations: ['DELETE'] } },
    asked: [everySecret],
  },
  {
    reason: 'in some namespaces',
    over: { selector: { resourceTypes: ['core/v1/Secret'], namespaces: ['red', 'blue'] } },
    asked: ['list  secrets red ', 'list  secrets blue '],
  },
  {
    reason: 'in namespaces by pattern',
    over: { selector: { resourceTypes: ['core/v1/Secret'], namespaces: ['red', 'b*'] } },
    asked: [everySecret],
  },
  {
    reason: 'as a workload controller',
    over: {
      selector: { resourceTypes: ['core/v1/Pod'] },
      podControllers: { additional: [{ resourceType: 'core/v1/Secret', path: 'data' }] },
    },
    asked: [everySecret],
  },
  {
    reason: 'to change them',
    over: {
      selector: { resourceTypes: ['core/v1/Secret'] },
      rules: undefined,
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[]' } }],
    },
    asked: [everySecret],
  },
  {
    reason: 'all kinds except Secrets',
    over: { selector: { resourceTypes: ['*'] }, exclude: { resourceTypes: ['core/v1/Secret'] } },
    asked: [],
  },
  {
    reason: 'all kinds except some Secrets',
    over: { selector: { resourceTypes: ['*'] }, exclude: { resourceTypes: ['core/v1/Secret'], namespaces: ['x'] } },
    asked: [everySecret, everything],
  },
  {
    reason: 'Secrets of the platform, which have no values',
    over: { selector: { resourceTypes: ['Secret'] } },
    asked: [],
  },
  {
    reason: 'the namespaces of the system',
    over: { selector: { ...selector, includeSystemNamespaces: true } },
    asked: ['select platform.company.com policies/system-namespaces  p'],
  },
])('a Policy: $reason', async ({ over, asked }) => {
  const request = written(policyOf(over));
  const found = await evaluate(request);
  expect(found.asked).toEqual(asked);
  expect(found.violations).toHaveLength(asked.length === 0 ? 0 : 1);
  // Without somebody to ask it is denied, too.
  const { violations } = await authorRightsGate({ mapping }).evaluate(request, deadlineIn(1_000));
  expect(violations).toHaveLength(asked.length === 0 ? 0 : 1);
});

test.each<{ reason: string; over: object; holds: readonly string[]; denied: RegExp | undefined }>([
  {
    reason: 'who lists Secrets',
    over: { selector: { resourceTypes: ['core/v1/Secret'] } },
    holds: [everySecret],
    denied: undefined,
  },
  {
    reason: 'who may select everything does not name them',
    over: { selector: { resourceTypes: ['core/v1/Secret'] } },
    holds: [everything],
    denied: /^spec.selector selects Secrets in all namespaces, which user "paula" must not list$/,
  },
  {
    reason: 'all kinds by who may select everything',
    over: { selector: { resourceTypes: ['*'] } },
    holds: [everything],
    denied: undefined,
  },
  {
    reason: 'all kinds by who lists Secrets',
    over: { selector: { resourceTypes: ['*'] } },
    holds: [everySecret],
    denied: undefined,
  },
  {
    reason: 'one namespace of two',
    over: { selector: { resourceTypes: ['core/v1/Secret'], namespaces: ['red', 'blue'] } },
    holds: ['list  secrets red '],
    denied: /in namespaces red, blue/,
  },
  {
    reason: 'a kind with another plural',
    over: { context: [{ name: 'x', apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }] },
    holds: [],
    denied: /^spec.context\[0\] reads all NetworkPolicies in all namespaces, which user "paula" must not list$/,
  },
])('with rights: $reason', async ({ over, holds, denied }) => {
  const { violations } = await evaluate(written(policyOf(over)), holds);
  expect(violations.map(({ message }) => message)).toEqual(denied === undefined ? [] : [expect.stringMatching(denied)]);
});

test.each<{ reason: string; request: AdmissionRequest; expected: boolean }>([
  {
    reason: 'other rules',
    request: written(policyOf({ ...reading, rules: [...rules, { name: 'b', expression: 'true' }] }), policyOf(reading)),
    expected: true,
  },
  { reason: 'only other labels', request: written(policyOf(reading), policyOf(reading)), expected: false },
  { reason: 'no Secrets any more', request: written(policyOf({}), policyOf(reading)), expected: false },
  {
    reason: 'its status',
    request: written(policyOf(reading), policyOf({}), { subResource: 'status' }),
    expected: false,
  },
  { reason: 'its deletion', request: written(policyOf(reading), undefined, { operation: 'DELETE' }), expected: false },
  { reason: 'another kind', request: written(objectOf('Team', policyOf(reading).spec as Json)), expected: false },
])('an update needs rights: $reason: $expected', async ({ request, expected }) => {
  expect((await evaluate(request)).violations).toHaveLength(expected ? 1 : 0);
});

const exceptionOf = (over: object): Json =>
  objectOf('PolicyException', { policies: [{ name: 'p' }], reason: 'r', requester: 'paula', ...over });
test.each<{ reason: string; over: object; selector?: object; asked: readonly string[] }>([
  {
    reason: 'a condition on what the policy selects',
    over: { matchConditions: conditions },
    selector: { resourceTypes: ['core/v1/Secret'] },
    asked: [everySecret],
  },
  {
    reason: 'all kinds',
    over: { matchConditions: conditions },
    selector: { resourceTypes: ['*'] },
    asked: [everySecret, everything],
  },
  {
    reason: 'a label',
    over: { selector: { matchLabels: { a: 'b' }, namespaces: ['red'] } },
    selector: { resourceTypes: ['core/v1/Secret'] },
    asked: ['list  secrets red '],
  },
  { reason: 'no condition', over: {}, selector: { resourceTypes: ['core/v1/Secret'] }, asked: [] },
  { reason: 'a policy for other kinds', over: { matchConditions: conditions }, asked: [] },
  {
    reason: 'an exception for other kinds',
    over: { matchConditions: conditions, selector: { resourceTypes: ['core/v1/Pod'] } },
    selector: { resourceTypes: ['*'] },
    asked: [],
  },
  {
    reason: 'Secrets, for a policy that does not exist yet',
    over: {
      matchConditions: conditions,
      selector: { resourceTypes: ['core/v1/Secret'] },
      policies: [{ name: 'later' }],
    },
    asked: [everySecret],
  },
])('a PolicyException: $reason', async ({ over, selector: types = selector, asked }) => {
  const found = await evaluate(written(exceptionOf(over)), [], [policyOf({ selector: types })]);
  expect(found.asked).toEqual(asked);
});

test.each([
  '/v1',
  '/',
  'v1/',
  'core//v1',
  'a/b/v1',
  ' v1',
  'V1',
  'v1\n',
])('an apiVersion that resolves to another kind than it names is refused: %j', (apiVersion) => {
  const { issues, model } = readPolicy(policyOf({ context: [{ name: 'x', apiVersion, kind: 'Secret' }] }));
  expect(model).toBeUndefined();
  expect(issues).toMatchObject([{ severity: 'error', path: 'spec.context[0].apiVersion' }]);
});

test.each([
  'authentication.k8s.io/v1/TokenReview',
  'authentication.k8s.io/*/*',
  'authentication.k8s.io/*/TokenReview',
])('TokenReviews never reach a Policy: %s', (type) => {
  const { issues, model } = readPolicy(policyOf({ selector: { resourceTypes: [type] } }));
  expect(model).toBeUndefined();
  expect(issues).toMatchObject([{ severity: 'error', code: 'selects_tokens' }]);
});
