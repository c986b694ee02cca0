/** The records of the broker whose things are topics, on a real Kafka: what is not written is not known. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeploymentRecord } from '../../src/broker/index.ts';
import { type RecordLog, recordLog } from '../../src/broker/reference/kafka/log.ts';
import { silentLogger, systemClock } from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { useKafka } from '../support/kafka.ts';

let log: RecordLog;

beforeAll(async () => {
  const { bootstrapServers } = await useKafka();
  const connection = { bootstrapServers, clientId: 'test', log: silentLogger };
  log = recordLog({ ...connection, broker: uniqueName('records'), leaseMilliseconds: 15_000, clock: systemClock });
  await log.start();
  await log.leadership.acquire(new AbortController().signal);
});
afterAll(() => log?.stop());

const record = (uid: string, deploymentId: string) => ({ version: 1, uid, deploymentId }) as DeploymentRecord;

test('nobody hears of a record before it is written: Kafka may be away, and the next one would know nothing of it', async () => {
  const uid = randomUUID();
  const told: string[] = [];
  const unsubscribe = log.records.subscribe((each) => told.push(each));
  const putting = log.records.put(record(uid, '1'), undefined);
  expect([log.records.known(uid), told.filter((each) => each === uid)]).toEqual([undefined, []]);
  const stored = await putting;
  expect(stored?.record.deploymentId).toBe('1');
  expect([log.records.known(uid), told.filter((each) => each === uid)]).toEqual([stored, [uid]]);

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
