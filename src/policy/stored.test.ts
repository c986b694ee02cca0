import { describe, expect, test } from 'vitest';
import { compilePolicy, decide, policySet } from './engine/index.ts';
import { readPolicy } from './load/index.ts';
import type { PolicyModel } from './model.ts';
import { type StoredType, storedRequest, storedSelection, storedTypes } from './stored.ts';
import { emptyWorld } from './world.ts';

const type = (group: string, version: string, kind: string, plural: string, preferred = true): StoredType => ({
  group,
  version,
  kind,
  plural,
  namespaced: true,
  preferred,
});
const served = [
  type('', 'v1', 'Pod', 'pods'),
  type('', 'v1', 'Event', 'events'),
  type('apps', 'v1', 'Deployment', 'deployments'),
  type('batch', 'v1', 'Job', 'jobs'),
  type('autoscaling', 'v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', false),
  type('autoscaling', 'v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
];

function modelOf(selector: object, more: object = {}): PolicyModel {
  const { model, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: { selector, rules: [{ name: 'r', expression: 'has(object.metadata.labels)' }], ...more },
  });
  if (model === undefined) throw new Error(JSON.stringify(issues));
  return model;
}

describe('the types whose stored objects a policy matches', () => {
  test.each([
    { reason: 'the one it names', resourceTypes: ['apps/v1/Deployment'], expected: ['deployments v1'] },
    {
      reason: 'one version of each, the preferred one',
      resourceTypes: ['autoscaling/*/*'],
      expected: ['horizontalpodautoscalers v2'],
    },
    {
      reason: 'the version it names',
      resourceTypes: ['autoscaling/v1/*'],
      expected: ['horizontalpodautoscalers v1'],
    },
    {
      reason: 'workload controllers, with Pods',
      resourceTypes: ['core/v1/Pod'],
      expected: ['pods v1', 'deployments v1', 'jobs v1'],
    },
    {
      reason: 'everything but noise',
      resourceTypes: ['*'],
      expected: ['pods v1', 'deployments v1', 'jobs v1', 'horizontalpodautoscalers v2'],
    },
    { reason: 'nothing for a subresource', resourceTypes: ['core/v1/Pod/exec'], expected: [] },
  ])('$reason', ({ resourceTypes, expected }) => {
    const found = storedTypes(modelOf({ resourceTypes }), served);
    expect(found.map(({ plural, version }) => `${plural} ${version}`).sort()).toEqual(expected.toSorted());
  });

  test('are none if the policy matches one operation only', () => {
    expect(storedTypes(modelOf({ resourceTypes: ['*'], operations: ['CREATE'] }), served)).toEqual([]);
  });
});

describe('the selection that the API server can evaluate', () => {
  const [pods, , deployments] = served as [StoredType, StoredType, StoredType];
  const labelled = { matchLabels: { tier: 'web' } };
  test.each([
    {
      reason: 'other namespaces and labels',
      selector: { resourceTypes: ['core/v1/Pod'], namespaces: ['a', 'b'], ...labelled },
      of: pods,
      expected: { namespaces: ['a', 'b'], selector: labelled },
    },
    {
      reason: 'nothing by a pattern of namespaces',
      selector: { resourceTypes: ['core/v1/Pod'], namespaces: ['team-*'] },
      of: pods,
      expected: {},
    },
    {
      reason: 'nothing by the labels of Pods where controllers are listed',
      selector: { resourceTypes: ['core/v1/Pod'], ...labelled },
      of: deployments,
      expected: {},
    },
  ])('$reason', ({ selector, of, expected }) => {
    expect(storedSelection(modelOf(selector), of)).toEqual(expected);
  });
});

test('rules that need a request are skipped, others are evaluated', () => {
  const rules = [
    { name: 'labelled', expression: 'has(object.metadata.labels)' },
    { name: 'not-by-me', expression: "request.userInfo.username != 'me'" },
    { name: 'same', expression: 'oldObject == null || oldObject == object' },
  ];
  const { policy } = compilePolicy(modelOf({ resourceTypes: ['core/v1/Pod'] }, { rules }));
  const set = policySet({ policies: policy === undefined ? [] : [policy] });
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace: 'n' } };
  const { results } = decide(set, storedRequest(pod, served[0] as StoredType), emptyWorld(0));
  expect(results.map(({ rule, result }) => `${rule} ${result}`)).toEqual([
    'labelled fail',
    'not-by-me skip',
    'same skip',
  ]);
});
