import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../client/client.ts';
import { newTraceparent, withTraceparent } from '../tracing/index.ts';
import { connect } from './connect.ts';

const heard: (string | undefined)[] = [];
const server = createServer((request, response) => {
  heard.push(request.headers.traceparent as string | undefined);
  response.setHeader('content-type', 'application/json').end('{"kind":"Status","metadata":{}}');
});
let client: Client;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, source: 'a test' });
});
afterAll(async () => {
  await client.close();
  await new Promise((resolve) => server.close(resolve));
});

test('only a request within a span sends its trace to the API server', async () => {
  const [one, other] = [newTraceparent(), newTraceparent()];
  const ask = () => client.request({ method: 'GET', path: '/version' });
  await ask();
  // Concurrent requests over the same connections each have their own traceparent.
  await Promise.all([withTraceparent(one, ask), withTraceparent(other, ask)]);
  await ask();
  expect(heard[0]).toBeUndefined();
  expect(new Set(heard.slice(1, 3))).toEqual(new Set([one, other]));
  expect(heard[3]).toBeUndefined();
});
