/** `onSent` is called once the write has a connection, not earlier. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../testing/index.ts';
import { connect } from './connect.ts';
import { ConnectionBudget } from './wire/index.ts';

const things = { group: 'test', version: 'v1', kind: 'Thing', plural: 'things', namespaced: false };
const thing = { apiVersion: 'test/v1', kind: 'Thing', metadata: { name: 'one' } };
/** The responses in the order of their requests. */
const open: ServerResponse[] = [];
const server = createServer((request, response) => {
  request.resume();
  open.push(response);
});
const answer = (index: number, status = 200) =>
  open[index]?.writeHead(status, { 'content-type': 'application/json' }).end('{"kind":"Thing","metadata":{}}');
const clientWith = (options: Parameters<typeof connect>[1]) =>
  connect({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, source: 'a test' }, options);

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

for (const [reason, options] of [
  ['its own client has no connection left', { connections: 1 }],
  [
    'those that it shares with other clients are taken',
    { budgets: { short: new ConnectionBudget(1), watch: new ConnectionBudget(1) } },
  ],
] as const) {
  test(`a queued write is reported when it is sent: ${reason}`, async () => {
    const client = clientWith(options);
    open.length = 0;
    const reported: string[] = [];
    const first = client.create(things, thing, { onSent: () => reported.push('first') });
    const second = client.create(things, thing, { onSent: () => reported.push('second') });
    await eventually(() => open.length === 1);
    expect(reported).toEqual(['first']);
    answer(0);
    await first;
    await eventually(() => open.length === 2);
    expect(reported).toEqual(['first', 'second']);
    answer(1);
    await second;
    await client.close();
  });
}

test('a write that finds no server is never reported', async () => {
  const client = connect({ server: 'http://127.0.0.1:1', source: 'a test' });
  let reported = 0;
  await expect(
    client.create(things, thing, {
      onSent: () => {
        reported += 1;
      },
    }),
  ).rejects.toMatchObject({ failure: 'refused' });
  expect(reported).toBe(0);
  await client.close();
});
