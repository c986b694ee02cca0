import { expect, test } from 'vitest';
import type { Deployable } from './deployable.ts';
import { isUnconfirmedDeletion } from './unconfirmed-deletions.ts';

const dispatched = { dispatchedGeneration: 2, deploymentId: 'u/2/0', requested: 'Delete' };

test.each([
  { reason: 'it was never dispatched', status: undefined, unconfirmed: false },
  {
    reason: 'the broker confirmed the deletion',
    status: { ...dispatched, lastReport: { phase: 'deleted' } },
    unconfirmed: false,
  },
  {
    reason: 'a user abandoned the cleanup',
    status: dispatched,
    annotations: { 'platform.company.com/abandon-cleanup': 'u' },
    unconfirmed: false,
  },
  {
    reason: 'the annotation names an earlier object',
    status: dispatched,
    annotations: { 'platform.company.com/abandon-cleanup': 'other' },
    unconfirmed: true,
  },
  { reason: 'the broker has not answered yet', status: dispatched, unconfirmed: true },
  {
    reason: 'it was ready, and no deletion was requested',
    status: { ...dispatched, requested: 'Deploy', lastReport: { phase: 'ready' } },
    unconfirmed: true,
  },
  {
    reason: 'the confirmed deletion was of an earlier deployment',
    status: { ...dispatched, requested: 'Deploy', lastReport: { phase: 'deleted' } },
    unconfirmed: true,
  },
])('a deleted object, $reason: unconfirmed $unconfirmed', ({ status, annotations, unconfirmed }) => {
  const object = { metadata: { name: 'x', uid: 'u', annotations }, status } as unknown as Deployable;
  expect(isUnconfirmedDeletion(object)).toBe(unconfirmed);
});
