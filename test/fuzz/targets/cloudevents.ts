import { isDeepStrictEqual } from 'node:util';
import {
  brokerEventKinds,
  brokerNamedIn,
  encodeEvent,
  eventKinds,
  heartbeatEvent,
  readEvent,
  requestEvent,
  statusEvent,
  usageEvent,
} from '../../../src/broker/contract/index.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const time = new Date('2026-01-31T12:00:00Z');
const resource = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  namespace: 'team-backend',
  name: 'users',
  uid: '3f2c',
} as const;

export const target: Target = {
  about: 'CloudEvents: requests to and reports of brokers, read strictly and back',
  modules: ['src/broker/contract/', 'src/broker/deployment-id.ts', 'src/runtime/outbound/strict-json.ts'],
  words: [
    'specversion',
    'data',
    'deploymentId',
    'resource',
    'traceparent',
    'tracestate',
    'correlationid',
    '__proto__',
    'constructor',
    'prototype',
    '2026-02-30T00:00:00Z',
    '3f2c/4/1',
    'Query',
  ],
  isJson: true,
  seeds: () =>
    [
      encodeEvent(
        statusEvent(
          {
            broker: 'azure',
            deploymentId: '3f2c/4/1',
            resource,
            sequence: 3,
            phase: 'ready',
            message: 'done',
            outputs: { host: 'h' },
            credentials: { revision: '1', jwe: 'a..b.c.d' },
          },
          { time },
        ),
      ),
      encodeEvent(
        heartbeatEvent({ broker: 'azure', version: '1.2.3', capabilities: ['Topic', 'Database/postgresql'] }, { time }),
      ),
      encodeEvent(
        usageEvent(
          {
            broker: 'azure',
            resource,
            month: '2026-01',
            currency: 'EUR',
            amount: 1.5,
            asOf: '2026-01-31T12:00:00Z',
          } as unknown as Parameters<typeof usageEvent>[0],
          { time },
        ),
      ),
      encodeEvent(
        requestEvent(
          {
            action: 'Deploy',
            deploymentId: '3f2c/4/1',
            broker: 'azure',
            resource: { ...resource, generation: 4 },
            labels: { a: 'b' },
            team: 'team-backend',
            target: { name: 't', provider: 'azure', region: 'westus2', parameters: { x: 'y' } },
            spec: { engine: 'postgresql', replicas: 2 },
            bindings: [],
            costTags: {},
            replyTo: { statusTopic: 's', statusUrl: 'https://status', encryptionKey: { kty: 'EC' } },
          },
          {
            time,
            cause: { correlationid: 'c', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
          },
        ),
      ),
    ].map((bytes) => Buffer.from(bytes)),
  run(input) {
    brokerNamedIn(input);
    for (const kinds of [brokerEventKinds, eventKinds]) {
      const read = readEvent(input, kinds);
      if ('problem' in read) {
        const { code, path, message } = read.problem;
        ensure(code.length > 0 && message !== '', 'a problem has a code and a message');
        ensure(message.length < 4_096 && path.length < 4_096, 'a problem is short, whatever was sent');
        continue;
      }
      const again = readEvent(encodeEvent(read.event), kinds);
      ensure('event' in again, 'a written event can be read', () => JSON.stringify(again));
      ensure(isDeepStrictEqual(again.event, read.event), 'a written event is read as it was');
      ensure(brokerNamedIn(input) === read.event.data.broker, 'the named broker is that of the event');
    }
  },
};
