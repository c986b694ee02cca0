import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareDeployments, formatDeploymentId, parseDeploymentId } from '../deployment-id.ts';
import { type Action, REQUEST_TYPE, type RequestEvent } from '../messages.ts';
import {
  acknowledge,
  applyObservation,
  claim,
  type DeploymentRecord,
  handedOver,
  isExpired,
  isUnreported,
  LEDGER_LENGTH,
  markBilled,
  queried,
  unbilledMeter,
} from './record.ts';
import { finalAmounts, settleMeter } from './usage.ts';

const uid = 'u-1';
const moment = (now = 1_000) => ({ now, instance: 'one' });

function requested(generation: number, attempt = 0, action: Action = 'Deploy'): RequestEvent {
  const deploymentId = formatDeploymentId({ uid, generation, attempt });
  return {
    specversion: '1.0',
    id: `${deploymentId}/${action}`,
    source: '/kidp',
    type: REQUEST_TYPE,
    subject: 'databases/team/users',
    time: '2026-01-01T00:00:00Z',
    datacontenttype: 'application/json',
    data: {
      action,
      deploymentId,
      broker: 'b',
      resource: { apiVersion: 'platform.company.com/v1', kind: 'Database', namespace: 'team', name: 'users', uid },
      target: { name: 't', provider: 'onprem' },
      spec: { generation },
      replyTo: {},
    },
  };
}

function claimed(record: DeploymentRecord | undefined, event: RequestEvent, now = 1_000): DeploymentRecord {
  const made = claim(record, event, moment(now));
  if (made.outcome !== 'accepted') throw new Error(`it is ${made.outcome}`);
  return made.record;
}

test('what another broker has taken over is neither done nor reported nor charged for any more', () => {
  const record = { ...claimed(undefined, requested(1)), notes: { made: '{}' } };
  const meter = { month: '2026-01', settledMicros: 0, since: Date.parse('2026-01-01T00:00:00Z'), microsPerHour: 5 };
  const over = handedOver({ ...record, meter }, 'u-1/1/1', Date.parse('2026-01-01T02:00:00Z'));
  expect(over).toMatchObject({ state: 'deleted', notes: {}, meter: { settledMicros: 10, microsPerHour: 0 } });
  expect(isUnreported(over)).toBe(false);
  // What it has cost here up to then is still to be reported, once.
  expect(unbilledMeter(over)).toEqual(over.meter);
  expect(unbilledMeter(markBilled(over, over.meter ?? meter))).toBeUndefined();
  expect(handedOver(over, 'u-1/1/2', Date.parse('2026-01-01T09:00:00Z')).meter).toEqual(over.meter);
  expect(claim(over, requested(1), moment()).outcome).toBe('stale');
  expect(claim(over, requested(1, 1), moment()).outcome).toBe('stale');
  // It may come back.
  expect(claim(over, requested(1, 2), moment()).outcome).toBe('accepted');
});

test('what is gone is reported once what it cost, and again should it have come back in between', () => {
  const at = (time: string) => Date.parse(`2026-01-${time}Z`);
  const meter = settleMeter(undefined, 1_000_000, at('10T10:05:00'));
  const there: DeploymentRecord = { ...claimed(undefined, requested(1)), state: 'done', meter };
  expect(unbilledMeter(there)).toBeUndefined();
  const gone: DeploymentRecord = { ...there, state: 'deleted', meter: settleMeter(meter, 0, at('10T10:35:00')) };
  const reported = unbilledMeter(gone);
  if (reported === undefined) throw new Error('nothing is to be reported');
  expect(finalAmounts(reported)).toEqual([{ month: '2026-01', amount: '0.5', asOf: '2026-01-10T10:35:00.000Z' }]);
  const billed = markBilled(gone, reported);
  expect(unbilledMeter(billed)).toBeUndefined();
  // As a restart finds it, and whoever asks about it.
  expect(
    unbilledMeter(queried(JSON.parse(JSON.stringify(billed)), requested(1, 0, 'Query'), moment())),
  ).toBeUndefined();

  const back: DeploymentRecord = {
    ...billed,
    state: 'done',
    meter: settleMeter(reported, 1_000_000, at('12T00:00:00')),
  };
  const again: DeploymentRecord = { ...back, state: 'deleted', meter: settleMeter(back.meter, 0, at('12T01:00:00')) };
  expect(finalAmounts(unbilledMeter(again) ?? meter).map(({ amount }) => amount)).toEqual(['1.5']);
});

describe('what is asked for', () => {
  const second = claimed(claimed(undefined, requested(1)), requested(2));
  const gone = claimed(second, requested(3, 0, 'Delete'));
  test.each([
    { record: undefined, event: requested(1), outcome: 'accepted', reason: 'never heard of' },
    { record: second, event: requested(2), outcome: 'duplicate', reason: 'the same once more' },
    { record: second, event: requested(1), outcome: 'stale', reason: 'an older generation' },
    { record: second, event: requested(2, 1), outcome: 'accepted', reason: 'a repair' },
    { record: claimed(second, requested(2, 1)), event: requested(2), outcome: 'stale', reason: 'what was repaired' },
    { record: second, event: requested(2, 0, 'Delete'), outcome: 'accepted', reason: 'a deletion of the same name' },
    { record: gone, event: requested(3, 0, 'Delete'), outcome: 'duplicate', reason: 'a deletion once more' },
    { record: gone, event: requested(3), outcome: 'stale', reason: 'a deployment of what was deleted since' },
    { record: gone, event: requested(2), outcome: 'stale', reason: 'replay after a deletion' },
  ])('is $outcome: $reason', ({ record, event, outcome }) => {
    expect(claim(record, event, moment()).outcome).toBe(outcome);
  });
});

test('whatever is delivered, however often and in whichever order, is claimed once and never after something newer', () => {
  const delivery = fc.record({
    generation: fc.integer({ min: 1, max: 4 }),
    attempt: fc.integer({ min: 0, max: 2 }),
    action: fc.constantFrom<Action>('Deploy', 'Deploy', 'Delete'),
    // An instance that read the record before the last write: its write must be refused, and it must look again.
    late: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(delivery, { maxLength: 40 }), (deliveries) => {
      let record: DeploymentRecord | undefined;
      let before: DeploymentRecord | undefined;
      for (const [index, { generation, attempt, action, late }] of deliveries.entries()) {
        const event = requested(generation, attempt, action);
        const seen = late ? before : record;
        let made = claim(seen, event, moment(index));
        if (seen !== record) made = claim(record, event, moment(index));
        before = record;
        if (made.outcome === 'accepted') record = made.record;
      }
      const ledger = record?.ledger ?? [];
      for (const [index, entry] of ledger.entries()) {
        const previous = ledger[index - 1];
        if (previous === undefined) continue;
        const [left, right] = [parseDeploymentId(previous.deploymentId), parseDeploymentId(entry.deploymentId)];
        if (left === undefined || right === undefined) throw new Error('no deployment');
        const order = compareDeployments(left, right);
        expect(order < 0 || (order === 0 && previous.action === 'Deploy' && entry.action === 'Delete')).toBe(true);
      }
      const newest = deliveries.map(({ generation, attempt }) => generation * 10 + attempt).sort((a, b) => b - a)[0];
      const id = record === undefined ? undefined : parseDeploymentId(record.deploymentId);
      expect(id === undefined ? undefined : id.generation * 10 + id.attempt).toBe(newest);
    }),
  );
});

test('the sequence rises with every report, through claims, questions and clocks that are set back', () => {
  const step = fc.record({
    what: fc.constantFrom('claim', 'observe', 'ask', 'acknowledge'),
    now: fc.integer({ min: 0, max: 10_000 }),
    message: fc.constantFrom('a', 'b'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let record = claimed(undefined, requested(1));
      let generation = 1;
      for (const { what, now, message } of steps) {
        const previous = record;
        if (what === 'claim') record = claimed(record, requested(++generation), now);
        else if (what === 'observe')
          record = applyObservation(record, { state: 'done', report: { phase: 'ready', message } }, moment(now));
        else if (what === 'ask') record = queried(record, requested(generation, 0, 'Query'), moment(now));
        else record = acknowledge(record, record.sequence);
        const reported =
          JSON.stringify([previous.report, previous.deploymentId]) !==
          JSON.stringify([record.report, record.deploymentId]);
        expect(record.sequence).toBeGreaterThanOrEqual(previous.sequence);
        if (reported || what === 'ask') expect(record.sequence).toBeGreaterThan(previous.sequence);
        if (what === 'acknowledge') expect(isUnreported(record)).toBe(false);
      }
    }),
  );
});

test('seeing the same once more writes nothing', () => {
  const record = applyObservation(
    claimed(undefined, requested(1)),
    { state: 'done', report: { phase: 'ready' } },
    moment(),
  );
  expect(applyObservation(record, { state: 'done', report: { phase: 'ready' } }, moment(2_000))).toBe(record);
});

test('the ledger is bounded', () => {
  let record = claimed(undefined, requested(1));
  for (let generation = 2; generation < 200; generation += 1) record = claimed(record, requested(generation));
  expect(record.ledger).toHaveLength(LEDGER_LENGTH);
  expect(record.ledger.at(-1)?.deploymentId).toBe('u-1/199/0');
});

test('a tombstone goes only when it is old and its end was taken', () => {
  const gone = applyObservation(
    claimed(undefined, requested(1, 0, 'Delete')),
    { state: 'deleted', report: { phase: 'deleted' } },
    moment(),
  );
  expect(isExpired(gone, 100_000, 10)).toBe(false);
  const taken = acknowledge(gone, gone.sequence);
  expect(isExpired(taken, 100_000, 10)).toBe(true);
  expect(isExpired(taken, 1_005, 10)).toBe(false);
  expect(isExpired(acknowledge(claimed(undefined, requested(1)), 1_000), 100_000, 10)).toBe(false);
});
