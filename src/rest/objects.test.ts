import { expect, test } from 'vitest';
import { memoryCluster } from '../../test/support/memory-cluster.ts';
import { approval } from '../api/index.ts';
import type { ListOptions, Resource } from '../runtime/index.ts';
import { find } from './objects.ts';
import type { Call } from './route.ts';

const uidOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** An API server with 120 Approvals, and the requests made to it. */
function stage() {
  const cluster = memoryCluster([approval.resource]);
  for (let index = 0; index < 120; index += 1) {
    cluster.put(approval.resource, { metadata: { name: `one-${index}`, uid: uidOf(index) }, spec: {} });
  }
  const limits: (number | undefined)[] = [];
  const list = (resource: Resource, options: ListOptions) => {
    limits.push(options.limit);
    return cluster.client.list(resource, options);
  };
  const client = { ...cluster.client, list };
  return { calls: cluster.calls, limits, call: { client, signal: new AbortController().signal } as unknown as Call };
}

test('searches an uncached uid page by page and stops at the match', async () => {
  const { calls, limits, call } = stage();
  expect((await find(call, approval, uidOf(70))).metadata.name).toBe('one-70');
  expect(limits).toEqual([50, 50]);
  calls.length = 0;
  expect((await find(call, approval, uidOf(3))).metadata.name).toBe('one-3');
  expect(calls).toEqual(['get approvals one-3']);
});

test('searches every page for a missing uid', async () => {
  const { limits, call } = stage();
  await expect(find(call, approval, uidOf(999))).rejects.toMatchObject({ status: 404 });
  expect(limits).toEqual([50, 50, 50]);
});
