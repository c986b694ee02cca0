import { expect, test } from 'vitest';
import { noTracer, type PastSpan } from '../../../runtime/index.ts';
import type { Rollout, RolloutStatus } from './rollout.ts';
import { traceRollout } from './trace.ts';

const rollout = (status: Partial<RolloutStatus>): Rollout =>
  ({
    metadata: { name: 'widgets-2', uid: 'u-1', creationTimestamp: '2026-01-31T12:00:00Z' },
    spec: { operator: 'widgets', version: '2.0.0', strategy: 'Canary' },
    status: { traceparent: 'the trace', finishedAt: '2026-01-31T12:10:00Z', clusters: [{}, {}], ...status },
  }) as unknown as Rollout;
const ready = { type: 'Ready', status: 'False', reason: 'RolledBack', message: 'rolled back: why' };
const was = rollout({ phase: 'Validating' });
const completedOnce = rollout({ phase: 'RollingBack', history: [{ at: '2026-01-31T12:05:00Z', what: 'Completed' }] });

const common = {
  traceparent: 'the trace',
  startedAt: Date.parse('2026-01-31T12:00:00Z'),
  endedAt: Date.parse('2026-01-31T12:10:00Z'),
};
const { traceparent: _, ...untraced } = rollout({ phase: 'Completed' }).status ?? {};

test.each<{ reason: string; before: Rollout; after: Rollout; told: object[] }>([
  {
    reason: 'one that is completed went well',
    before: was,
    after: rollout({ phase: 'Completed' }),
    told: [common],
  },
  {
    reason: 'one that went back says why',
    before: rollout({ phase: 'RollingBack' }),
    after: rollout({ phase: 'Failed', conditions: [ready] as never }),
    told: [{ ...common, failure: 'rolled back: why' }],
  },
  { reason: 'its end is told once', before: completedOnce, after: rollout({ phase: 'Failed' }), told: [] },
  { reason: 'nobody traces', before: was, after: { ...was, status: untraced } as Rollout, told: [] },
])('$reason', ({ before, after, told }) => {
  const spans: PastSpan[] = [];
  const past = (name: string, span: PastSpan) => {
    expect(name).toBe('operator.deploy');
    spans.push(span);
  };
  traceRollout({ ...noTracer, past }, before, after);
  expect(spans).toMatchObject(told);
  for (const { attributes, failure } of spans) {
    expect(attributes).toMatchObject({ 'operator.name': 'widgets', 'deployment.id': 'u-1', 'deployment.clusters': 2 });
    expect(failure === undefined).toBe(after.status?.phase === 'Completed');
  }
});
