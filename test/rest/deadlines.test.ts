/** Servers that accept a connection and never respond: each has its own error, and none is an internal error. */
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRest } from '../../src/rest/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { openStage, type Stage } from './support/testbed.ts';

let stage: Stage;
let silent: Server;

beforeAll(async () => {
  stage = await openStage();
  silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  silent?.close();
  await stage?.stop();
});

test('an unresponsive chart repository is a 400 for the chart, and nothing is stored', async () => {
  const rest = await startRest({ ...stage.options, repositoryMilliseconds: 100 });
  try {
    const name = uniqueName('op');
    const { port } = silent.address() as AddressInfo;
    const token = await stage.token('oscar', ['kidp:operator']);
    for (const chart of [
      { repository: `http://127.0.0.1:${port}`, name: 'widgets' },
      { oci: `oci://127.0.0.1:${port}/widgets` },
    ]) {
      const asked = await stage.ask('/api/v1/operators', {
        method: 'POST',
        token,
        url: rest.url,
        body: { name, chart },
      });
      expect(asked).toMatchObject({
        status: 400,
        body: { code: 'chart-unreachable', errors: [{ path: '/chart' }] },
      });
      expect((await stage.ask(`/api/v1/operators/${name}`, { token })).status).toBe(404);
    }
  } finally {
    await rest.stop();
  }
});

test('a CRD comparison that times out is a 503, and nothing is registered', async () => {
  const [name, plural] = [uniqueName('op'), uniqueName('gadgets')];
  const token = await stage.token('oscar', ['kidp:operator']);
  const post = (path: string, body: object, url = stage.rest.url) =>
    stage.ask(path, { method: 'POST', token, url, body });
  const chart = { repository: stage.repository, name: 'widgets' };
  expect((await post('/api/v1/operators', { name, chart })).status).toBe(201);
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind: 'Gadget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  expect((await post('/api/v1/crds', { operator: name, version: '1.0.0', definition })).status).toBe(201);
  const rest = await startRest({
    ...stage.options,
    requestMilliseconds: 2_000,
    // Like the comparison threads: an aborted comparison rejects with the reason of the signal.
    compare: (_before, _after, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  });
  try {
    const validated = await post(`/api/v1/crds/${plural}.example.com/validate`, { definition }, rest.url);
    expect(validated).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    const registered = await post('/api/v1/crds', { operator: name, version: '1.1.0', definition }, rest.url);
    expect(registered).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    const { body } = await stage.ask(`/api/v1/crds/${plural}.example.com`, { token });
    expect(body.versions).toMatchObject([{ version: '1.0.0', registered: true }]);
    expect(body.versions).toHaveLength(1);
  } finally {
    await rest.stop();
  }
});
