/**
 * The root span of a rollout (docs/requirements.md, 002 Tracing). The leader at the end of the rollout records it from
 * the status.
 */
import { TRACEPARENT_ANNOTATION } from '../../../api/index.ts';
import type { Tracer } from '../../../runtime/index.ts';
import { childTraceparent, parseTraceparent, type SpanAttributes } from '../../../runtime/internal.ts';
import { phaseOf, type Rollout, toMilliseconds } from './rollout.ts';

export const spanAttributes = ({ spec, metadata }: Rollout): SpanAttributes => ({
  'operator.name': spec.operator,
  'operator.version': spec.version,
  'deployment.id': metadata.uid ?? '',
  'deployment.strategy': spec.strategy,
});

/** The traceparent of the request that created the rollout; undefined if there is none or it is malformed. */
function requestTraceparent({ metadata }: Rollout): string | undefined {
  const value = metadata.annotations?.[TRACEPARENT_ANNOTATION];
  return parseTraceparent(value) === undefined ? undefined : value;
}

/**
 * The traceparent of a rollout. A rollout is one trace, from the first try to plan it: the trace of the request, or a
 * new one. Without a recording tracer the trace of the request still correlates the log entries; otherwise the result
 * is empty.
 */
export function traceparentFor(rollout: Rollout, tracer: Tracer): string {
  const request = requestTraceparent(rollout);
  const joined = request === undefined ? '' : childTraceparent(request);
  return rollout.status?.traceparent ?? tracer.begin?.(request) ?? joined;
}

/** The trace id for log entries, also before the rollout is planned. */
export const traceIdOf = (rollout: Rollout): string | undefined =>
  parseTraceparent(rollout.status?.traceparent ?? requestTraceparent(rollout))?.traceId;

/**
 * Records the root span at the end of a rollout. A rollout that is rolled back after its completion has one already.
 */
export function recordRolloutSpan(tracer: Tracer, before: Rollout, after: Rollout): void {
  const { metadata, status = {} } = after;
  const { traceparent, finishedAt, clusters = [], conditions = [] } = status;
  const isRecorded = before.status?.history?.some(({ what }) => what === 'Completed') === true;
  if (traceparent === undefined || isRecorded) return;
  const phase = phaseOf(status);
  const parent = requestTraceparent(after);
  const why = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
  tracer.past?.('operator.deploy', {
    traceparent,
    ...(parent === undefined ? {} : { parent }),
    attributes: { ...spanAttributes(after), 'deployment.phase': phase, 'deployment.clusters': clusters.length },
    startedAt: toMilliseconds(metadata.creationTimestamp),
    endedAt: toMilliseconds(finishedAt),
    ...(phase === 'Completed' ? {} : { failure: why }),
  });
}
