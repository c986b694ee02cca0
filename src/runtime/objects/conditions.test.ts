import { describe, expect, it } from 'vitest';
import {
  type DesiredCondition,
  getCondition,
  hasStatus,
  mergeConditions,
  removeCondition,
  type SummaryOptions,
  setCondition,
  summarize,
} from './conditions.ts';
import type { Condition } from './object.ts';

const before = '2026-01-01T00:00:00Z';
const now = new Date('2026-02-02T03:04:05.678Z');
const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'ResourceReady',
  message: '',
  lastTransitionTime: before,
  observedGeneration: 1,
};

describe('setCondition', () => {
  const rows: { reason: string; desired: DesiredCondition; changed: boolean; time: string }[] = [
    {
      reason: 'the same again is no change',
      desired: { type: 'Ready', status: 'True', reason: 'ResourceReady', message: '', observedGeneration: 1 },
      changed: false,
      time: before,
    },
    {
      reason: 'a caller that names no generation leaves it, which is no change either',
      desired: { type: 'Ready', status: 'True', reason: 'ResourceReady' },
      changed: false,
      time: before,
    },
    {
      reason: 'another message is written, but is no transition',
      desired: { type: 'Ready', status: 'True', reason: 'ResourceReady', message: 'all well' },
      changed: true,
      time: before,
    },
    {
      reason: 'another reason is written, but is no transition',
      desired: { type: 'Ready', status: 'True', reason: 'Repaired' },
      changed: true,
      time: before,
    },
    {
      reason: 'a newer generation is written, but is no transition',
      desired: { type: 'Ready', status: 'True', reason: 'ResourceReady', observedGeneration: 2 },
      changed: true,
      time: before,
    },
    {
      reason: 'another status is a transition, in whole seconds as metav1.Time is',
      desired: { type: 'Ready', status: 'False', reason: 'Broken' },
      changed: true,
      time: '2026-02-02T03:04:05Z',
    },
  ];
  for (const { reason, desired, changed, time } of rows) {
    it(reason, () => {
      const current = [ready];
      const outcome = setCondition(current, desired, now);
      expect(outcome.changed).toBe(changed);
      expect(getCondition(outcome.conditions, 'Ready')?.lastTransitionTime).toBe(time);
      expect(current).toEqual([ready]);
    });
  }
});

describe('mergeConditions', () => {
  const other: Condition = { ...ready, type: 'Synced' };

  it('keeps the order of the current ones, puts the new at the end and leaves the others', () => {
    const outcome = mergeConditions(
      [other, ready],
      [
        { type: 'Admitted', status: 'True', reason: 'Passed' },
        { type: 'Synced', status: 'False', reason: 'Late' },
      ],
      now,
    );
    expect(outcome.conditions.map(({ type, status }) => [type, status])).toEqual([
      ['Synced', 'False'],
      ['Ready', 'True'],
      ['Admitted', 'True'],
    ]);
    expect(outcome.conditions[1]).toBe(ready);
  });

  it('starts from nothing', () => {
    const outcome = mergeConditions(undefined, [{ type: 'Ready', status: 'Unknown', reason: 'Pending' }], now);
    expect(outcome.changed).toBe(true);
    expect(hasStatus(outcome.conditions, 'Ready', 'Unknown')).toBe(true);
  });

  it('settles: merging its own outcome changes nothing', () => {
    const desired: DesiredCondition[] = [{ type: 'Ready', status: 'False', reason: 'Broken', observedGeneration: 7 }];
    const once = mergeConditions([ready], desired, now);
    expect(mergeConditions(once.conditions, desired, new Date()).changed).toBe(false);
  });

  it('removes one, and says whether it was there', () => {
    expect(removeCondition([other, ready], 'Ready')).toEqual({ conditions: [other], changed: true });
    expect(removeCondition([other], 'Ready').changed).toBe(false);
    expect(removeCondition(undefined, 'Ready').changed).toBe(false);
  });
});

describe('summarize', () => {
  const condition = (type: string, status: Condition['status'], observedGeneration = 2): Condition => ({
    type,
    status,
    reason: `${type}${status}`,
    message: `${type} is ${status}`,
    lastTransitionTime: before,
    observedGeneration,
  });
  const rows: {
    reason: string;
    conditions: Condition[] | undefined;
    options: SummaryOptions;
    status: Condition['status'];
    because: string;
  }[] = [
    {
      reason: 'all True is True',
      conditions: [condition('A', 'True'), condition('B', 'True')],
      options: { of: ['A', 'B'] },
      status: 'True',
      because: 'ResourceReady',
    },
    {
      reason: 'a False one decides before an Unknown one that is more important',
      conditions: [condition('A', 'Unknown'), condition('B', 'False')],
      options: { of: ['A', 'B'] },
      status: 'False',
      because: 'BFalse',
    },
    {
      reason: 'of two that are False the more important one speaks',
      conditions: [condition('B', 'False'), condition('A', 'False')],
      options: { of: ['A', 'B'] },
      status: 'False',
      because: 'AFalse',
    },
    {
      reason: 'one that is missing is not known yet',
      conditions: undefined,
      options: { of: ['A'] },
      status: 'Unknown',
      because: 'Pending',
    },
    {
      reason: 'one that speaks of an older generation is not known yet',
      conditions: [condition('A', 'True', 1)],
      options: { of: ['A'], observedGeneration: 2 },
      status: 'Unknown',
      because: 'Pending',
    },
    {
      reason: 'one that is bad when True makes it False',
      conditions: [condition('A', 'True'), condition('Stalled', 'True')],
      options: { of: ['A'], badWhenTrue: ['Stalled'] },
      status: 'False',
      because: 'StalledTrue',
    },
    {
      reason: 'one that is bad when True and missing is fine',
      conditions: [condition('A', 'True')],
      options: { of: ['A'], badWhenTrue: ['Stalled'], reason: 'AllWell' },
      status: 'True',
      because: 'AllWell',
    },
  ];
  for (const { reason, conditions, options, status, because } of rows) {
    it(reason, () => {
      expect(summarize(conditions, options)).toMatchObject({ type: 'Ready', status, reason: because });
    });
  }
});
