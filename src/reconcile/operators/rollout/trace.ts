/** The span of a rollout as a whole (requirement 002, tracing): told at its end, by whoever is there then, from what its status says. */
import { TRACEPARENT_ANNOTATION } from '../../../api/index.ts';
import type { Tracer } from '../../../runtime/index.ts';
import { childTraceparent, parseTraceparent, type SpanAttributes } from '../../../runtime/internal.ts';
import { phaseOf, type Rollout, timeOf } from './rollout.ts';

export const spanAttributes = ({ spec, metadata }: Rollout): SpanAttributes => ({
  'operator.name': spec.operator,
  'operator.version': spec.version,
  'deployment.id': metadata.uid ?? '',
  'deployment.strategy': spec.strategy,
});

/** What whoever asked for it was doing then; undefined where nothing is said that can be read. */
function askedIn({ metadata }: Rollout): string | undefined {
  const said = metadata.annotations?.[TRACEPARENT_ANNOTATION];
  return parseTraceparent(said) === undefined ? undefined : said;
}

/**
 * All of a rollout is one trace, from the first try to plan it: that of who asked for it, or one of its own. Where nothing is recorded, the
 * first of them still joins the lines of the log; else it is empty.
 */
export function traceOf(rollout: Rollout, tracer: Tracer): string {
  const asked = askedIn(rollout);
  const joined = asked === undefined ? '' : childTraceparent(asked);
  return rollout.status?.traceparent ?? tracer.begin?.(asked) ?? joined;
}

/** For a log, also before it was planned. */
export const traceIdOf = (rollout: Rollout): string | undefined =>
  parseTraceparent(rollout.status?.traceparent ?? askedIn(rollout))?.traceId;

/** It has come to its end. One that goes back after it was completed was told of then. */
export function traceRollout(tracer: Tracer, before: Rollout, after: Rollout): void {
  const { metadata, status = {} } = after;
  const { traceparent, finishedAt, clusters = [], conditions = [] } = status;
  const isTold = before.status?.history?.some(({ what }) => what === 'Completed') === true;
  if (traceparent === undefined || isTold) return;
  const phase = phaseOf(status);
  const parent = askedIn(after);
  const why = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
  tracer.past?.('operator.deploy', {
    traceparent,
    ...(parent === undefined ? {} : { parent }),
    attributes: { ...spanAttributes(after), 'deployment.phase': phase, 'deployment.clusters': clusters.length },
    startedAt: timeOf(metadata.creationTimestamp),
    endedAt: timeOf(finishedAt),
    ...(phase === 'Completed' ? {} : { failure: why }),
  });
}
