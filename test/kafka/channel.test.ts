/** The channel on a real Kafka: what arrives, what is refused, and that one who is refused holds up no other. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BrokerAddress,
  type Channel,
  ChannelError,
  type ChannelFailure,
  consume,
  type IncomingMessage,
  kafkaChannel,
  REQUEST_TYPE,
  type RequestEvent,
} from '../../src/broker/index.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { type SharedKafka, useKafka } from '../support/kafka.ts';
import { unhurried } from './support/messages.ts';

let kafka: SharedKafka;
let channel: Channel;

beforeAll(async () => {
  kafka = await useKafka();
  channel = newChannel();
});
afterAll(() => channel?.close());

describe('a request', () => {
  it('arrives as the bytes that were signed, under the uid of its object, with the trace in its headers', async () => {
    const topic = await kafka.makeTopic('requests');
    const event = { ...request(), traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    await channel.send(event, address(topic));
    const [message] = await read(topic, 1);
    expect(message).toMatchObject({ topic, key: event.data.resource.uid });
    expect(JSON.parse(String(message?.value))).toEqual(event);
    expect(Object.fromEntries(message?.headers ?? [])).toEqual({
      'content-type': 'application/cloudevents+json; charset=UTF-8',
      signature: `signature of ${message?.value}`,
      traceparent: event.traceparent,
    });
  });

  it('keeps its place among those of its object, however many are sent at once', async () => {
    const topic = await kafka.makeTopic('requests');
    const uids = Array.from({ length: 7 }, () => randomUUID());
    const sent = Array.from({ length: 700 }, (_, index) => request({ uid: uids[index % 7] ?? '', generation: index }));
    await Promise.all(sent.map((event) => channel.send(event, address(topic))));
    const messages = await read(topic, sent.length);
    for (const uid of uids) {
      const expected = sent.filter(({ data }) => data.resource.uid === uid).map(({ id }) => id);
      expect(messages.filter(({ key }) => key === uid).map(({ value }) => JSON.parse(String(value)).id)).toEqual(
        expected,
      );
    }
  });

  it('that is refused holds up none that are sent with it', async () => {
    const topic = await kafka.makeTopic('requests', { configuration: { 'max.message.bytes': '20000' } });
    const good = [request(), request(), request(), request()] as const;
    const outcomes = await Promise.all([
      outcome(channel.send(good[0], address(topic))),
      outcome(channel.send(request({ bytes: 30_000 }), address(topic))),
      outcome(channel.send(good[1], address(topic))),
      outcome(channel.send(request(), address(uniqueName('missing')))),
      outcome(channel.send(good[2], address(topic))),
    ]);
    expect(outcomes).toEqual(['acknowledged', 'refused', 'acknowledged', 'refused', 'acknowledged']);
    expect(channel.available(address(topic))).toBe(true);
    // Sequence numbers begin again after a refusal, and nothing is taken for a repetition. What went with it may be there twice.
    await channel.send(good[3], address(topic));
    const ids = () => read(topic, good.length).then((all) => all.map(({ value }) => JSON.parse(String(value)).id));
    await expect.poll(async () => [...new Set(await ids())].sort()).toEqual(good.map(({ id }) => id).sort());
  });

  it('says what is wrong when it is refused', async () => {
    const topic = uniqueName('missing');
    await expect(channel.send(request(), address(topic))).rejects.toMatchObject({
      code: 'broker/refused',
      message: `Kafka rejected the message: Unknown topic ${topic}.`,
    });
    const small = await kafka.makeTopic('requests', { configuration: { 'max.message.bytes': '1000' } });
    await expect(channel.send(request({ bytes: 2_000 }), address(small))).rejects.toMatchObject({
      code: 'broker/refused',
      message: expect.stringContaining('larger than the max message size'),
    });
  });

  it('is not sent after it was cancelled', async () => {
    const topic = await kafka.makeTopic('requests');
    const cancelled = channel.send(request(), address(topic), { signal: AbortSignal.abort() });
    await expect(cancelled).rejects.toMatchObject({
      failure: 'unavailable',
      message: expect.stringContaining('cancelled'),
    });
    const event = request();
    await channel.send(event, address(topic), { signal: new AbortController().signal });
    expect((await read(topic, 1)).map(({ value }) => JSON.parse(String(value)).id)).toEqual([event.id]);
  });
});

describe('the channel', () => {
  it('takes no more than it can hold', async () => {
    const topic = await kafka.makeTopic('requests');
    const small = newChannel({ maximumWaiting: 3 });
    try {
      const outcomes = await Promise.all(
        Array.from({ length: 5 }, () => outcome(small.send(request(), address(topic)))),
      );
      expect(outcomes.sort()).toEqual(['acknowledged', 'acknowledged', 'acknowledged', 'throttled', 'throttled']);
    } finally {
      await small.close();
    }
  });

  it('does not know a broker without servers, and fails where nobody listens, at once from then on', async () => {
    const alone = kafkaChannel({ sign: async () => '', log: silentLogger, clientId: 'test' });
    try {
      const nowhere = { ...address('requests'), kafka: { requestTopic: 'requests', statusTopic: 'status' } };
      expect(alone.available(nowhere)).toBe(false);
      await expect(alone.send(request(), nowhere)).rejects.toMatchObject({
        failure: 'unavailable',
        message: expect.stringContaining('spec.kafka.bootstrapServers'),
      });
      const dead = { ...nowhere, kafka: { ...nowhere.kafka, bootstrapServers: ['127.0.0.1:1'] } };
      expect(alone.available(dead)).toBe(true);
      await expect(alone.send(request(), dead)).rejects.toMatchObject({
        failure: 'unavailable',
        message: expect.stringContaining('ECONNREFUSED 127.0.0.1:1'),
      });
      expect(alone.available(dead)).toBe(false);
      await expect(alone.send(request(), dead)).rejects.toMatchObject({ failure: 'unavailable' });
    } finally {
      await alone.close();
    }
  });

  it('sends what it was given before it closes, and nothing afterwards', async () => {
    const topic = await kafka.makeTopic('requests');
    const other = newChannel();
    const sent = outcome(other.send(request(), address(topic)));
    // Signing comes before sending; the channel has it once that is done.
    await new Promise((resolve) => setImmediate(resolve));
    await other.close();
    expect(await sent).toBe('acknowledged');
    await expect(other.send(request(), address(topic))).rejects.toMatchObject({ failure: 'unavailable' });
  });

  it('does not send what cannot be signed', async () => {
    const topic = await kafka.makeTopic('requests');
    const unsigned = newChannel({ sign: () => Promise.reject(new Error('no key')) });
    await expect(unsigned.send(request(), address(topic))).rejects.toMatchObject({
      failure: 'unavailable',
      message: expect.stringContaining('no key'),
    });
    await unsigned.close();
  });
});

function newChannel(more: Partial<Parameters<typeof kafkaChannel>[0]> = {}): Channel {
  return kafkaChannel({
    bootstrapServers: kafka.bootstrapServers,
    sign: async (bytes) => `signature of ${Buffer.from(bytes)}`,
    log: silentLogger,
    clientId: 'test',
    ...more,
  });
}

function address(requestTopic: string): BrokerAddress {
  return { name: 'broker', channel: 'Kafka', kafka: { requestTopic, statusTopic: 'status' } };
}

function request({ uid = randomUUID() as string, generation = 1, bytes = 0 } = {}): RequestEvent {
  const deploymentId = `${uid}/${generation}/0`;
  return {
    specversion: '1.0',
    id: `${deploymentId}/Deploy`,
    source: '/kidp',
    type: REQUEST_TYPE,
    subject: 'databases/team-a/users',
    time: '2026-01-01T00:00:00Z',
    datacontenttype: 'application/json',
    data: {
      action: 'Deploy',
      deploymentId,
      broker: 'broker',
      resource: { apiVersion: 'platform.company.com/v1', kind: 'Database', namespace: 'team-a', name: 'users', uid },
      target: { name: 'target', provider: 'kubernetes' },
      spec: { filler: 'x'.repeat(bytes) },
      replyTo: {},
    },
  };
}

async function outcome(sent: Promise<void>): Promise<'acknowledged' | ChannelFailure> {
  try {
    await sent;
    return 'acknowledged';
  } catch (error) {
    if (error instanceof ChannelError) return error.failure;
    throw error;
  }
}

/** Everything in a topic, once it is so much. */
async function read(topic: string, count: number): Promise<IncomingMessage[]> {
  const messages: IncomingMessage[] = [];
  const consumer = consume({
    ...unhurried,
    bootstrapServers: kafka.bootstrapServers,
    clientId: 'test',
    log: silentLogger,
    groupId: uniqueName('reader'),
    topics: [topic],
    deadLetterTopic: 'none',
    handle: async (message) => void messages.push(message),
  });
  try {
    await expect.poll(() => messages.length).toBeGreaterThanOrEqual(count);
    return messages;
  } finally {
    await consumer.stop();
  }
}
