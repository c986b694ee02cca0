/** What the kubernetes broker creates passes our own pack of the Pod Security Standards. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type StoredType, storedRequest, type World } from '../../src/policy/index.ts';
import { objectsIn, readPack, violated } from './support/packs.ts';

const golden = join(import.meta.dirname, '../../src/broker/reference/kubernetes/golden/manifests');
const baseline = readPack('pod-security/baseline');
const all = [...baseline, ...readPack('pod-security/restricted')];
const world: World = { now: Date.now(), namespace: () => ({ metadata: {} }), find: () => undefined };
const workloads: readonly StoredType[] = [
  { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  { group: 'apps', version: 'v1', kind: 'StatefulSet', plural: 'statefulsets', namespaced: true },
  { group: 'batch', version: 'v1', kind: 'CronJob', plural: 'cronjobs', namespaced: true },
];
const workloadsIn = (file: string) =>
  objectsIn(join(golden, file)).flatMap((object) => {
    const type = workloads.find(({ kind }) => kind === object.kind);
    return type === undefined ? [] : [storedRequest(object, type)];
  });
const files = readdirSync(golden);

test('the golden files have workloads of every kind', () => {
  const kinds = new Set(files.flatMap((file) => workloadsIn(file).map(({ kind }) => kind.kind)));
  expect([...kinds].sort()).toEqual(['CronJob', 'Deployment', 'StatefulSet']);
});

describe.each(files)('%s', (file) => {
  const lowered = file === 'service-baseline.yaml';
  test(`passes the pack ${lowered ? 'baseline' : 'restricted'}`, () => {
    const found = workloadsIn(file).flatMap((request) => violated(lowered ? baseline : all, request, world));
    expect(found).toEqual([]);
  });
});

test('a lowered level is the only difference', () => {
  const [request] = workloadsIn('service-baseline.yaml');
  expect(request && violated(all, request, world)).toEqual([
    'pod-security-restricted-capabilities',
    'pod-security-restricted-non-root',
  ]);
});
