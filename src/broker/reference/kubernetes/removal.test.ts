import { describe, expect, test } from 'vitest';
import type { UnknownObject } from '../../../runtime/index.ts';
import type { DeploymentRecord } from '../record.ts';
import { knownNamespace } from './removal.ts';

const recordWith = (notes: object, parameters: object | undefined, more: object = {}): DeploymentRecord =>
  ({
    uid: 'u',
    notes,
    request: { resource: { uid: 'u', namespace: 'team' }, target: { name: 't', provider: 'x', parameters }, ...more },
  }) as unknown as DeploymentRecord;
const clusterWith = (...namespaces: string[]) => ({
  objectsOf: () => namespaces.map((namespace) => ({ metadata: { name: 'x', namespace } }) as UnknownObject),
});
const prefixed = { namespacePrefix: 'prod-' };

describe('where it is looked for when it is removed', () => {
  test.each([
    { reason: 'noted', record: recordWith({ namespace: 'team' }, {}), cluster: clusterWith('team'), place: 'team' },
    { reason: 'never noted', record: recordWith({}, {}), cluster: clusterWith(), place: undefined },
    {
      reason: 'the target is gone, and with it the prefix',
      record: recordWith({ namespace: 'prod-team' }, undefined),
      cluster: clusterWith('prod-team'),
      place: undefined,
    },
    {
      reason: 'something is elsewhere, from a deployment that failed',
      record: recordWith({ namespace: 'prod-team' }, prefixed),
      cluster: clusterWith('prod-team', 'team'),
      place: undefined,
    },
    {
      reason: 'others had it before',
      record: recordWith({ namespace: 'prod-team' }, prefixed, { formerBrokers: ['old'] }),
      cluster: clusterWith('prod-team'),
      place: undefined,
    },
  ])('$reason', ({ record, cluster, place }) => {
    expect(knownNamespace(record, cluster)).toBe(place);
  });
});
