import { describe, expect, test } from 'vitest';
import { ApiError, type Client } from '../../../../runtime/index.ts';
import { Latest } from '../../../deployable/latest.ts';
import type { Rollout, RolloutStatus } from '../rollout.ts';
import { StatusWriter } from './status-writer.ts';

/** An API server with one object and compare-and-swap, which responds some microtasks later. */
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

describe('concurrent writers', () => {
  test('apply each change once and share writes', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    const first = server.object;
    const all: Promise<unknown>[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      all.push(writer.update(first, oneMore));
      // Some changes arrive exactly when the queue becomes empty.
      for (let wait = 0; wait < turn % 12; wait += 1) await Promise.resolve();
    }
    await Promise.all(all);
    expect(server.object.status?.stage).toBe(60);
    expect(server.writes).toBeLessThan(60);
  });

  test('keep concurrent changes of others', async () => {
    const server = new Server();
    const result: number[] = [];
    const writer = new StatusWriter(server.client, new Latest(), (_, after) => result.push(after.status?.stage ?? 0));
    const before = server.object;
    server.write({ stage: 40 });
    await writer.update(before, oneMore);
    expect(server.object.status?.stage).toBe(41);
    expect(result).toEqual([41]);
  });

  test('write nothing without a change', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    await expect(writer.update(server.object, ({ status }) => status ?? {})).resolves.toBe(server.object);
    expect(server.writes).toBe(0);
  });

  test('a failure rejects every change in the write, and later changes are applied', async () => {
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

  test('reject if the object was re-created with the same name', async () => {
    const server = new Server();
    const writer = new StatusWriter(server.client, new Latest(), () => {});
    const before = server.object;
    server.object = { ...before, metadata: { ...before.metadata, uid: 'another', resourceVersion: '9' } };
    await expect(writer.update(before, oneMore)).rejects.toThrow('was deleted');
  });
});
