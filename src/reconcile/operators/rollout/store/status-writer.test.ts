import { describe, expect, test } from 'vitest';
import { ApiError, type Client } from '../../../../runtime/index.ts';
import { Latest } from '../../../deployable/latest.ts';
import type { Rollout, RolloutStatus } from '../rollout.ts';
import { StatusWriter } from './status-writer.ts';

/** One object in an API server that compares and swaps, and answers a few turns later. */
class Server {
  object = {
    apiVersion: 'platform.company.com/v1',
    kind: 'OperatorDeployment',
    metadata: { name: 'one', uid: 'u', resourceVersion: '1' },
    spec: {},
    status: { stage: 0 },
  } as unknown as Rollout;
  writes = 0;
  failure: Error | undefined;

  readonly client = {
    get: async () => this.object,
    patch: async (
      _: unknown,
      __: unknown,
      { body }: { body: { metadata: { resourceVersion: string }; status: RolloutStatus } },
    ) => {
      for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
      if (this.failure !== undefined) throw this.failure;
      if (body.metadata.resourceVersion !== this.object.metadata.resourceVersion) {
        throw new ApiError({ doing: 'patch', status: 409, reason: 'Conflict', message: 'changed' });
      }
      this.write(body.status);
      return this.object;
    },
  } as unknown as Client;

  write(status: RolloutStatus): void {
    this.writes += 1;
    const resourceVersion = String(Number(this.object.metadata.resourceVersion) + 1);
    const metadata = { ...this.object.metadata, resourceVersion };
    this.object = { ...this.object, metadata, status: { ...this.object.status, ...status } };
  }
}

const oneMore = ({ status = {} }: Rollout): RolloutStatus => ({ ...status, stage: (status.stage ?? 0) + 1 });

describe('many who write at the same time', () => {
  test('each is heard once, whenever they come, and many share a write', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    const first = server.object;
    const all: Promise<unknown>[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      all.push(writer.update(first, oneMore));
      // Now and then at the very moment when a line has come to its end.
      for (let wait = 0; wait < turn % 12; wait += 1) await Promise.resolve();
    }
    await Promise.all(all);
    expect(server.object.status?.stage).toBe(60);
    expect(server.writes).toBeLessThan(60);
  });

  test('what somebody else has written meanwhile stays', async () => {
    const server = new Server();
    const told: number[] = [];
    const writer = new StatusWriter(server.client, new Latest(), (_, after) => told.push(after.status?.stage ?? 0));
    const before = server.object;
    server.write({ stage: 40 });
    await writer.update(before, oneMore);
    expect(server.object.status?.stage).toBe(41);
    expect(told).toEqual([41]);
  });

  test('where nothing changes nothing is written', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    await expect(writer.update(server.object, ({ status }) => status ?? {})).resolves.toBe(server.object);
    expect(server.writes).toBe(0);
  });

  test('a failure is told to all whom it concerns, and the next is heard again', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    server.failure = new Error('away');
    const both = await Promise.allSettled([
      writer.update(server.object, oneMore),
      writer.update(server.object, oneMore),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    server.failure = undefined;
    await writer.update(server.object, oneMore);
    expect(server.object.status?.stage).toBe(1);
  });

  test('another object of that name has nothing to do with it', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    const before = server.object;
    server.object = { ...before, metadata: { ...before.metadata, uid: 'another', resourceVersion: '9' } };
    await expect(writer.update(before, oneMore)).rejects.toThrow('was deleted');
  });
});
