/** The records of the broker whose things are topics, on a real Kafka: what is not written is not known. */
import { randomUUID } from 'node:crypto';
import { Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeploymentRecord } from '../../src/broker/index.ts';
import { RecordLog } from '../../src/broker/reference/kafka/record-log.ts';
import { silentLogger, systemClock } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { useKafka } from '../support/kafka.ts';

let log: RecordLog;

beforeAll(async () => {
  log = await leadingLog(uniqueName('records'), 60_000);
});
afterAll(() => log?.stop());

async function leadingLog(broker: string, leaseMilliseconds = 15_000): Promise<RecordLog> {
  const { bootstrapServers } = await useKafka();
  const connection = { bootstrapServers, clientId: 'test', log: silentLogger };
  const made = new RecordLog({ ...connection, broker, leaseMilliseconds, clock: systemClock });
  try {
    await made.start();
    await made.leadership.acquire(new AbortController().signal);
  } catch (error) {
    await made.stop();
    throw error;
  }
  return made;
}

const record = (uid: string, deploymentId: string) => ({ version: 1, uid, deploymentId }) as DeploymentRecord;

test('nobody hears of a record before it is written: Kafka may be away, and the next one would know nothing of it', async () => {
  const uid = randomUUID();
  const reported: string[] = [];
  const unsubscribe = log.records.subscribe((each) => reported.push(each));
  const putting = log.records.put(record(uid, '1'), undefined);
  expect([log.records.known(uid), reported.filter((each) => each === uid)]).toEqual([undefined, []]);
  const stored = await putting;
  expect(stored?.record.deploymentId).toBe('1');
  expect([log.records.known(uid), reported.filter((each) => each === uid)]).toEqual([stored, [uid]]);

  const dropping = log.records.drop(uid, stored?.version ?? '');
  expect(log.records.known(uid)).toEqual(stored);
  await dropping;
  expect(log.records.known(uid)).toBeUndefined();
  unsubscribe();
});

test('of several who write over the same record one does', async () => {
  const uid = randomUUID();
  const first = await log.records.put(record(uid, '1'), undefined);
  const results = await Promise.all(['2', '3', '4'].map((each) => log.records.put(record(uid, each), first?.version)));
  const written = results.filter((each) => each !== undefined);
  expect(written).toHaveLength(1);
  expect(log.records.known(uid)).toEqual(written[0]);
});

test('who takes over knows all that was written and nothing else, however many writers were cut off, and wherever they were', async () => {
  const broker = uniqueName('takeover');
  const [first, unwritten, second] = [randomUUID(), randomUUID(), randomUUID()];
  const write = (uid: string) => leadOnce(broker, ({ records }) => records.put(record(uid, '1'), undefined));
  // Kafka may still be busy with the transaction before; then it is begun again.
  await eventually(() => write(first));
  await eventually(() => beCutOff(broker, unwritten));
  await eventually(() => write(second));
  await eventually(() => beCutOff(broker));
  const known = await eventually(() =>
    leadOnce(broker, async ({ records }) =>
      [first, unwritten, second].map((uid) => records.known(uid)?.record.deploymentId),
    ),
  );
  expect(known).toEqual(['1', undefined, '1']);
});

async function leadOnce<T>(broker: string, act: (log: RecordLog) => Promise<T>): Promise<T> {
  const leading = await leadingLog(broker);
  try {
    const result = await act(leading);
    await leading.leadership.release();
    return result;
  } finally {
    await leading.stop();
  }
}

/** As a writer is whose transaction does not come to its end: after it wrote a record or, without one, just before. */
async function beCutOff(broker: string, uid?: string): Promise<void> {
  const topic = `kidp-broker-records-${broker}`;
  const { bootstrapServers } = await useKafka();
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId: 'test',
    bootstrapBrokers: [...bootstrapServers],
    idempotent: true,
    acks: -1,
    transactionalId: topic,
    producerId: -1n,
    producerEpoch: -1,
  });
  try {
    const transaction = await producer.beginTransaction();
    const value = Buffer.from(JSON.stringify(record(uid ?? '', '1')));
    const messages = [{ topic, partition: 0, key: Buffer.from(uid ?? ''), value }];
    if (uid !== undefined) await transaction.send({ messages, acks: -1 });
    else await transaction.addPartitions(await producer.metadata({ topics: [topic] }), messages);
    await transaction.abort();
  } finally {
    await producer.close();
  }
}
