/**
 * What happens to a Kafka, happens to one of our own here: killed, paused, restarted, its clients' certificates rotated, under load.
 * Judged by what was acknowledged and what was done: no acknowledged message is lost, and none is out of order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  consume,
  ensureTopics,
  type KafkaConnection,
  type KafkaConsumer,
  type KafkaProducer,
  type KafkaTls,
  kafkaProducer,
} from '../../src/broker/index.ts';
import { createAuthority, issueLeaf } from '../../src/controlplane/pki.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { type Kafka, startKafka } from '../support/kafka.ts';
import { Ledger, quickly, startLoad } from './support/messages.ts';
import { type Relay, startRelay } from './support/relay.ts';

let kafka: Kafka;
let relay: Relay;
/** The client certificate, read at each connection. */
let certificate: () => KafkaTls;
const running: { consumers: KafkaConsumer[]; producers: KafkaProducer[] } = { consumers: [], producers: [] };

beforeAll(async () => {
  relay = await startRelay();
  // Clients connect through the relay.
  kafka = await startKafka({ tls: true, settings: { 'advertised.listeners': `CLIENT://127.0.0.1:${relay.port}` } });
  relay.to(Number(kafka.bootstrapServers[0]?.split(':')[1]));
  const good = kafka.clientCertificate('test');
  certificate = () => good;
});
afterEach(async () => {
  await Promise.all(running.consumers.splice(0).map((consumer) => consumer.stop()));
  await Promise.all(running.producers.splice(0).map((producer) => producer.close()));
});
afterAll(async () => {
  await kafka?.stop();
  await relay?.stop();
});

describe('under load, nothing that was acknowledged is lost', () => {
  it('when Kafka is killed or restarted: it is detected as unavailable at once, and as available again automatically', async () => {
    const { producer, load, topic, everythingDone } = await start();
    await load.more(100);
    await kafka.kill();
    await expect.poll(() => producer.available(topic)).toBe(false);
    await expect(producer.send({ topic, key: 'x', value: Buffer.from('x:0') })).rejects.toMatchObject({
      code: 'broker/unavailable',
    });
    await kafka.start();
    await expect.poll(() => producer.available(topic)).toBe(true);
    await load.more(100);
    // A clean restart closes the connections of the clients; they reconnect.
    await kafka.restart();
    await load.more(100);
    await everythingDone();
    expect(load.failures.unavailable).toBeGreaterThan(0);
  });

  it('when Kafka is paused for longer than the message timeout', async () => {
    const { producer, load, topic, everythingDone } = await start({ timeoutMilliseconds: 1_000 });
    await load.more(100);
    kafka.pause();
    await expect.poll(() => producer.available(topic)).toBe(false);
    kafka.resume();
    await expect.poll(() => producer.available(topic)).toBe(true);
    await load.more(100);
    await everythingDone();
    expect(load.failures.timeout).toBeGreaterThan(0);
  });

  it('when certificates rotate every second, connections break with them, and some cannot be read', async () => {
    const { producer, load, topic, everythingDone } = await start();
    await load.more(100);
    const before = relay.connections;
    const good = certificate;
    let asked = 0;
    try {
      for (let rotation = 0; rotation < 6; rotation++) {
        const next = kafka.clientCertificate('test', { validMilliseconds: 60_000 });
        certificate = () => {
          asked++;
          if (asked % 4 === 0) throw new Error('the file is being written');
          return next;
        };
        relay.cut();
        await sleep(1_000);
        await load.more(50);
      }
      // A certificate that Kafka rejects proves that each connection uses the newest one.
      certificate = strangerTo(kafka);
      relay.cut();
      await expect.poll(() => producer.available(topic)).toBe(false);
      certificate = good;
      await expect.poll(() => producer.available(topic)).toBe(true);
      await load.more(50);
      await everythingDone();
    } finally {
      certificate = good;
    }
    expect(asked).toBeGreaterThan(6);
    expect(relay.connections).toBeGreaterThanOrEqual(before + 12);
  });
});

async function start(more: { timeoutMilliseconds?: number } = {}) {
  const topic = uniqueName('load');
  const topics = [topic, `${topic}-dead`].map((name) => ({ name, partitions: 3 }));
  await ensureTopics({ ...connection(), topics });
  const ledger = new Ledger();
  const consumer = consume({
    ...connection(),
    ...quickly,
    groupId: topic,
    topics: [topic],
    deadLetterTopic: `${topic}-dead`,
    handle: async (message) => ledger.record(message),
  });
  running.consumers.push(consumer);
  await consumer.ready();
  const producer = newProducer(more);
  const load = startLoad(producer, topic);
  const everythingDone = async () => {
    await load.stop();
    await expect.poll(() => ledger.missing(load.acknowledged)).toEqual([]);
    expect(ledger.outOfOrder).toEqual([]);
  };
  return { producer, load, topic, everythingDone };
}

function connection(): KafkaConnection {
  return {
    bootstrapServers: [`127.0.0.1:${relay.port}`],
    clientId: 'test',
    log: silentLogger,
    tls: () => certificate(),
  };
}

function newProducer(more: Partial<Parameters<typeof kafkaProducer>[0]> = {}): KafkaProducer {
  const producer = kafkaProducer({ ...connection(), ...more });
  running.producers.push(producer);
  return producer;
}

/** Trusts this Kafka, and shows a certificate that somebody else has signed. */
function strangerTo(known: Kafka): () => KafkaTls {
  const { certificate: cert, key } = issueLeaf(createAuthority('somebody-else'), { commonName: 'test' });
  const { ca } = known.clientCertificate('test');
  return () => ({ ca, cert, key });
}
