import { expect, test } from 'vitest';
import { TRACEPARENT_ANNOTATION } from '../../../api/index.ts';
import { noTracer, type Tracer } from '../../../runtime/index.ts';
import { type PastSpan, parseTraceparent } from '../../../runtime/internal.ts';
import type { Rollout, RolloutStatus } from './rollout.ts';
import { recordRolloutSpan, traceIdOf, traceparentFor } from './trace.ts';

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
  recordRolloutSpan({ ...noTracer, past }, before, after);
  expect(spans).toMatchObject(told);
  for (const { attributes, failure } of spans) {
    expect(attributes).toMatchObject({ 'operator.name': 'widgets', 'deployment.id': 'u-1', 'deployment.clusters': 2 });
    expect(failure === undefined).toBe(after.status?.phase === 'Completed');
  }
});

const callers = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const own = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
/** Without a status, as it is before it is planned. */
const asked = (traceparent?: string, status?: Partial<RolloutStatus>): Rollout => {
  const { status: _status, ...object } = rollout({});
  const annotations = traceparent === undefined ? {} : { [TRACEPARENT_ANNOTATION]: traceparent };
  return { ...object, metadata: { ...object.metadata, annotations }, ...(status && { status }) } as Rollout;
};
/** Says what it was given. */
const beginning: Tracer = { ...noTracer, begin: (parent = 'none') => `begun in ${parent}` };

test.each<{ reason: string; object: Rollout; tracer: Tracer; trace: string }>([
  { reason: 'nobody says in which: one begins', object: asked(), tracer: beginning, trace: 'begun in none' },
  {
    reason: 'it is in the trace of who asked for it',
    object: asked(callers),
    tracer: beginning,
    trace: `begun in ${callers}`,
  },
  {
    reason: 'what cannot be read is not looked at',
    object: asked(`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`),
    tracer: beginning,
    trace: 'begun in none',
  },
  {
    reason: 'what was begun stays, whatever is written over it',
    object: asked(callers, { traceparent: own }),
    tracer: beginning,
    trace: own,
  },
  { reason: 'nobody asked, and nothing is recorded', object: asked(), tracer: noTracer, trace: '' },
])('the trace of a rollout: $reason', ({ object, tracer, trace }) => {
  expect(traceparentFor(object, tracer)).toBe(trace);
});

test('where nothing is recorded the log still names the trace of who asked', () => {
  expect(parseTraceparent(traceparentFor(asked(callers), noTracer))?.traceId).toBe('a'.repeat(32));
  expect(traceIdOf(asked(callers))).toBe('a'.repeat(32));
  expect(traceIdOf(asked('nonsense'))).toBeUndefined();
  expect(traceIdOf(asked(callers, { traceparent: own }))).toBe('c'.repeat(32));
});

test('at its end the span names what it was part of', () => {
  const told: PastSpan[] = [];
  const tracer: Tracer = { ...noTracer, past: (_name, span) => void told.push(span) };
  const ended = { traceparent: own, phase: 'Completed', finishedAt: '2026-01-31T12:10:00Z' } as const;
  recordRolloutSpan(tracer, was, asked(callers, ended));
  recordRolloutSpan(tracer, was, asked('nonsense', ended));
  expect(told).toMatchObject([{ traceparent: own, parent: callers }, { traceparent: own }]);
  expect(told[1]).not.toHaveProperty('parent');
});
