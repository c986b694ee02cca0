import { describe, expect, test } from 'vitest';
import type { DeploymentRequest } from '../../messages.ts';
import { desiredTopic, differences, isBeingReplicated } from './topic.ts';

const request = (spec: object, parameters: Record<string, string> = {}): DeploymentRequest =>
  ({ resource: { name: 'user-events', kind: 'Topic' }, target: { parameters }, spec }) as unknown as DeploymentRequest;

describe('the topic that is wanted', () => {
  test.each([
    { reason: 'by its defaults', spec: {}, wanted: { name: 'user-events', partitions: 1, config: {} } },
    {
      reason: 'numbers are texts to Kafka',
      spec: { topicName: 'events', partitions: 3, replication: 2, config: { 'retention.ms': 1000 } },
      wanted: { name: 'events', partitions: 3, replication: 2, config: { 'retention.ms': '1000' } },
    },
    {
      reason: 'a queue has one group of consumers',
      spec: { type: 'queue', queue: { retentionSeconds: 60 } },
      wanted: { name: 'user-events', partitions: 1, config: { 'retention.ms': '60000' }, group: 'user-events.workers' },
    },
  ])('$reason', ({ spec, wanted }) => {
    expect(desiredTopic(request(spec))).toEqual(wanted);
  });

  test('has the prefix of its target', () => {
    expect(desiredTopic(request({}, { topicPrefix: 'prod.' })).name).toBe('prod.user-events');
  });

  test.each([
    { spec: { topicName: '..' }, code: 'invalid-name', reason: 'a name that Kafka does not take' },
    { spec: { topicName: '__consumer_offsets' }, code: 'reserved-name', reason: 'one that is Kafka’s own' },
    { spec: { topicName: 'kidp-broker-records-x' }, code: 'reserved-name', reason: 'one that is a broker’s' },
    {
      spec: { type: 'queue', queue: { maxDeliveries: 3 } },
      code: 'unsupported-queue-setting',
      reason: 'a promise that nobody keeps',
    },
  ])('cannot be had: $reason', ({ spec, code }) => {
    expect(() => desiredTopic(request(spec))).toThrow(expect.objectContaining({ code, class: 'permanent' }));
  });
});

describe('what differs', () => {
  const wanted = { name: 't', partitions: 3, replication: 1, config: { 'retention.ms': '1000' } };
  test.each([
    { reason: 'nothing', present: {}, found: [] },
    { reason: 'more partitions are kept', present: { partitions: 5 }, found: [] },
    { reason: 'fewer are not', present: { partitions: 2 }, found: ['it has 2 partitions, not 3'] },
    {
      reason: 'replication',
      present: { copies: [{ now: 3, planned: 3 }] },
      found: ['each message is on 3 servers, not 1'],
    },
    {
      reason: 'replication of a part of it',
      present: {
        copies: [
          { now: 1, planned: 1 },
          { now: 2, planned: 2 },
        ],
      },
      found: ['some messages are on 2 servers, not 1'],
    },
    { reason: 'not what is under way', present: { copies: [{ now: 3, planned: 1 }] }, found: [] },
    { reason: 'a setting', present: { config: { 'retention.ms': '5' } }, found: ['retention.ms is 5, not 1000'] },
  ])('$reason', ({ present, found }) => {
    const asWanted = { partitions: 3, copies: [{ now: 1, planned: 1 }], config: { ...wanted.config, other: 'x' } };
    expect(differences(wanted, { ...asWanted, ...present })).toEqual(found);
  });
});

describe('whether messages are being copied', () => {
  const wanted = { name: 't', partitions: 1, config: {} };
  test.each([
    { reason: 'they are on as many as planned', copies: [{ now: 2, planned: 2 }], is: false },
    {
      reason: 'one partition is not there yet',
      copies: [
        { now: 2, planned: 2 },
        { now: 1, planned: 2 },
      ],
      is: true,
    },
  ])('$reason', ({ copies, is }) => {
    expect(isBeingReplicated({ ...wanted, replication: 2 }, { partitions: 1, copies, config: {} })).toBe(is);
    // Who left it to Kafka waits for nothing of it.
    expect(isBeingReplicated(wanted, { partitions: 1, copies, config: {} })).toBe(false);
  });
});
