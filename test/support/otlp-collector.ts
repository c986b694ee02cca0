/**
 * An OTLP collector over HTTP that validates each request against the protobuf messages of OTLP in their JSON mapping.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';

export interface Collected {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it looks for.
  readonly body: any;
}

/** Returns whether it has answered the request in place of the collector. */
export type Answer = (count: number, response: ServerResponse) => boolean;

export interface Collector {
  readonly url: string;
  /** The accepted requests, in order. */
  readonly requests: readonly Collected[];
  /** The faults of the requests. */
  readonly problems: readonly string[];
  /** The number of requests. */
  asked(): number;
  stop(): Promise<void>;
}

export async function startCollector(answer: Answer = () => false): Promise<Collector> {
  const requests: Collected[] = [];
  const problems: string[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    request.on('end', () => {
      count += 1;
      if (answer(count, response)) return;
      const body = JSON.parse(text);
      const path = request.url ?? '';
      if (request.headers['content-type'] !== 'application/json') problems.push('the type of the content');
      problems.push(...collectorProblems(path, body));
      requests.push({ path, headers: request.headers, body });
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    problems,
    asked: () => count,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});
const listOf = (items: object) => ({ type: 'array', items });
/** 64-bit integers are JSON strings. */
const large = { type: 'string', pattern: '^[0-9]+$' };
const anyValue = {
  type: 'object',
  minProperties: 1,
  maxProperties: 1,
  additionalProperties: false,
  properties: {
    stringValue: { type: 'string' },
    boolValue: { type: 'boolean' },
    intValue: { type: 'string', pattern: '^-?[0-9]+$' },
    doubleValue: { type: 'number' },
  },
};
const attributes = listOf(closed({ key: { type: 'string', minLength: 1 }, value: anyValue }, ['key', 'value']));
const resource = closed({ attributes });
const scope = closed({ name: { type: 'string' } });
const traceId = { type: 'string', pattern: '^[0-9a-f]{32}$' };
const spanId = { type: 'string', pattern: '^[0-9a-f]{16}$' };

const span = closed(
  {
    traceId,
    spanId,
    parentSpanId: spanId,
    name: { type: 'string', minLength: 1 },
    kind: { enum: [1, 2, 3, 4, 5] },
    startTimeUnixNano: large,
    endTimeUnixNano: large,
    attributes,
    events: listOf(closed({ timeUnixNano: large, name: { type: 'string' }, attributes }, ['timeUnixNano', 'name'])),
    links: listOf(closed({ traceId, spanId }, ['traceId', 'spanId'])),
    status: closed({ code: { enum: [0, 1, 2] }, message: { type: 'string' } }),
  },
  ['traceId', 'spanId', 'name', 'startTimeUnixNano', 'endTimeUnixNano'],
);
const traces = closed(
  {
    resourceSpans: listOf(closed({ resource, scopeSpans: listOf(closed({ scope, spans: listOf(span) }, ['spans'])) })),
  },
  ['resourceSpans'],
);

const times = { attributes, startTimeUnixNano: large, timeUnixNano: large };
const number = closed({ ...times, asDouble: { type: 'number' } }, ['timeUnixNano', 'asDouble']);
const histogramPoint = closed(
  {
    ...times,
    count: large,
    sum: { type: 'number' },
    bucketCounts: listOf(large),
    explicitBounds: listOf({ type: 'number' }),
  },
  ['timeUnixNano', 'count', 'bucketCounts', 'explicitBounds'],
);
const temporality = { enum: [1, 2] };
const metric = {
  ...closed(
    {
      name: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_.]*$' },
      description: { type: 'string' },
      unit: { type: 'string' },
      gauge: closed({ dataPoints: listOf(number) }, ['dataPoints']),
      sum: closed(
        { dataPoints: listOf(number), aggregationTemporality: temporality, isMonotonic: { type: 'boolean' } },
        ['dataPoints', 'aggregationTemporality', 'isMonotonic'],
      ),
      histogram: closed({ dataPoints: listOf(histogramPoint), aggregationTemporality: temporality }, [
        'dataPoints',
        'aggregationTemporality',
      ]),
    },
    ['name'],
  ),
  oneOf: [{ required: ['gauge'] }, { required: ['sum'] }, { required: ['histogram'] }],
};
const metrics = closed(
  {
    resourceMetrics: listOf(
      closed({ resource, scopeMetrics: listOf(closed({ scope, metrics: listOf(metric) }, ['metrics'])) }),
    ),
  },
  ['resourceMetrics'],
);

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false });
const checks = new Map([
  ['/v1/traces', ajv.compile(traces)],
  ['/v1/metrics', ajv.compile(metrics)],
]);

function collectorProblems(path: string, body: unknown): string[] {
  const check = checks.get(path);
  if (check === undefined) return [`nothing is taken at ${path}`];
  if (!check(body)) return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  return path === '/v1/metrics' ? histogramProblems(body as unknown as Sent) : [];
}

interface Sent {
  resourceMetrics: { scopeMetrics: { metrics: { name: string; histogram?: { dataPoints: HistogramPoint[] } }[] }[] }[];
}

interface HistogramPoint {
  count: string;
  bucketCounts: string[];
  explicitBounds: number[];
}

/** There is one more count than there are bounds, and the counts add up to the total. */
function histogramProblems({ resourceMetrics }: Sent): string[] {
  const all = resourceMetrics.flatMap((each) => each.scopeMetrics.flatMap((one) => one.metrics));
  return all.flatMap(({ name, histogram }) =>
    (histogram?.dataPoints ?? []).flatMap(({ count, bucketCounts, explicitBounds }) => [
      ...(bucketCounts.length === explicitBounds.length + 1 ? [] : [`${name}: counts and bounds`]),
      ...(bucketCounts.reduce((sum, each) => sum + Number(each), 0) === Number(count) ? [] : [`${name}: the count`]),
    ]),
  );
}
