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

test.each<{ reason: string; before: Rollout; after: Rollout; recorded: object[] }>([
  {
    reason: 'a completed rollout succeeds',
    before: was,
    after: rollout({ phase: 'Completed' }),
    recorded: [common],
  },
  {
    reason: 'a rolled back rollout has the cause',
    before: rollout({ phase: 'RollingBack' }),
    after: rollout({ phase: 'Failed', conditions: [ready] as never }),
    recorded: [{ ...common, failure: 'rolled back: why' }],
  },
  {
    reason: 'the root span is recorded once',
    before: completedOnce,
    after: rollout({ phase: 'Failed' }),
    recorded: [],
  },
  { reason: 'tracing is off', before: was, after: { ...was, status: untraced } as Rollout, recorded: [] },
])('$reason', ({ before, after, recorded }) => {
  const spans: PastSpan[] = [];
  const past = (name: string, span: PastSpan) => {
    expect(name).toBe('operator.deploy');
    spans.push(span);
  };
  recordRolloutSpan({ ...noTracer, past }, before, after);
  expect(spans).toMatchObject(recorded);
  for (const { attributes, failure } of spans) {
    expect(attributes).toMatchObject({ 'operator.name': 'widgets', 'deployment.id': 'u-1', 'deployment.clusters': 2 });
    expect(failure === undefined).toBe(after.status?.phase === 'Completed');
  }
});

const callers = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const own = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
/** A rollout without a status, before it is planned. */
const asked = (traceparent?: string, status?: Partial<RolloutStatus>): Rollout => {
  const { status: _status, ...object } = rollout({});
  const annotations = traceparent === undefined ? {} : { [TRACEPARENT_ANNOTATION]: traceparent };
  return { ...object, metadata: { ...object.metadata, annotations }, ...(status && { status }) } as Rollout;
};
/** A tracer that returns its arguments. */
const beginning: Tracer = { ...noTracer, begin: (parent = 'none') => `begun in ${parent}` };

test.each<{ reason: string; object: Rollout; tracer: Tracer; trace: string }>([
  { reason: 'starts without a caller trace', object: asked(), tracer: beginning, trace: 'begun in none' },
  {
    reason: 'continues the trace of the request',
    object: asked(callers),
    tracer: beginning,
    trace: `begun in ${callers}`,
  },
  {
    reason: 'ignores a malformed traceparent',
    object: asked(`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`),
    tracer: beginning,
    trace: 'begun in none',
  },
  {
    reason: 'keeps the recorded traceparent',
    object: asked(callers, { traceparent: own }),
    tracer: beginning,
    trace: own,
  },
  { reason: 'is empty without a caller trace and a tracer', object: asked(), tracer: noTracer, trace: '' },
])('the trace of a rollout: $reason', ({ object, tracer, trace }) => {
  expect(traceparentFor(object, tracer)).toBe(trace);
});

test('the log names the caller trace without a recording tracer', () => {
  expect(parseTraceparent(traceparentFor(asked(callers), noTracer))?.traceId).toBe('a'.repeat(32));
  expect(traceIdOf(asked(callers))).toBe('a'.repeat(32));
  expect(traceIdOf(asked('nonsense'))).toBeUndefined();
  expect(traceIdOf(asked(callers, { traceparent: own }))).toBe('c'.repeat(32));
});

test('the root span has the caller trace as parent', () => {
  const recorded: PastSpan[] = [];
  const tracer: Tracer = { ...noTracer, past: (_name, span) => void recorded.push(span) };
  const ended = { traceparent: own, phase: 'Completed', finishedAt: '2026-01-31T12:10:00Z' } as const;
  recordRolloutSpan(tracer, was, asked(callers, ended));
  recordRolloutSpan(tracer, was, asked('nonsense', ended));
  expect(recorded).toMatchObject([{ traceparent: own, parent: callers }, { traceparent: own }]);
  expect(recorded[1]).not.toHaveProperty('parent');
});
