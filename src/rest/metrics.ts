/** The metrics of the REST API. */
import { Histogram, type Registry } from 'prom-client';

export interface RestMetrics {
  answered(operation: string, status: number, milliseconds: number): void;
}

const name = 'kidp_rest_request_duration_seconds';

export function restMetrics(registry: Registry | undefined): RestMetrics {
  if (registry === undefined) return { answered() {} };
  const duration =
    (registry.getSingleMetric(name) as Histogram<'operation' | 'code'> | undefined) ??
    new Histogram({
      name,
      help: 'Duration of REST API requests by operation and status code',
      labelNames: ['operation', 'code'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
      registers: [registry],
    });
  return {
    answered: (operation, status, milliseconds) =>
      duration.observe({ operation, code: String(status) }, milliseconds / 1000),
  };
}
