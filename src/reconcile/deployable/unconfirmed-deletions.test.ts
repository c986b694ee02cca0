import { expect, test } from 'vitest';
import type { Deployable } from './deployable.ts';
import { isUnconfirmedDeletion } from './unconfirmed-deletions.ts';

const dispatched = { dispatchedGeneration: 2, deploymentId: 'u/2/0', requested: 'Delete' };

test.each([
  { reason: 'it was never handed to a broker', status: undefined, unconfirmed: false },
  {
    reason: 'the broker has said that it is gone',
    status: { ...dispatched, lastReport: { phase: 'deleted' } },
    unconfirmed: false,
  },
  {
    reason: 'somebody has answered for leaving it behind',
    status: dispatched,
    annotations: { 'platform.company.com/abandon-cleanup': 'u' },
    unconfirmed: false,
  },
  {
    reason: 'the answer is for an earlier object of that name',
    status: dispatched,
    annotations: { 'platform.company.com/abandon-cleanup': 'other' },
    unconfirmed: true,
  },
  { reason: 'the broker has not answered yet', status: dispatched, unconfirmed: true },
  {
    reason: 'it was ready, and no deletion was ever asked for',
    status: { ...dispatched, requested: 'Deploy', lastReport: { phase: 'ready' } },
    unconfirmed: true,
  },
  {
    reason: 'what is gone was an earlier deployment',
    status: { ...dispatched, requested: 'Deploy', lastReport: { phase: 'deleted' } },
    unconfirmed: true,
  },
])('an object that is gone, where $reason: unconfirmed $unconfirmed', ({ status, annotations, unconfirmed }) => {
  const object = { metadata: { name: 'x', uid: 'u', annotations }, status } as unknown as Deployable;
  expect(isUnconfirmedDeletion(object)).toBe(unconfirmed);
});
