import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { type Answer, type Collected, startCollector } from '../../../test/support/otlp-collector.ts';
import { eventually } from '../testing/index.ts';
import { currentTraceparent } from './context.ts';
import { dottedName } from './otlp-metrics.ts';
import { startTelemetry, type Telemetry, type TelemetryOptions, telemetrySettings } from './telemetry.ts';
import { parseTraceparent } from './traceparent.ts';

const started: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.stop();
});

async function collector(answer?: Answer) {
  const made = await startCollector(answer);
  started.push(made);
  return made;
}

function telemetry(
  url: string,
  more: Partial<TelemetryOptions> = {},
  variables: Record<string, string> = {},
): Telemetry {
  const settings = telemetrySettings(variables, url);
  if (settings === undefined) throw new Error('nothing is sent');
  const made = startTelemetry({
    settings,
    registry: new Registry(),
    batchMilliseconds: 5,
    retryMilliseconds: 5,
    ...more,
  });
  started.push(made);
  return made;
}

const spansIn = (requests: readonly Collected[]) =>
  requests.flatMap(({ path, body }) => (path === '/v1/traces' ? body.resourceSpans[0].scopeSpans[0].spans : []));
const counted = async (registry: Registry, name: string, labels: object) => {
  const metric = await registry.getSingleMetric(name)?.get();
  return metric?.values.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels))?.value ?? 0;
};

describe('spans', () => {
  test('arrive with their nesting, attributes, events, links and failures', async () => {
    const { url, requests, problems } = await collector();
    const { tracer, flush } = telemetry(
      url,
      {},
      { OTEL_SERVICE_NAME: 'kidp-test', OTEL_RESOURCE_ATTRIBUTES: 'a=b%20c' },
    );
    const link = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const attributes = { 'operator.name': 'widgets', count: 3, share: 0.5, good: true };
    await tracer.span('operator.deploy', { attributes, links: [link, 'no link'] }, async (outer) => {
      outer.set({ late: 'yes' });
      outer.event('it began', { really: true });
      expect(currentTraceparent()).toBe(outer.traceparent);
      await tracer
        .span('helm.install', { parent: outer.traceparent }, async () => {
          throw Object.assign(new Error('Helm took too long'), { code: 'helm/timeout' });
        })
        .catch(() => {});
      await tracer
        .span('crd.apply', { parent: outer.traceparent }, () => Promise.reject(new Error('a password: hunter2')))
        .catch(() => {});
    });
    expect(currentTraceparent()).toBeUndefined();
    await flush();
    expect(problems).toEqual([]);
    const [install, apply, deploy] = spansIn(requests);
    expect(install).toMatchObject({
      name: 'helm.install',
      traceId: deploy.traceId,
      parentSpanId: deploy.spanId,
      status: { code: 2, message: 'helm/timeout: Helm took too long' },
    });
    // Of what is not ours only the kind is reported.
    expect(apply.status).toEqual({ code: 2, message: 'Error' });
    expect(deploy).toMatchObject({ name: 'operator.deploy', status: {}, links: [{ traceId: 'a'.repeat(32) }] });
    expect(deploy).not.toHaveProperty('parentSpanId');
    expect(deploy.attributes).toEqual([
      { key: 'operator.name', value: { stringValue: 'widgets' } },
      { key: 'count', value: { intValue: '3' } },
      { key: 'share', value: { doubleValue: 0.5 } },
      { key: 'good', value: { boolValue: true } },
      { key: 'late', value: { stringValue: 'yes' } },
    ]);
    expect(deploy.events).toMatchObject([{ name: 'it began', attributes: [{ key: 'really' }] }]);
    expect(requests[0]?.body.resourceSpans[0].resource.attributes).toEqual([
      { key: 'service.name', value: { stringValue: 'kidp-test' } },
      { key: 'a', value: { stringValue: 'b c' } },
    ]);
  });

  test('one that outlives the process is reported at its end, and what belonged to it is below it', async () => {
    const { url, requests, problems } = await collector();
    const { tracer, flush } = telemetry(url);
    const traceparent = tracer.begin?.() ?? '';
    await tracer.span('helm.install', { parent: traceparent }, async () => {});
    tracer.past?.('operator.deploy', {
      traceparent,
      startedAt: 1_000.5,
      endedAt: 61_000,
      failure: 'it was rolled back',
    });
    await flush();
    expect(problems).toEqual([]);
    const [install, deploy] = spansIn(requests);
    expect(install).toMatchObject({ traceId: deploy.traceId, parentSpanId: deploy.spanId });
    expect(deploy).toMatchObject({
      startTimeUnixNano: '1000500000',
      endTimeUnixNano: '61000000000',
      status: { code: 2, message: 'it was rolled back' },
    });
    expect(parseTraceparent(traceparent)).toMatchObject({ traceId: deploy.traceId, parentId: deploy.spanId });
  });

  test('one that outlives the process may be part of a trace that somebody else began', async () => {
    const { url, requests, problems } = await collector();
    const { tracer, flush } = telemetry(url);
    const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const traceparent = tracer.begin?.(parent) ?? '';
    const times = { startedAt: 1_000, endedAt: 2_000 };
    tracer.past?.('operator.deploy', { traceparent, parent, ...times });
    tracer.past?.('operator.deploy', { traceparent: tracer.begin?.() ?? '', parent, ...times });
    await flush();
    expect(problems).toEqual([]);
    const [inside, apart] = spansIn(requests);
    expect(inside).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) });
    expect(inside.spanId).not.toBe('b'.repeat(16));
    expect(apart.parentSpanId, 'of another trace').toBeUndefined();
  });

  test('a trace that nobody wants recorded is passed on and not reported', async () => {
    const { url, requests } = await collector();
    const { tracer, flush } = telemetry(url);
    const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;
    expect(await tracer.span('x', { parent }, async ({ traceparent }) => traceparent)).toBe(parent);
    await flush();
    expect(spansIn(requests)).toEqual([]);
  });

  test('are exported automatically, in batches', async () => {
    const { url, requests } = await collector();
    const { tracer } = telemetry(url, { batchSize: 2 });
    for (let index = 0; index < 5; index += 1) await tracer.span('x', {}, async () => {});
    await eventually(async () => spansIn(requests).length === 5, { within: 60_000, every: 10 });
    expect(requests.length).toBeGreaterThanOrEqual(3);
  });

  test('are sent before the process ends', async () => {
    const { url, requests } = await collector();
    const made = telemetry(url, { batchMilliseconds: 3_600_000 });
    await made.tracer.span('the last words', {}, async () => {});
    await made.stop();
    expect(spansIn(requests)).toMatchObject([{ name: 'the last words' }]);
  });
});

describe('a collector in trouble', () => {
  test('that is busy is asked again, and with its header of authorization', async () => {
    const busy = await collector((count, response) => {
      if (count > 2) return false;
      response.writeHead(503).end();
      return true;
    });
    const { tracer, flush } = telemetry(busy.url, {}, { OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20one' });
    await tracer.span('x', {}, async () => {});
    await flush();
    expect(spansIn(busy.requests)).toHaveLength(1);
    expect(busy.requests[0]?.headers.authorization).toBe('Bearer one');
  });

  test('that refuses is not asked again: what it refused is counted', async () => {
    const strict = await collector((_count, response) => {
      response.writeHead(400).end();
      return true;
    });
    const registry = new Registry();
    const { tracer, flush } = telemetry(strict.url, { registry }, { OTEL_METRICS_EXPORTER: 'none' });
    await tracer.span('x', {}, async () => {});
    await flush();
    expect(strict.asked()).toBe(1);
    expect(await counted(registry, 'kidp_telemetry_dropped_total', { signal: 'traces', reason: 'refused' })).toBe(1);
  });

  test('that is away fills the queue and no more: work goes on, what does not fit is counted', async () => {
    const registry = new Registry();
    const made = telemetry('http://127.0.0.1:1', { registry, queueLimit: 3, batchMilliseconds: 3_600_000 });
    for (let index = 0; index < 10; index += 1) await made.tracer.span('x', {}, async () => {});
    expect(await counted(registry, 'kidp_telemetry_dropped_total', { signal: 'traces', reason: 'queue-full' })).toBe(7);
    await made.stop();
    expect(await counted(registry, 'kidp_telemetry_dropped_total', { signal: 'traces', reason: 'unreachable' })).toBe(
      3,
    );
  });
});

describe('metrics', () => {
  test('arrive under their dotted names, with what was counted', async () => {
    const { url, requests, problems } = await collector();
    const registry = new Registry();
    const registers = [registry];
    new Counter({ name: 'kidp_operators_deployed_total', help: 'h', labelNames: ['operator'], registers }).inc(
      { operator: 'widgets' },
      2,
    );
    new Gauge({ name: 'kidp_clusters_count', help: 'h', registers }).set(7);
    const took = new Histogram({
      name: 'kidp_helm_install_duration_seconds',
      help: 'h',
      labelNames: ['operator'],
      buckets: [1, 10],
      registers,
    });
    for (const seconds of [0.5, 5, 6, 50]) took.observe({ operator: 'widgets' }, seconds);
    const { flush } = telemetry(url, { registry }, { OTEL_TRACES_EXPORTER: 'none' });
    await flush();
    expect(problems).toEqual([]);
    const [sent] = requests.filter(({ path }) => path === '/v1/metrics');
    const { metrics } = sent?.body.resourceMetrics[0].scopeMetrics[0] ?? {};
    const named = (name: string) => metrics.find((each: { name: string }) => each.name === name);
    const attributes = [{ key: 'operator', value: { stringValue: 'widgets' } }];
    expect(named('operators.deployed.total').sum).toMatchObject({
      isMonotonic: true,
      aggregationTemporality: 2,
      dataPoints: [{ attributes, asDouble: 2 }],
    });
    expect(named('clusters.count').gauge.dataPoints).toMatchObject([{ attributes: [], asDouble: 7 }]);
    expect(named('helm.install.duration')).toMatchObject({
      unit: 's',
      histogram: {
        aggregationTemporality: 2,
        dataPoints: [{ attributes, count: '4', sum: 61.5, bucketCounts: ['1', '2', '1'], explicitBounds: [1, 10] }],
      },
    });
  });

  test.each([
    ['kidp_operators_deployed_total', 'operators.deployed.total', '1'],
    ['kidp_operators_rollback_total', 'operators.rollback.total', '1'],
    ['kidp_operators_failed_total', 'operators.failed.total', '1'],
    ['kidp_clusters_registered_total', 'clusters.registered.total', '1'],
    ['kidp_crds_validated_total', 'crds.validated.total', '1'],
    ['kidp_operator_deploy_duration_seconds', 'operator.deploy.duration', 's'],
    ['kidp_operator_rollback_duration_seconds', 'operator.rollback.duration', 's'],
    ['kidp_operator_healthcheck_duration_seconds', 'operator.healthcheck.duration', 's'],
    ['kidp_helm_install_duration_seconds', 'helm.install.duration', 's'],
    ['kidp_operators_count', 'operators.count', '1'],
    ['kidp_clusters_count', 'clusters.count', '1'],
    ['kidp_deployments_active', 'deployments.active', '1'],
    ['kidp_operators_healthy', 'operators.healthy', '1'],
    ['kidp_operators_unhealthy', 'operators.unhealthy', '1'],
    ['process_resident_memory_bytes', 'process.resident.memory', 'By'],
  ])('%s is %s', (prometheus, name, unit) => {
    expect(dottedName(prometheus)).toEqual({ name, unit });
  });
});

describe('where it goes', () => {
  test.each([
    { reason: 'nobody said where', variables: {}, urls: undefined },
    {
      reason: 'it is switched off',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_SDK_DISABLED: 'true' },
      urls: undefined,
    },
    {
      reason: 'an endpoint for both',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:4318/' },
      urls: ['http://a:4318/v1/traces', 'http://a:4318/v1/metrics'],
    },
    {
      reason: 'one of its own is taken as it is',
      variables: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://b/x' },
      urls: ['https://b/x', undefined],
    },
    {
      reason: 'the flag takes precedence over the variable',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' },
      flag: 'http://c',
      urls: ['http://c/v1/traces', 'http://c/v1/metrics'],
    },
  ])('$reason', ({ variables, flag, urls }) => {
    const settings = telemetrySettings(variables, flag);
    expect(settings === undefined ? undefined : [settings.traces?.url, settings.metrics?.url]).toEqual(urls);
  });

  test.each([
    { reason: 'no address', variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, says: 'http://HOST:4318' },
    {
      reason: 'a password in it',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:secret@a' },
      says: 'has a user in it',
    },
    {
      reason: 'another protocol',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      says: 'http/json',
    },
    {
      reason: 'headers that are none',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
      says: 'no list of key=value',
    },
    {
      reason: 'a time that is none',
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' },
      says: 'milliseconds',
    },
  ])('is refused: $reason', ({ variables, says }) => {
    expect(() => telemetrySettings(variables)).toThrow(says);
    expect(() => telemetrySettings(variables)).not.toThrow(/secret/);
  });
});
