/** Consumers on a real Kafka: order, repetition, dead letters, replay, and what a group shares. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Producer } from '@platformatic/kafka';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type ConsumeOptions,
  consume,
  DeadLetter,
  deadLetterTopicOf,
  ensureTopics,
  type IncomingMessage,
  type KafkaConsumer,
  type KafkaProducer,
  kafkaMetrics,
  kafkaProducer,
  platformTopics,
} from '../../src/broker/index.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { type SharedKafka, useKafka } from '../support/kafka.ts';
import { Ledger, startLoad, unhurried } from './support/messages.ts';

let kafka: SharedKafka;
let producer: KafkaProducer;
let deadLetters: string;
const consumers: KafkaConsumer[] = [];

beforeAll(async () => {
  kafka = await useKafka();
  producer = kafkaProducer(connection());
  deadLetters = await kafka.makeTopic('dead-letters', { configuration: { 'max.message.bytes': '40000' } });
});
afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
});
afterAll(() => producer?.close());

describe('a consumer', () => {
  it('takes each message, those of one key in order and one at a time, several keys at a time', async () => {
    const topic = await kafka.makeTopic('status');
    const ledger = new Ledger();
    const busy = new Set<string | undefined>();
    const together: string[] = [];
    let most = 0;
    start(topic, async (message) => {
      if (busy.has(message.key)) together.push(String(message.value));
      busy.add(message.key);
      most = Math.max(most, busy.size);
      await sleep(1);
      busy.delete(message.key);
      ledger.record(message);
    });
    const load = startLoad(producer, topic);
    await load.more(300);
    await load.stop();
    await expect.poll(() => ledger.missing(load.acknowledged)).toEqual([]);
    expect([...ledger.outOfOrder, ...together]).toEqual([]);
    expect(most).toBeGreaterThan(1);
  });

  it('goes on where the group stopped, and takes everything again from the beginning where it is asked to', async () => {
    const topic = await kafka.makeTopic('status');
    const groupId = uniqueName('group');
    const run = async (count: number, more: Partial<ConsumeOptions> = {}): Promise<string[]> => {
      const seen: string[] = [];
      const consumer = start(topic, async ({ value }) => void seen.push(String(value)), { groupId, ...more });
      await expect.poll(() => seen.length).toBeGreaterThanOrEqual(count);
      await consumer.stop();
      return seen.sort();
    };
    await send(topic, ['a:0', 'b:0', 'c:0']);
    expect(await run(3)).toEqual(['a:0', 'b:0', 'c:0']);
    await send(topic, ['a:1']);
    expect(await run(1)).toEqual(['a:1']);
    expect(await run(4, { fromBeginning: true })).toEqual(['a:0', 'a:1', 'b:0', 'c:0']);
    await send(topic, ['b:1']);
    expect(await run(1)).toEqual(['b:1']);
  });

  it('tries again what a handler fails at, in its place; other keys go on meanwhile', async () => {
    const topic = await kafka.makeTopic('status', { partitions: 1 });
    const order: string[] = [];
    let failures = 3;
    start(topic, async ({ value }) => {
      if (String(value) === 'a:0' && !order.includes('c:0')) throw new Error('not before c');
      if (String(value) === 'b:0' && failures-- > 0) throw new Error('not yet');
      order.push(String(value));
    });
    await send(topic, ['a:0', 'a:1', 'b:0', 'b:1', 'c:0']);
    await expect.poll(() => order.length).toBe(5);
    for (const key of ['a', 'b']) expect(order.indexOf(`${key}:0`)).toBeLessThan(order.indexOf(`${key}:1`));
    expect(order.indexOf('c:0')).toBeLessThan(order.indexOf('a:0'));
  });

  it('does not commit past what is not done: it is taken again after a restart', async () => {
    const topic = await kafka.makeTopic('status', { partitions: 1 });
    const groupId = uniqueName('group');
    const first: string[] = [];
    const failing = start(
      topic,
      async ({ value }) => {
        if (String(value) === 'a:0') throw new Error('never here');
        first.push(String(value));
      },
      { groupId },
    );
    await send(topic, ['a:0', 'b:0', 'c:0']);
    await expect.poll(() => first.length).toBe(2);
    await failing.stop();
    const second: string[] = [];
    start(topic, async ({ value }) => void second.push(String(value)), { groupId });
    await expect.poll(() => second.sort()).toEqual(['a:0', 'b:0', 'c:0']);
  });

  it('waits for its topic to be there', async () => {
    const topic = uniqueName('late');
    const seen: string[] = [];
    const consumer = start(topic, async ({ value }) => void seen.push(String(value)));
    await ensureTopics({ ...connection(), topics: [{ name: topic, partitions: 1 }] });
    await send(topic, ['a:0']);
    await consumer.ready();
    await expect.poll(() => seen).toEqual(['a:0']);
  });

  it('waits for what is being handled before it stops, and gives it up where that takes too long', async () => {
    const topic = await kafka.makeTopic('status', { partitions: 1 });
    const groupId = uniqueName('group');
    const began = Promise.withResolvers<void>();
    const slow = start(
      topic,
      async (_message, signal) => {
        began.resolve();
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        throw new Error('given up');
      },
      { groupId, graceMilliseconds: 100 },
    );
    await send(topic, ['a:0']);
    await began.promise;
    await slow.stop();
    let finished = false;
    const seen = Promise.withResolvers<void>();
    const patient = start(
      topic,
      async () => {
        seen.resolve();
        await sleep(300);
        finished = true;
      },
      { groupId },
    );
    await seen.promise;
    await patient.stop();
    expect(finished).toBe(true);
    const stopped = start(uniqueName('missing'), async () => undefined);
    await stopped.stop();
    await expect(stopped.ready()).rejects.toThrow('stopped before it was ready');
  });
});

describe('a message that cannot be taken', () => {
  it('goes to the dead letters with its bytes, the reason and its place; the consumer goes on', async () => {
    const topic = await kafka.makeTopic('status', { partitions: 1, configuration: { 'max.message.bytes': '80000' } });
    const registry = new Registry();
    const groupId = uniqueName('group');
    const seen: string[] = [];
    start(
      topic,
      async ({ value }) => {
        if (value[0] !== 0x7b) throw new DeadLetter('it is no JSON', 'malformed');
        seen.push(String(value));
      },
      { groupId, metrics: kafkaMetrics(registry) },
    );
    const bytes = Buffer.from([0xff, 0x00, 0x80]);
    await producer.send({ topic, key: 'a', value: bytes, headers: { signature: 'somebody’s' } });
    await producer.send({ topic, key: undefined, value: Buffer.alloc(0) });
    await producer.send({ topic, key: 'a', value: Buffer.alloc(60_000) });
    await producer.send({ topic, key: 'a', value: Buffer.from('{}') });
    await expect.poll(() => seen).toEqual(['{}']);
    const letters = await lettersOf(topic, 3);
    const place = (offset: number) => ({
      reason: 'it is no JSON',
      code: 'malformed',
      'source-topic': topic,
      'source-partition': '0',
      'source-offset': String(offset),
    });
    expect(letters).toEqual([
      { key: 'a', value: bytes, headers: { signature: 'somebody’s', ...place(0) } },
      { key: undefined, value: Buffer.alloc(0), headers: place(1) },
      // Larger than the dead letters take: its place still says where it is.
      { key: 'a', value: Buffer.alloc(0), headers: { 'omitted-bytes': '60000', ...place(2) } },
    ]);
    // Counted a moment after it was done.
    await expect
      .poll(() => registry.metrics())
      .toContain(`kidp_kafka_dead_letters_total{topic="${topic}",code="malformed"} 3`);
    await expect
      .poll(() => registry.metrics())
      .toContain(`kidp_kafka_messages_total{group="${groupId}",topic="${topic}",result="handled"} 1`);
  });

  it.each([
    'gzip',
    'snappy',
    'lz4',
    'zstd',
    'none',
  ] as const)('goes there without its bytes if they would take the memory: %s; the consumer goes on', async (compression) => {
    const configuration = { 'max.message.bytes': String(4 * 1024 * 1024) };
    const topic = await kafka.makeTopic('status', { partitions: 1, configuration });
    const seen: string[] = [];
    start(topic, async ({ value }) => void seen.push(String(value)));
    await send(topic, ['a:0']);
    const client = new Producer({ clientId: 'test', bootstrapBrokers: [...kafka.bootstrapServers], compression });
    // Uncompressed it is the number of headers that takes the memory.
    const [size, count] = compression === 'none' ? [1, 200_001] : [40 * 1024 * 1024, 0];
    const headers = new Map(Array.from({ length: count }, () => [Buffer.alloc(0), Buffer.alloc(0)]));
    await client.send({ messages: [{ topic, key: Buffer.from('a'), value: Buffer.alloc(size), headers }] });
    await client.close();
    await send(topic, ['a:1']);
    await expect.poll(() => seen).toEqual(['a:0', 'a:1']);
    expect(await lettersOf(topic, 1)).toEqual([
      {
        key: undefined,
        value: Buffer.alloc(0),
        headers: {
          reason: expect.stringMatching(/^the batch (is larger than 16 MiB|has more than 200000 records and headers)$/),
          code: 'batch-too-large',
          'source-topic': topic,
          'source-partition': '0',
          'source-offset': '1',
        },
      },
    ]);
  });

  it('stays where it is in the dead-letter topic itself, and does not go round for ever', async () => {
    const topic = await kafka.makeTopic('dead', { partitions: 1 });
    const seen: string[] = [];
    const refuse = async ({ value }: IncomingMessage) => {
      seen.push(value.toString());
      throw new DeadLetter('no', 'unknown');
    };
    start(topic, refuse, { deadLetterTopic: topic });
    for (const text of ['a:0', 'a:1', 'a:2']) {
      await send(topic, [text]);
      await expect.poll(() => seen).toContain(text);
    }
    expect(seen).toEqual(['a:0', 'a:1', 'a:2']);
  });

  it('waits where there is no dead-letter topic, and is not lost', async () => {
    const topic = await kafka.makeTopic('status', { partitions: 1 });
    const deadLetterTopic = deadLetterTopicOf(topic);
    let tries = 0;
    start(
      topic,
      async () => {
        tries++;
        throw new DeadLetter('no', 'unknown');
      },
      { deadLetterTopic },
    );
    await send(topic, ['a:0']);
    await expect.poll(() => tries).toBeGreaterThan(1);
    await ensureTopics({ ...connection(), topics: [{ name: deadLetterTopic, partitions: 1 }] });
    expect(await lettersOf(topic, 1, deadLetterTopic)).toMatchObject([{ value: Buffer.from('a:0') }]);
  });
});

describe('two consumers of a group', () => {
  it('share the partitions as they come and go: nothing is lost, and keys keep their order', async () => {
    const topic = await kafka.makeTopic('status', { partitions: 4 });
    const groupId = uniqueName('group');
    const ledger = new Ledger();
    const by = new Map<string, Set<string>>();
    const join = (name: string) => {
      const seen = new Set<string>();
      by.set(name, seen);
      const handle = async (message: IncomingMessage) => {
        await sleep(1);
        seen.add(String(message.value));
        ledger.record(message);
      };
      return start(topic, handle, { groupId });
    };
    const keys = Array.from({ length: 12 }, (_, index) => `key-${index}`);
    const first = join('first');
    await first.ready();
    const load = startLoad(producer, topic, keys);
    await load.more(100);
    const second = join('second');
    await second.ready();
    await expect.poll(() => by.get('second')?.size).toBeGreaterThan(100);
    await first.stop();
    const left = by.get('first')?.size ?? 0;
    await load.more(200);
    await load.stop();
    await expect.poll(() => ledger.missing(load.acknowledged)).toEqual([]);
    expect(ledger.outOfOrder).toEqual([]);
    expect(left).toBeGreaterThan(0);
    expect(by.get('first')?.size).toBe(left);
    // Partitions were handed over after their messages were finished and committed: few messages are handled twice.
    const repeated = [...ledger.effects.values()].filter((times) => times > 1).length;
    expect(repeated).toBeLessThan(ledger.effects.size / 10);
  });
});

describe('ensureTopics', () => {
  it('creates the platform’s topics and leaves existing ones unchanged, also when two callers run at once', async () => {
    const name = uniqueName('topic');
    const topics = [...platformTopics, { name, partitions: 2, configuration: { 'retention.ms': '60000' } }];
    await Promise.all([ensureTopics({ ...connection(), topics }), ensureTopics({ ...connection(), topics })]);
    await ensureTopics({ ...connection(), topics: [{ name, partitions: 9 }] });
    await send(name, ['a:0']);
    expect(platformTopics.map((topic) => topic.name)).toEqual([
      'deployment-requests',
      'deployment-requests-dead-letter',
      'deployment-status',
      'deployment-status-dead-letter',
    ]);
  });

  it('says why it cannot', async () => {
    const nobody = { ...connection(), bootstrapServers: ['127.0.0.1:1'] };
    await expect(ensureTopics(nobody)).rejects.toMatchObject({ code: 'broker/unavailable' });
    const impossible = ensureTopics({ ...connection(), topics: [{ name: 'not a name', partitions: 1 }] });
    await expect(impossible).rejects.toMatchObject({ code: 'broker/refused' });
  });
});

function connection() {
  return { bootstrapServers: kafka.bootstrapServers, clientId: 'test', log: silentLogger };
}

function start(topic: string, handle: ConsumeOptions['handle'], more: Partial<ConsumeOptions> = {}): KafkaConsumer {
  const consumer = consume({
    ...connection(),
    ...unhurried,
    groupId: uniqueName('group'),
    topics: [topic],
    deadLetterTopic: deadLetters,
    handle,
    ...more,
  });
  consumers.push(consumer);
  return consumer;
}

/** One after the other, so that their order is known. */
async function send(topic: string, texts: readonly string[]): Promise<void> {
  for (const text of texts) await producer.send({ topic, key: text.split(':')[0], value: Buffer.from(text) });
}

interface Letter {
  readonly key: string | undefined;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * In the order of what they were, each once: with and without a key they lie in different partitions, and one that was sent together
 * with one that was refused may be there twice.
 */
async function lettersOf(topic: string, count: number, from = deadLetters): Promise<Letter[]> {
  const letters = new Map<number, Letter>();
  start(from, async ({ key, value, headers }) => {
    if (headers.get('source-topic') !== topic) return;
    letters.set(Number(headers.get('source-offset')), { key, value, headers: Object.fromEntries(headers) });
  });
  await expect.poll(() => letters.size).toBe(count);
  return [...letters].sort(([a], [b]) => a - b).map(([, letter]) => letter);
}
