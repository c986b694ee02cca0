/**
 * The options that a fence adds to a write. Their effect on the wire: src/runtime/transport, and
 * test/runtime/leader.test.ts with a real server.
 */
import { expect, it } from 'vitest';
import type { Client, Fence, WriteOptions } from '../client/client.ts';
import { FenceError } from '../errors.ts';
import { fenced } from './fence.ts';

const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };

/** Returns the options of a patch that passed the fence. */
async function through(remaining: number, options: WriteOptions): Promise<WriteOptions> {
  let passed: WriteOptions = {};
  const client = { patch: async (...values: unknown[]) => (passed = values[3] as WriteOptions) } as unknown as Client;
  const fence: Fence = { remainingMilliseconds: () => remaining, signal: new AbortController().signal };
  await fenced(client, fence).patch(secrets, { name: 's', namespace: 'n' }, { type: 'merge', body: {} }, options);
  return passed;
}

it('a write is sent in two steps, within the remaining time', async () => {
  const { fence, signal, timeoutMilliseconds } = await through(500, {});
  expect(fence).toBeDefined();
  expect(signal).toBeInstanceOf(AbortSignal);
  expect(timeoutMilliseconds).toBe(500);
});

it('nothing is written after the fence has ended', async () => {
  await expect(through(0, {})).rejects.toBeInstanceOf(FenceError);
});
