import { expect, it } from 'vitest';
import type { Json } from '../request.ts';
import { emptyWorld } from '../world.ts';
import { explainPolicy } from './explain.ts';
import { NOW, policyFrom, requestFor, setFrom } from './support/policies.ts';

const deployment: Json = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'n', labels: { app: 'web' } },
  spec: { replicas: 7, template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ image: 'x' }] } } },
};

it('shows variables, rules and the values of their sub-expressions', () => {
  const policy = policyFrom({
    variables: [{ name: 'n', expression: 'object.spec.replicas' }],
    rules: [{ name: 'few', expression: 'variables.n <= 5' }],
  });
  const [explanation] = explainPolicy(policy, requestFor(deployment), emptyWorld(NOW));
  expect(explanation).toMatchObject({
    policy: 'p',
    matched: 'yes',
    variables: [{ name: 'n', shown: '7' }],
    rules: [{ name: 'few', shown: 'false', results: [{ result: 'fail', why: 'spec.replicas is 7, want at most 5' }] }],
  });
  expect(explanation?.rules[0]?.picture).toContain('7');
});

it('shows which field of the selector did not match', () => {
  const set = setFrom(
    {
      selector: { resourceTypes: ['apps/v1/Deployment'], matchLabels: { app: 'api' }, namespaces: ['n'] },
      rules: [{ name: 'r', expression: 'true' }],
    },
    { exclude: { names: ['web'] }, rules: [{ name: 'r', expression: 'true' }] },
    {
      matchConditions: [{ name: 'big', expression: 'object.spec.replicas > 9' }],
      rules: [{ name: 'r', expression: 'true' }],
    },
  );
  const explanations = explainPolicy(set, requestFor(deployment), emptyWorld(NOW));
  expect(explanations.map(({ matched }) => matched)).toEqual(['no', 'no', 'no']);
  expect(explanations[0]?.match).toContainEqual({ part: 'selector', field: 'labels', answer: 'no' });
  expect(explanations[0]?.match).toContainEqual({ part: 'selector', field: 'namespaces', answer: 'yes' });
  expect(explanations[1]?.match).toContainEqual({ part: 'exclude', field: 'names', answer: 'yes' });
  expect(explanations[2]?.conditions).toMatchObject([{ name: 'big', shown: 'false' }]);
});

it('shows a workload controller as the evaluated Pod', () => {
  const policy = policyFrom({
    selector: { resourceTypes: ['core/v1/Pod'] },
    rules: [{ name: 'r', expression: "spec.containers.all(c, c.image == 'x')" }],
  });
  const [explanation] = explainPolicy(policy, requestFor(deployment), emptyWorld(NOW));
  expect(explanation).toMatchObject({ matched: 'yes', template: 'spec.template', rules: [{ shown: 'true' }] });
});

it('hides sensitive values, also in pictures', () => {
  const secret: Json = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'hunter2' } };
  const policy = policyFrom({
    variables: [{ name: 'all', expression: 'object.data.map(k, object.data[k])' }],
    rules: [{ name: 'r', expression: "variables.all.all(v, ('a' + v).startsWith('b'))" }],
  });
  const explanations = explainPolicy(policy, requestFor(secret), emptyWorld(NOW));
  expect(explanations[0]?.variables).toMatchObject([{ shown: '(hidden)' }]);
  expect(JSON.stringify(explanations)).not.toContain('hunter2');
});

it('shows which part of the request is missing', () => {
  const policy = policyFrom({ rules: [{ name: 'r', expression: "request.userInfo.username == 'x'" }] });
  const [explanation] = explainPolicy(policy, requestFor(deployment, { unknown: ['userInfo'] }), emptyWorld(NOW));
  expect(explanation?.rules).toMatchObject([{ shown: 'needs user info', results: [{ result: 'skip' }] }]);
});

it.each([
  { reason: 'a parent of what is hidden', expression: 'spec.replicas > 1', paths: ['spec.token'] },
  { reason: 'the whole object', expression: 'object.spec.replicas > 1', paths: ['spec.token'] },
  { reason: 'an element of a list', expression: "spec.env.all(e, e.name == 'x')", paths: ['spec.env[*].value'] },
  { reason: 'a path that leaves lists out', expression: "spec.env.all(e, e.value == 'x')", paths: ['spec.env.value'] },
  {
    reason: 'two lists deep',
    expression: 'spec.groups.all(g, g.env.all(e, e.value != g.name))',
    paths: ['spec.groups.env.value'],
  },
  { reason: 'a key with dots', expression: "object.spec.map['a.b'].size() > 0", paths: ['spec.map["a.b"].token'] },
])('shows nothing of $paths beside what it shows: $reason', ({ expression, paths }) => {
  const spec = {
    replicas: 2,
    token: 'hunter2',
    env: [{ name: 'n', value: 'hunter2' }],
    groups: [{ name: 'g', env: [{ value: 'hunter2' }] }],
    map: { 'a.b': { token: 'hunter2' } },
  };
  const hiding = {
    selector: { resourceTypes: ['example.com/v1/Thing'] },
    sensitivePaths: [
      ...new Set(['spec.token', 'spec.env.value', 'spec.groups.env.value', 'spec.map["a.b"].token', ...paths]),
    ],
  };
  const policy = policyFrom({ ...hiding, rules: [{ name: 'r', expression }] });
  const thing: Json = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't' }, spec };
  const explanations = explainPolicy(policy, requestFor(thing), emptyWorld(NOW));
  expect(explanations[0]).toMatchObject({ matched: 'yes' });
  expect(JSON.stringify(explanations)).not.toContain('hunter2');
});
