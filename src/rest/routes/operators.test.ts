import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { openCharts } from '../../fleet/index.ts';
import { type Client, noTracer, silentLogger } from '../../runtime/index.ts';
import { callerOf } from '../caller.ts';
import { problemOf } from '../problems.ts';
import type { Call } from '../route.ts';
import { operatorRoutes } from './operators.ts';

/** An API server that accepts and records every write. */
function taking(written: unknown[]): Client {
  return {
    async request({ body, query }: Parameters<Client['request']>[0]) {
      written.push(query?.dryRun);
      return { status: 201, text: JSON.stringify(body), warnings: [] };
    },
  } as never;
}

async function registering(repository: string, signal: AbortSignal, repositoryMilliseconds: number) {
  const written: unknown[] = [];
  const client = taking(written);
  const call: Call = {
    caller: callerOf('oscar', ['kidp:operator']),
    client,
    params: {},
    query: {},
    body: { name: 'widgets', chart: { repository } },
    traceparent: '',
    tracer: noTracer,
    signal,
    log: silentLogger,
    touched() {},
  };
  const charts = openCharts({ client, systemNamespace: 'system' });
  const route = operatorRoutes({ charts, repositoryMilliseconds }).find(
    ({ operationId }) => operationId === 'createOperator',
  );
  const error = await route?.run(call).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return { problem: problemOf(error), written };
}

test.each([
  {
    reason: 'a repository that accepts the connection and never responds is unreachable',
    signal: () => new AbortController().signal,
    repositoryMilliseconds: 50,
    problem: { status: 400, code: 'chart-unreachable', more: { temporary: true, errors: [{ path: '/chart' }] } },
  },
  {
    reason: 'a timeout of the whole request is not an error of the caller',
    signal: () => AbortSignal.timeout(50),
    repositoryMilliseconds: 60_000,
    problem: { status: 503, code: 'unavailable' },
  },
])('$reason', async ({ signal, repositoryMilliseconds, problem }) => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  try {
    const found = await registering(`http://127.0.0.1:${port}`, signal(), repositoryMilliseconds);
    expect(found.problem).toMatchObject(problem);
    // Only the dry run was sent.
    expect(found.written).toEqual(['All']);
  } finally {
    silent.close();
  }
});
