import { describe, expect, test } from 'vitest';
import type { Cluster, Operator, OperatorDeployment } from '../api/index.ts';
import { type Charts, FleetError } from '../fleet/index.ts';
import { ApiError, type Client, noTracer, silentLogger } from '../runtime/index.ts';
import { Problem } from '../runtime/internal.ts';
import { callerOf } from './caller.ts';
import { renderCheck, renderingsOf } from './rendering.ts';
import type { Call } from './route.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const operatorOf = (state = 'Available'): Operator =>
  ({
    metadata: { name: 'widgets', uid: 'u-1' },
    spec: { namespace: 'widgets-system', chart: {} },
    status: { versions: [{ version: 'v1.0.0', chartVersion: '1.0.0', state, digest }] },
  }) as never;
const clusterOf = (name: string, environment: string, kubernetesVersion: string | undefined = 'v1.36.0'): Cluster =>
  ({
    metadata: { name, labels: { tier: environment } },
    spec: { environment },
    status: { kubernetesVersion },
  }) as never;
const three = [clusterOf('dev-1', 'Dev'), clusterOf('dev-2', 'Dev'), clusterOf('prod-1', 'Production', 'v1.35.0')];
const specOf = (more: object = {}): OperatorDeployment['spec'] =>
  ({ operator: 'widgets', version: '1.0.0', clusters: ['dev-1', 'dev-2', 'prod-1'], ...more }) as never;

describe('renderingsOf', () => {
  const rendered = (spec: object, operator = operatorOf(), clusters: readonly Cluster[] = three) =>
    renderingsOf(specOf(spec), operator, clusters).map(({ environment, kubernetesVersion, values }) =>
      JSON.stringify([environment, kubernetesVersion, ...values]),
    );

  test.each<{ reason: string; found: string[]; expected: string[] }>([
    { reason: 'once if all environments share the values', found: rendered({}), expected: ['["Dev","v1.36.0",{},{}]'] },
    {
      reason: 'once more for an environment with its own values',
      found: rendered({ values: { a: 1 }, environmentValues: { Production: { a: 2 } } }),
      expected: ['["Dev","v1.36.0",{"a":1},{}]', '["Production","v1.35.0",{"a":1},{"a":2}]'],
    },
    {
      reason: 'not for an environment that is not selected',
      found: rendered({ clusters: ['dev-2'], environmentValues: { Production: { a: 2 } } }),
      expected: ['["Dev","v1.36.0",{},{}]'],
    },
    {
      reason: 'for selected clusters',
      found: rendered({ clusters: undefined, clusterSelector: { matchLabels: { tier: 'Production' } } }),
      expected: ['["Production","v1.35.0",{},{}]'],
    },
    {
      reason: 'for selected environments',
      found: rendered({ environments: ['Production'] }),
      expected: ['["Production","v1.35.0",{},{}]'],
    },
    {
      reason: 'nothing if no cluster was ever reached',
      found: rendered(
        {},
        operatorOf(),
        [clusterOf('dev-1', 'Dev', '')].map(({ status: _, ...rest }) => rest as Cluster),
      ),
      expected: [],
    },
    {
      reason: 'nothing for a version that is not inspected yet',
      found: rendered({}, operatorOf('Listed')),
      expected: [],
    },
    { reason: 'nothing for an unknown version', found: rendered({ version: '2.0.0' }), expected: [] },
  ])('$reason', ({ found, expected }) => {
    expect(found).toEqual(expected);
  });
});

const unrendered = new FleetError('chart/does-not-render', 'The chart does not render: set host');

/** A façade over an API server with one Operator and three Clusters, with a stubbed chart renderer. */
function checking(
  render: (values: object, signal: AbortSignal | undefined) => Promise<void>,
  {
    operators = [operatorOf()],
    milliseconds = 60_000,
    chart = digest,
  }: { operators?: readonly Operator[]; milliseconds?: number; chart?: string } = {},
) {
  const asked: string[] = [];
  const charts: Pick<Charts, 'fetch' | 'render'> = {
    async fetch(_operator, version) {
      asked.push(`fetch ${version}`);
      return { name: 'widgets', version, digest: chart, bytes: Buffer.alloc(0) };
    },
    async render(_chart, { values }, { signal }) {
      asked.push('render');
      await render(Object.assign({}, ...values), signal);
      return {} as never;
    },
  };
  const client = {
    async get() {
      const [operator] = operators;
      if (operator === undefined) throw new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: '' });
      return operator;
    },
    list: async () => ({ items: three, metadata: {} }),
  } as unknown as Client;
  const check = renderCheck(charts, milliseconds);
  const call = (signal = new AbortController().signal): Call => ({
    caller: callerOf('oscar', ['kidp:operator']),
    client,
    params: {},
    query: {},
    body: {},
    traceparent: '',
    tracer: noTracer,
    signal,
    log: silentLogger,
    touched() {},
  });
  return { asked, check: (spec: object = {}, signal?: AbortSignal) => check(call(signal), specOf(spec)) };
}

const wantsHost = async (values: object) => {
  if (!('host' in values)) throw unrendered;
};

test.each<{ reason: string; spec: object; path: string }>([
  { reason: 'the version, without values', spec: {}, path: '/version' },
  { reason: 'the values', spec: { values: { port: 1 } }, path: '/values' },
  {
    reason: 'the values of the environment',
    spec: { clusters: ['prod-1'], environmentValues: { Production: { port: 1 } } },
    path: '/environmentValues/Production',
  },
])('rejects a rendering failure with the field: $reason', async ({ spec, path }) => {
  const { check } = checking(wantsHost);
  const problem = await check(spec).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(Problem);
  expect(problem).toMatchObject({ status: 400, more: { errors: [{ path, message: unrendered.message }] } });
});

test('caches successes and failures', async () => {
  const { check, asked } = checking(wantsHost);
  for (let times = 0; times < 3; times += 1) {
    await check({ values: { host: 'a' } });
    await expect(check({ values: {} })).rejects.toMatchObject({ status: 400 });
  }
  expect(asked).toEqual(['fetch 1.0.0', 'render', 'fetch 1.0.0', 'render']);
});

test('does not cache the result of a chart whose digest differs from the status', async () => {
  const { check, asked } = checking(wantsHost, { chart: `sha256:${'b'.repeat(64)}` });
  await check({ values: { host: 'a' } });
  await check({ values: { host: 'a' } });
  expect(asked.filter((each) => each === 'render')).toHaveLength(2);
});

test.each<{ reason: string; found: ReturnType<typeof checking>; spec?: object; renders?: boolean }>([
  { reason: 'the Operator does not exist', found: checking(wantsHost, { operators: [] }) },
  { reason: 'the values are in a Secret', found: checking(wantsHost), spec: { valuesSecret: 'values' } },
  {
    reason: 'Helm is not installed',
    found: checking(() => Promise.reject(new FleetError('helm/missing', 'no'))),
    renders: true,
  },
  {
    reason: 'timeout',
    found: checking((_values, signal) => untilAborted(signal), { milliseconds: 20 }),
    renders: true,
  },
])('leaves the check to Planning: $reason', async ({ found, spec, renders = false }) => {
  await found.check(spec);
  expect(found.asked.includes('render')).toBe(renders);
});

test('rejects if the request itself has timed out', async () => {
  const { check } = checking((_values, signal) => untilAborted(signal));
  await expect(check({}, AbortSignal.timeout(20))).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('skips the check if too many are running', async () => {
  const release = Promise.withResolvers<void>();
  const { check, asked } = checking(() => release.promise);
  const waiting = Array.from({ length: 4 }, (_, at) => check({ values: { at } }));
  await expect.poll(() => asked.filter((each) => each === 'render').length, { timeout: 60_000 }).toBe(4);
  await check({ values: { at: 'last' } });
  expect(asked.filter((each) => each === 'render')).toHaveLength(4);
  release.resolve();
  await Promise.all(waiting);
});

const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
