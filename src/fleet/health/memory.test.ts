/** State between two checks: restarts, and waiting custom resources. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RestartMemory } from './restarts.ts';
import type { CustomResource, Pod } from './shapes.ts';
import { StalenessMemory } from './staleness.ts';

const window = 300_000;
const start = Date.UTC(2026, 0, 1);
const at = (milliseconds: number) => new Date(start + milliseconds).toISOString();

function pod(restartCount: number, { made = -86_400_000, uid = 'a' } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, uid, creationTimestamp: at(made) },
    status: { phase: 'Running', containerStatuses: [{ name: 'manager', restartCount }] },
  };
}

const failed = (finishedAt: number, reason?: string): Pod => ({
  ...pod(0, { uid: `failed-${finishedAt}` }),
  status: {
    phase: 'Failed',
    ...(reason === undefined ? {} : { reason }),
    containerStatuses: [{ state: { terminated: { exitCode: 1, finishedAt: at(finishedAt) } } }],
  },
});

describe('restarts within five minutes', () => {
  const rows: { reason: string; looks: { at: number; pods: Pod[] }[]; counted: number }[] = [
    {
      reason: 'a pod that was never seen before: what it had is of long ago',
      looks: [{ at: 0, pods: [pod(40)] }],
      counted: 0,
    },
    {
      reason: 'a pod that was made a minute ago: all are of now',
      looks: [{ at: 0, pods: [pod(2, { made: -60_000 })] }],
      counted: 2,
    },
    {
      reason: 'more than at the last look',
      looks: [
        { at: 0, pods: [pod(40)] },
        { at: 30_000, pods: [pod(42)] },
      ],
      counted: 2,
    },
    {
      reason: 'those that were before the window are forgotten',
      looks: [
        { at: 0, pods: [pod(1)] },
        { at: 30_000, pods: [pod(3)] },
        { at: 400_000, pods: [pod(4)] },
      ],
      counted: 1,
    },
    {
      reason: 'of two pods together',
      looks: [
        { at: 0, pods: [pod(0), pod(0, { uid: 'b' })] },
        { at: 30_000, pods: [pod(1), pod(2, { uid: 'b' })] },
      ],
      counted: 3,
    },
    {
      reason: 'pods that failed and were replaced',
      looks: [{ at: 0, pods: [failed(-1_000), failed(-2_000)] }],
      counted: 2,
    },
    { reason: 'a pod that failed long ago', looks: [{ at: 0, pods: [failed(-window - 1)] }], counted: 0 },
    {
      reason: 'a pod that was pushed out of its node',
      looks: [{ at: 0, pods: [failed(-1_000, 'Evicted')] }],
      counted: 0,
    },
  ];
  for (const { reason, looks, counted } of rows) {
    it(`are ${counted} of ${reason}`, () => {
      const memory = new RestartMemory();
      const counts = looks.map((look) => memory.within(look.pods, window, start + look.at));
      expect(counts.at(-1)).toBe(counted);
    });
  }

  it('are never more than there were, and all of them where each look was within the window', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ wait: fc.integer({ min: 1, max: 200_000 }), more: fc.nat(3) }), {
          minLength: 1,
          maxLength: 40,
        }),
        (steps) => {
          const memory = new RestartMemory();
          memory.within([pod(0)], window, start);
          const history = [{ at: start, count: 0 }];
          for (const { wait, more } of steps) {
            const last = history.at(-1) ?? { at: start, count: 0 };
            const now = { at: last.at + wait, count: last.count + more };
            history.push(now);
            const counted = memory.within([pod(now.count)], window, now.at);
            const before = history.filter((each) => each.at <= now.at - window).at(-1) ?? history[0];
            expect(counted).toBe(now.count - (before?.count ?? 0));
          }
        },
      ),
    );
  });

  it('are forgotten with the pod', () => {
    const memory = new RestartMemory();
    memory.within([pod(1)], window, start);
    memory.sweep(start + 1);
    expect(memory.size).toBe(0);
  });
});

describe('a custom resource', () => {
  const resource = (generation: number, status?: CustomResource['status']): CustomResource => ({
    apiVersion: 'test/v1',
    kind: 'Widget',
    metadata: { name: 'a', uid: 'a', generation },
    ...(status === undefined ? {} : { status }),
  });
  const rows: {
    reason: string;
    looks: { at: number; object: CustomResource; expected?: boolean }[];
    behind?: number;
  }[] = [
    { reason: 'was taken up', looks: [{ at: 0, object: resource(2, { observedGeneration: 2 }) }] },
    { reason: 'is of a kind that never says', looks: [{ at: 0, object: resource(2, {}), expected: false }] },
    {
      reason: 'waits from when that was seen',
      looks: [{ at: 0, object: resource(2, { observedGeneration: 1 }) }],
      behind: 0,
    },
    {
      reason: 'still waits',
      looks: [
        { at: 0, object: resource(2, { observedGeneration: 1 }) },
        { at: 400_000, object: resource(2, { observedGeneration: 1 }) },
      ],
      behind: 400_000,
    },
    {
      reason: 'waits no less for being changed again',
      looks: [
        { at: 0, object: resource(2, { observedGeneration: 1 }) },
        { at: 400_000, object: resource(3, { observedGeneration: 1 }) },
      ],
      behind: 400_000,
    },
    {
      reason: 'was reconciled meanwhile and waits again',
      looks: [
        { at: 0, object: resource(2, { observedGeneration: 1 }) },
        { at: 100_000, object: resource(2, { observedGeneration: 2 }) },
        { at: 200_000, object: resource(3, { observedGeneration: 2 }) },
        { at: 260_000, object: resource(3, { observedGeneration: 2 }) },
      ],
      behind: 60_000,
    },
    { reason: 'has no status at all though its kind has', looks: [{ at: 0, object: resource(1) }], behind: 0 },
    {
      reason: 'says it in its conditions',
      looks: [{ at: 0, object: resource(2, { conditions: [{ type: 'Ready', observedGeneration: 2 }] }) }],
    },
  ];
  for (const { reason, looks, behind } of rows) {
    it(`that ${reason}`, () => {
      const memory = new StalenessMemory();
      const results = looks.map(({ at: time, object, expected = true }) =>
        memory.behindFor(object, expected, start + time),
      );
      expect(results.at(-1)).toBe(behind);
    });
  }
});
