/** The memory of a scan of a very large cluster. */
import { expect, test } from 'vitest';
import { compilePolicy, kubernetesSchemas, policySet, readPolicy } from '../../policy/index.ts';
import { ApiError, type Client, type ListOptions, silentLogger } from '../../runtime/index.ts';
import { resourceMapping } from '../../runtime/internal.ts';
import { Scanner, type ScanResult } from './scan.ts';
import type { PolicyView } from './view.ts';

const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
  verbs: ['list'],
  subresources: [],
  preferred: true,
};

/** Reads the labels of the namespace of each object once, so that the test can count evaluated objects. */
function viewOf(asked: () => void): PolicyView {
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: {
      selector: { resourceTypes: ['core/v1/ConfigMap'], namespaceSelector: { matchLabels: { team: 'a' } } },
      rules: [{ name: 'rule', expression: "object.data.a == 'x'" }],
    },
  });
  const { policy } = model === undefined ? {} : compilePolicy(model);
  const set = policySet({ policies: policy === undefined ? [] : [policy] });
  const world = {
    now: 0,
    find: () => undefined,
    namespace: () => {
      asked();
      return { metadata: { labels: { team: 'a' } } };
    },
  };
  return {
    current: () => ({ set, world }),
    worldFor: async () => world,
    state: () => undefined,
    mapping: resourceMapping([configMaps]),
    schemaVersion: 1,
    schemas: kubernetesSchemas,
    subscribe: () => () => {},
    followObjects: () => () => {},
  };
}

const object = (index: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `c${index}`, namespace: `n${index % 50}` },
  data: { a: index % 1000 === 0 ? 'y' : 'x' },
});

async function scanOnce(list: (options: ListOptions) => unknown, asked: () => void = () => {}) {
  const stop = new AbortController();
  const result = Promise.withResolvers<ScanResult>();
  const scanner = new Scanner({
    client: { list: async (_: unknown, options: ListOptions) => list(options) } as unknown as Client,
    view: viewOf(asked),
    log: silentLogger,
    scanned: async (found) => result.resolve(found),
  });
  const running = scanner.start(stop.signal);
  const found = await result.promise;
  stop.abort();
  await running;
  return { scan: scanner.result('p'), found };
}

test('a hundred thousand objects: one page is held at a time, and only as many findings as are reported', async () => {
  const total = 100_000;
  let judged = 0;
  let given = 0;
  const { scan, found } = await scanOnce(
    ({ limit = total, continue: from = '0' }) => {
      // All earlier objects have been evaluated, except for repeated measurements.
      expect(judged).toBeGreaterThanOrEqual(given);
      const start = Number(from);
      const items = Array.from({ length: Math.min(limit, total - start) }, (_, index) => object(start + index));
      given = start + items.length;
      return { metadata: { resourceVersion: '1', ...(given < total ? { continue: String(given) } : {}) }, items };
    },
    () => {
      judged += 1;
    },
  );
  expect(scan).toMatchObject({ violations: 100, scannedObjects: total });
  const held = [...found.reports.all()].flatMap((namespace) => found.reports.of(namespace)?.findings ?? []);
  expect(held).toHaveLength(100);
});

test('an expired list starts again, and nothing counts twice', async () => {
  let lists = 0;
  const { scan } = await scanOnce(({ continue: from }) => {
    lists += 1;
    if (from !== undefined && lists === 2) {
      throw new ApiError({ doing: 'list', status: 410, reason: 'Expired', message: 'too old' });
    }
    const items = [object(from === undefined ? 0 : 1)];
    return { metadata: { resourceVersion: '1', ...(from === undefined ? { continue: 'more' } : {}) }, items };
  });
  expect(lists).toBe(4);
  expect(scan).toMatchObject({ scannedObjects: 2, violations: 1 });
});
