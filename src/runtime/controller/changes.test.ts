import { describe, expect, it } from 'vitest';
import type { KubernetesObject, ObjectKey, ObjectMeta } from '../objects/object.ts';
import { type Mapper, toController, toItself, toLabelled } from './mappers.ts';
import {
  allOf,
  annotationsChanged,
  anyOf,
  type Change,
  generationChanged,
  labelled,
  labelsChanged,
  not,
  type Predicate,
  resourceVersionChanged,
} from './predicates.ts';

function object(metadata: Partial<ObjectMeta> = {}): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'team', ...metadata } };
}
const update = (old: Partial<ObjectMeta>, now: Partial<ObjectMeta>): Change => ({
  type: 'updated',
  old: object(old),
  object: object(now),
});
const added: Change = { type: 'added', object: object(), initial: false };
const never: Predicate = () => false;

describe('predicates', () => {
  const rows: { reason: string; predicate: Predicate; change: Change; passes: boolean }[] = [
    { reason: 'what is new counts', predicate: generationChanged, change: added, passes: true },
    {
      reason: 'what is deleted counts',
      predicate: generationChanged,
      change: { type: 'deleted', object: object() },
      passes: true,
    },
    {
      reason: 'a status update does not raise the generation',
      predicate: generationChanged,
      change: update({ generation: 1, resourceVersion: '1' }, { generation: 1, resourceVersion: '2' }),
      passes: false,
    },
    {
      reason: 'a new spec does',
      predicate: generationChanged,
      change: update({ generation: 1 }, { generation: 2 }),
      passes: true,
    },
    {
      reason: 'the beginning of a deletion counts',
      predicate: generationChanged,
      change: update({ generation: 1 }, { generation: 1, deletionTimestamp: '2026-01-01T00:00:00Z' }),
      passes: true,
    },
    {
      reason: 'a kind without a generation is seen with every write',
      predicate: generationChanged,
      change: update({ resourceVersion: '1' }, { resourceVersion: '2' }),
      passes: true,
    },
    {
      reason: 'a resync of a kind without a generation is no write',
      predicate: generationChanged,
      change: update({ resourceVersion: '1' }, { resourceVersion: '1' }),
      passes: false,
    },
    {
      reason: 'a resync is no write',
      predicate: resourceVersionChanged,
      change: update({ resourceVersion: '1' }, { resourceVersion: '1' }),
      passes: false,
    },
    {
      reason: 'the same labels in another order are the same',
      predicate: labelsChanged,
      change: update({ labels: { a: '1', b: '2' } }, { labels: { b: '2', a: '1' } }),
      passes: false,
    },
    {
      reason: 'a label more is a change',
      predicate: labelsChanged,
      change: update({}, { labels: { a: '1' } }),
      passes: true,
    },
    {
      reason: 'another value of an annotation is a change',
      predicate: annotationsChanged,
      change: update({ annotations: { a: '1' } }, { annotations: { a: '2' } }),
      passes: true,
    },
    {
      reason: 'one that has just lost the label still counts',
      predicate: labelled({ a: '1' }),
      change: update({ labels: { a: '1' } }, {}),
      passes: true,
    },
    { reason: 'one that never had it does not', predicate: labelled({ a: '1' }), change: added, passes: false },
    { reason: 'one of several is enough', predicate: anyOf(never, not(never)), change: added, passes: true },
    { reason: 'all of several are needed', predicate: allOf(never, not(never)), change: added, passes: false },
  ];
  for (const { reason, predicate, change, passes } of rows) it(reason, () => expect(predicate(change)).toBe(passes));
});

describe('mappers', () => {
  const owner = {
    group: 'platform.company.com',
    version: 'v1',
    plural: 'databases',
    kind: 'Database',
    namespaced: true,
  };
  const reference = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Database',
    name: 'orders',
    uid: '1',
    controller: true,
  };
  const rows: { reason: string; mapper: Mapper; of: Partial<ObjectMeta>; keys: ObjectKey[] }[] = [
    { reason: 'itself', mapper: toItself, of: {}, keys: [{ namespace: 'team', name: 'a' }] },
    {
      reason: 'its controller',
      mapper: toController(owner),
      of: { ownerReferences: [reference] },
      keys: [{ namespace: 'team', name: 'orders' }],
    },
    {
      reason: 'its controller under another version of the same group',
      mapper: toController(owner),
      of: { ownerReferences: [{ ...reference, apiVersion: 'platform.company.com/v1beta1' }] },
      keys: [{ namespace: 'team', name: 'orders' }],
    },
    {
      reason: 'a controller without a namespace',
      mapper: toController({ ...owner, namespaced: false }),
      of: { ownerReferences: [reference] },
      keys: [{ name: 'orders' }],
    },
    {
      reason: 'nobody: an owner that does not control',
      mapper: toController(owner),
      of: { ownerReferences: [{ ...reference, controller: false }] },
      keys: [],
    },
    {
      reason: 'nobody: the same kind of another group',
      mapper: toController(owner),
      of: { ownerReferences: [{ ...reference, apiVersion: 'v1' }] },
      keys: [],
    },
    {
      reason: 'whom a label names',
      mapper: toLabelled({ ...owner, namespaced: false }, 'platform.company.com/team'),
      of: { labels: { 'platform.company.com/team': 'backend' } },
      keys: [{ name: 'backend' }],
    },
    { reason: 'nobody: without the label', mapper: toLabelled(owner, 'team'), of: {}, keys: [] },
  ];
  for (const { reason, mapper, of, keys } of rows) {
    it(`maps to ${reason}`, () => expect([...mapper(object(of))]).toEqual(keys));
  }
});
