import { type Admin, kGetApi, UnsupportedApiError } from '@platformatic/kafka';
import { expect, test } from 'vitest';
import { listReassignments, reassign } from './reassignment.ts';

/** As services are that speak Kafka and have no servers to show. The real one knows all of its requests. */
const without = {
  [kGetApi]: (name: string, callback: (error: Error) => void) =>
    callback(new UnsupportedApiError(`Unsupported API ${name}.`)),
} as unknown as Admin;

test('a Kafka that moves no partitions: none is under way, and to ask for it is refused for good', async () => {
  expect(await listReassignments(without, 1)).toEqual(new Map());
  await expect(reassign(without, 1, 'events', new Map([[0, [1, 2]]]))).rejects.toMatchObject({
    class: 'permanent',
    code: 'replication-fixed',
  });
});
