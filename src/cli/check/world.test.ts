import { describe, expect, test } from 'vitest';
import type { Json, ObjectQuery } from '../../policy/index.ts';
import { worldOf } from './world.ts';

const config = (name: string, namespace = 'shop', labels: Record<string, string> = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
});
const names = (found: readonly Json[] | undefined) => found?.map(({ metadata }) => (metadata as { name: string }).name);
const base = { now: 0, namespaceLabels: new Map() };

describe('objects by query', () => {
  const files = [config('b', 'shop', { tier: '1' }), config('a'), config('a', 'other')];
  const live = new Map([
    ['v1 Secret', []],
    ['v1 ConfigMap', [config('in-cluster'), config('a', 'shop', { old: 'yes' })]],
  ]);
  const rows: { reason: string; query: ObjectQuery; files: string[] | undefined; cluster: string[] | undefined }[] = [
    {
      reason: 'in a stable order',
      query: { apiVersion: 'v1', kind: 'ConfigMap' },
      files: ['a', 'a', 'b'],
      cluster: ['a', 'a', 'b', 'in-cluster'],
    },
    {
      reason: 'by name',
      query: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'shop' },
      files: ['a'],
      cluster: ['a'],
    },
    {
      reason: 'by label',
      query: { apiVersion: 'v1', kind: 'ConfigMap', selector: { matchLabels: { tier: '1' } } },
      files: ['b'],
      cluster: ['b'],
    },
    {
      reason: 'files take precedence over the cluster',
      query: { apiVersion: 'v1', kind: 'ConfigMap', selector: { matchLabels: { old: 'yes' } } },
      files: [],
      cluster: [],
    },
    {
      reason: 'a name that is not among the files may be in the cluster',
      query: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' },
      files: undefined,
      cluster: [],
    },
    {
      reason: 'a kind that is not among the files may be in the cluster',
      query: { apiVersion: 'v1', kind: 'Secret' },
      files: undefined,
      cluster: [],
    },
    {
      reason: 'a kind that was not read is unknown',
      query: { apiVersion: 'v1', kind: 'Pod' },
      files: undefined,
      cluster: undefined,
    },
  ];
  test.each(rows)('$reason', (row) => {
    expect(names(worldOf({ ...base, objects: files }).find(row.query))).toEqual(row.files);
    expect(names(worldOf({ ...base, objects: files, live }).find(row.query))).toEqual(row.cluster);
  });
});

test('namespaces are read from files and flags, and get the name label of Kubernetes', () => {
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'shop', labels: { a: 'file', b: 'file' } },
  };
  const namespaceLabels = new Map([
    ['shop', { a: 'flag' }],
    ['other', { c: 'flag' }],
  ]);
  const world = worldOf({ now: 0, objects: [namespace], namespaceLabels });
  expect(world.namespace('shop')).toMatchObject({
    metadata: { labels: { a: 'flag', b: 'file', 'kubernetes.io/metadata.name': 'shop' } },
  });
  expect(world.namespace('other')).toMatchObject({ metadata: { labels: { c: 'flag' } } });
  expect(world.namespace('unknown')).toBeUndefined();
});
