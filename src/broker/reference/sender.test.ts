/** What counts as heard by the platform, on a real socket: a report that is wrongly taken for heard is lost. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { ChannelError } from '../channel.ts';
import { statusEvent, usageEvent } from '../contract/index.ts';
import { memoryKeyStore, openKeyRing } from '../identity/index.ts';
import type { KafkaProducer } from '../kafka/index.ts';
import type { BrokerEvent } from '../messages.ts';
import { statusSender } from './sender.ts';

const resource = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Cache',
  namespace: 'team',
  name: 'c',
  uid: 'u',
} as const;
const status = statusEvent({ broker: 'b', deploymentId: 'u/1/1', resource, sequence: 1, phase: 'drifted' });
const asOf = '2026-01-02T00:00:00Z';
const costs = usageEvent({ broker: 'b', resource, month: '2026-01', currency: 'EUR', amount: '1', asOf, final: true });

async function sent(
  replyTo: { statusUrl?: string },
  kafka?: KafkaProducer,
  event: BrokerEvent = status,
): Promise<string> {
  const keys = await openKeyRing(memoryKeyStore(), { issuer: 'b', subject: 'b' });
  const sender = statusSender({ keys, audience: 'kidp', statusTopic: 'deployment-status', kafka });
  try {
    return await sender.send(event, replyTo, 'u');
  } catch (error) {
    return error instanceof ChannelError ? error.failure : String(error);
  } finally {
    keys.close();
    await sender.close();
  }
}

test.each([
  { reason: 'the platform accepts it', status: 202, body: '{"id":"1","result":"applied"}', outcome: 'HTTP' },
  { reason: 'the platform rejects it for good', status: 404, body: '{"code":"unknown-object"}', outcome: 'refused' },
  { reason: 'a proxy returns a login page', status: 200, body: '<html>', outcome: 'unavailable' },
  { reason: 'a proxy does not know the path', status: 404, body: 'default backend - 404', outcome: 'unavailable' },
  { reason: 'a proxy responds with JSON of its own', status: 400, body: '["no"]', outcome: 'unavailable' },
  { reason: 'the platform does not know the key yet', status: 401, body: '{"code":"x"}', outcome: 'unavailable' },
  {
    reason: 'the sender is rejected, which can be fixed',
    status: 403,
    body: '{"code":"wrong-broker"}',
    outcome: 'unavailable',
  },
  {
    reason: 'costs are rejected because another broker has the deployment',
    event: costs,
    status: 403,
    body: '{"code":"wrong-broker"}',
    outcome: 'refused',
  },
])('$outcome if $reason', async ({ status, body, outcome, event }) => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    expect(await sent({ statusUrl: `http://127.0.0.1:${port}/v1/status` }, undefined, event)).toBe(outcome);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a topic that is missing, or not to be written to, is waited for', async () => {
  const refused = new ChannelError({ channel: 'Kafka', failure: 'refused', message: 'UNKNOWN_TOPIC_OR_PARTITION' });
  const kafka = { available: () => true, send: () => Promise.reject(refused), close: async () => {} };
  expect(await sent({}, kafka as unknown as KafkaProducer)).toBe('unavailable');
});
