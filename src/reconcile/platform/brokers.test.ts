import { describe, expect, test } from 'vitest';
import type { Broker, DeploymentTarget } from '../../api/index.ts';
import type { HeartbeatEvent } from '../../broker/index.ts';
import { brokerHealth } from './brokers.ts';
import { heartbeatStatus } from './heartbeats.ts';
import { targetReadiness } from './targets.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString().replace('.000', '');

const broker = (over: { spec?: object; status?: object; created?: number } = {}) =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind: 'Broker',
    metadata: { name: 'b', creationTimestamp: ago(over.created ?? 1000) },
    spec: { channel: 'Kafka', heartbeat: { intervalSeconds: 30, timeoutSeconds: 90 }, ...over.spec },
    status: over.status,
  }) as unknown as Broker;

describe('health', () => {
  test.each([
    {
      reason: 'a new Broker',
      object: broker({ created: 10 }),
      says: 'Unknown NoHeartbeatYet',
      phase: 'pending',
      again: 80_100,
    },
    {
      reason: 'no heartbeat ever',
      object: broker(),
      says: 'False HeartbeatMissed',
      phase: 'unknown',
      again: undefined,
    },
    {
      reason: 'healthy',
      object: broker({ status: { lastHeartbeatTime: ago(20), version: '1' } }),
      says: 'True ResourceReady',
      phase: 'ready',
      again: 70_100,
    },
    {
      reason: 'the last heartbeat is older than the timeout',
      object: broker({ status: { lastHeartbeatTime: ago(90) } }),
      says: 'False HeartbeatMissed',
      phase: 'unknown',
      again: undefined,
    },
    {
      reason: 'paused',
      object: broker({ spec: { paused: true }, status: { lastHeartbeatTime: ago(20) } }),
      says: 'False Paused',
      phase: 'ready',
      again: 70_100,
    },
    {
      reason: 'paused, without heartbeats',
      object: broker({ spec: { paused: true }, status: { lastHeartbeatTime: ago(900) } }),
      says: 'False HeartbeatMissed',
      phase: 'unknown',
      again: undefined,
    },
  ])('$reason: $says', ({ object, says, phase, again }) => {
    const health = brokerHealth(object, now);
    expect(`${health.ready.status} ${health.ready.reason}`).toBe(says);
    expect(health.phase).toBe(phase);
    expect(health.requeueAfterMilliseconds).toBe(again);
  });

  test('lists capabilities of the spec that the broker does not report', () => {
    const status = { lastHeartbeatTime: ago(1), capabilities: ['Database'] };
    const { ready } = brokerHealth(broker({ spec: { capabilities: ['Database/postgresql', 'Cache'] }, status }), now);
    expect(ready.message).toContain('spec.capabilities lists Cache, which the broker does not report');
  });
});

const beat = (time: string, over: object = {}) =>
  ({ time, data: { broker: 'b', version: '1', capabilities: ['Topic'], ...over } }) as unknown as HeartbeatEvent;
const kafka = { channel: 'Kafka' } as const;
const known = (seconds: number) =>
  broker({ status: { lastHeartbeatTime: ago(seconds), version: '1', capabilities: ['Topic'], channel: 'Kafka' } });

describe('a heartbeat', () => {
  test.each([
    {
      reason: 'the first',
      object: broker(),
      event: beat(ago(0)),
      heard: { lastHeartbeatTime: ago(0), version: '1', channel: 'Kafka' },
    },
    { reason: 'shortly after another', object: known(10), event: beat(ago(0)), heard: 'duplicate' },
    { reason: 'half an interval later', object: known(15), event: beat(ago(0)), heard: { lastHeartbeatTime: ago(0) } },
    {
      reason: 'shortly after, of another version',
      object: known(1),
      event: beat(ago(0), { version: '2' }),
      heard: { version: '2' },
    },
    {
      reason: 'shortly after, with another capability',
      object: known(1),
      event: beat(ago(0), { capabilities: ['Cache'] }),
      heard: { capabilities: ['Cache'] },
    },
    { reason: 'replayed', object: known(1), event: beat(ago(3600)), heard: 'stale' },
    { reason: 'older than the last', object: known(1), event: beat(ago(20)), heard: 'stale' },
    {
      reason: 'from a clock that is ahead',
      object: known(60),
      event: beat(ago(-3600)),
      heard: { lastHeartbeatTime: ago(0) },
    },
    { reason: 'with an invalid time', object: known(60), event: beat('soon'), heard: 'stale' },
    {
      reason: 'with an unknown capability',
      object: known(1),
      event: beat(ago(0), { capabilities: ['Moon', 'Cache'] }),
      heard: { capabilities: ['Cache'] },
    },
  ])('$reason', ({ object, event, heard }) => {
    const answer = heartbeatStatus(object, event, kafka, now);
    if (typeof heard === 'string') expect(answer).toBe(heard);
    else expect(answer).toMatchObject(heard);
  });
});

describe('a target', () => {
  const target = (brokerRef?: object) => ({ spec: { provider: 'aws', brokerRef } }) as unknown as DeploymentTarget;
  const ready = (status: string, reason: string) =>
    broker({ status: { conditions: [{ type: 'Ready', status, reason, message: 'so', lastTransitionTime: '' }] } });
  test.each([
    { reason: 'names no Broker', object: target(), served: undefined, says: 'False NoBroker', phase: 'pending' },
    {
      reason: 'names a Broker that does not exist',
      object: target({ name: 'b' }),
      served: undefined,
      says: 'False BrokerNotFound',
      phase: 'pending',
    },
    {
      reason: 'its Broker has no status yet',
      object: target({ name: 'b' }),
      served: broker(),
      says: 'Unknown BrokerNotReady',
      phase: 'pending',
    },
    {
      reason: 'its Broker sends no heartbeats',
      object: target({ name: 'b' }),
      served: ready('False', 'HeartbeatMissed'),
      says: 'False BrokerNotReady',
      phase: 'unknown',
    },
    {
      reason: 'its Broker is paused',
      object: target({ name: 'b' }),
      served: ready('False', 'Paused'),
      says: 'False BrokerPaused',
      phase: 'ready',
    },
    {
      reason: 'its Broker is healthy',
      object: target({ name: 'b' }),
      served: ready('True', 'ResourceReady'),
      says: 'True ResourceReady',
      phase: 'ready',
    },
  ])('$reason: $says', ({ object, served, says, phase }) => {
    const answer = targetReadiness(object, served);
    expect(`${answer.ready.status} ${answer.ready.reason}`).toBe(says);
    expect(answer.phase).toBe(phase);
  });
});
