/**
 * Metrics of a Prometheus registry in the JSON of OTLP (`ExportMetricsServiceRequest`). Names are dotted, as requirement 002 has them:
 * `kidp_operator_deploy_duration_seconds` is `operator.deploy.duration` in the unit `s`. docs/observability.md says the rule.
 */
import type { Registry } from 'prom-client';
import { attributesOf, nanoseconds, type Resource } from './otlp-spans.ts';

interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  /** Of a histogram: which of its parts. */
  readonly metricName?: string | undefined;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly Sample[];
}

/** AGGREGATION_TEMPORALITY_CUMULATIVE: since the start of this process. */
const cumulative = 2;
const scope = { name: 'kidp' };

interface Times {
  /** Milliseconds since 1970: when this process began to count, and now. */
  readonly since: number;
  readonly now: number;
}

export async function metricsRequest(registry: Registry, { attributes }: Resource, times: Times) {
  const all = (await registry.getMetricsAsJSON()) as unknown as readonly Metric[];
  const metrics = all.flatMap((metric) => metricOf(metric, times));
  return {
    resourceMetrics: [{ resource: { attributes: attributesOf(attributes) }, scopeMetrics: [{ scope, metrics }] }],
  };
}

const units: readonly (readonly [suffix: string, unit: string])[] = [
  ['_seconds', 's'],
  ['_bytes', 'By'],
];

/** Drops the `kidp_` prefix of Prometheus, uses dots, and moves the unit to its own field. */
export function dottedName(name: string): { readonly name: string; readonly unit: string } {
  const plain = name.replace(/^kidp_/, '');
  const [suffix = '', unit = '1'] = units.find(([each]) => plain.endsWith(each)) ?? [];
  return { name: plain.slice(0, plain.length - suffix.length).replaceAll('_', '.'), unit };
}

interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly sum?: object;
  readonly gauge?: object;
  readonly histogram?: object;
}

function metricOf({ name, help, type, values }: Metric, times: Times): OtlpMetric[] {
  const head = { ...dottedName(name), description: help };
  const points = () => values.flatMap((each) => (Number.isFinite(each.value) ? [pointOf(each, times)] : []));
  switch (type) {
    case 'counter':
      return [{ ...head, sum: { dataPoints: points(), aggregationTemporality: cumulative, isMonotonic: true } }];
    case 'gauge':
      return [{ ...head, gauge: { dataPoints: points() } }];
    case 'histogram':
      return [
        {
          ...head,
          histogram: { dataPoints: histogramPoints(name, values, times), aggregationTemporality: cumulative },
        },
      ];
    default:
      // Nothing here keeps quantiles, which cannot be added up over replicas.
      return [];
  }
}

const timesOf = ({ since, now }: Times) => ({ startTimeUnixNano: nanoseconds(since), timeUnixNano: nanoseconds(now) });

const pointOf = ({ labels, value }: Sample, times: Times) => ({
  attributes: labelsOf(labels),
  ...timesOf(times),
  asDouble: value,
});

function labelsOf(labels: Sample['labels']) {
  const known = Object.entries(labels).filter(([key, value]) => key !== 'le' && value !== undefined);
  return attributesOf(Object.fromEntries(known.map(([key, value]) => [key, String(value)])));
}

/** Buckets are cumulative in Prometheus; OTLP counts each separately, with an overflow bucket at the end. */
function histogramPoints(name: string, values: readonly Sample[], times: Times) {
  const series = new Map<
    string,
    { labels: Sample['labels']; buckets: [number, number][]; sum: number; count: number }
  >();
  for (const { value, labels, metricName } of values) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(Object.entries(rest).sort());
    const one = series.get(key) ?? { labels: rest, buckets: [], sum: 0, count: 0 };
    series.set(key, one);
    if (metricName === `${name}_sum`) one.sum = value;
    else if (metricName === `${name}_count`) one.count = value;
    else if (le !== undefined && le !== '+Inf') one.buckets.push([Number(le), value]);
  }
  return [...series.values()].map(({ labels, buckets, sum, count }) => {
    const sorted = buckets.sort(([one], [other]) => one - other);
    const counts = sorted.map(([, total], index) => total - (sorted[index - 1]?.[1] ?? 0));
    return {
      attributes: labelsOf(labels),
      ...timesOf(times),
      count: String(count),
      sum,
      bucketCounts: [...counts, count - (sorted.at(-1)?.[1] ?? 0)].map(String),
      explicitBounds: sorted.map(([bound]) => bound),
    };
  });
}
