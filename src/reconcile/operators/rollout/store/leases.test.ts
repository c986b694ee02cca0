import { expect, test } from 'vitest';
import type { Client, Resource } from '../../../../runtime/index.ts';
import { leases } from '../../../../runtime/internal.ts';
import type { Rollout } from '../rollout.ts';
import { RolloutLeases } from './leases.ts';

const rollout = (name: string, status: object = {}): Rollout =>
  ({ metadata: { name, uid: `uid-${name}` }, spec: { operator: name }, status }) as unknown as Rollout;
const underWay = (name: string, more: object = {}) =>
  rollout(name, { phase: 'Deploying', startedAt: '2026-01-01T00:00:00Z', ...more });
const held = { heldSince: '2026-01-01T00:00:00Z' };

/** Leases with a maximum of two concurrent rollouts, and the given rollouts. */
function holdsAmong(...all: readonly Rollout[]): RolloutLeases {
  const client = {
    list: async (resource: Resource) => ({ metadata: {}, items: resource === leases ? [] : all }),
    create: async (_: unknown, object: object) => object,
  } as unknown as Client;
  return new RolloutLeases({ client, namespace: 'kidp-system', maxConcurrent: 2, now: () => 0 });
}

const rows = [
  { reason: 'two are in progress', others: [underWay('a'), underWay('b')], isFull: true },
  { reason: 'one of them has ended', others: [underWay('a'), underWay('b', { finishedAt: 'then' })], isFull: false },
  { reason: 'one of them waits for a user', others: [underWay('a'), underWay('b', held)], isFull: false },
  { reason: 'one waits for its Approval', others: [underWay('a'), rollout('b', { phase: 'Planning' })], isFull: false },
];

test.each(rows)('start: $reason', async ({ others, isFull }) => {
  const started: string[] = [];
  const one = rollout('new', { phase: 'Planning' });
  const refusal = await holdsAmong(...others, one).start(one, ['here'], async () => started.push('start'));
  expect(refusal).toEqual(isFull ? expect.stringContaining('the maximum is 2') : undefined);
  expect(started).toEqual(isFull ? [] : ['start']);
});

test.each(rows)('resume: $reason', async ({ others, isFull }) => {
  const started: string[] = [];
  const one = underWay('held', held);
  const refusal = await holdsAmong(...others, one).resume(one, async () => started.push('resume'));
  expect(refusal).toEqual(isFull ? expect.stringContaining('the maximum is 2') : undefined);
  expect(started).toEqual(isFull ? [] : ['resume']);
});
