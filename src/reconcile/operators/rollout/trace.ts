/** The span of a rollout as a whole (requirement 002, tracing): told at its end, by whoever is there then, from what its status says. */
import type { SpanAttributes, Tracer } from '../../../runtime/index.ts';
import { phaseOf, type Rollout, timeOf } from './rollout.ts';

export const spanAttributes = ({ spec, metadata }: Rollout): SpanAttributes => ({
  'operator.name': spec.operator,
  'operator.version': spec.version,
  'deployment.id': metadata.uid ?? '',
  'deployment.strategy': spec.strategy,
});

/** It has come to its end. One that goes back after it was completed was told of then. */
export function traceRollout(tracer: Tracer, before: Rollout, after: Rollout): void {
  const { metadata, status = {} } = after;
  const { traceparent, finishedAt, clusters = [], conditions = [] } = status;
  const isTold = before.status?.history?.some(({ what }) => what === 'Completed') === true;
  if (traceparent === undefined || isTold) return;
  const phase = phaseOf(status);
  const why = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
  tracer.past?.('operator.deploy', {
    traceparent,
    attributes: { ...spanAttributes(after), 'deployment.phase': phase, 'deployment.clusters': clusters.length },
    startedAt: timeOf(metadata.creationTimestamp),
    endedAt: timeOf(finishedAt),
    ...(phase === 'Completed' ? {} : { failure: why }),
  });
}
