import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Operator } from '../../api/index.ts';
import type { Resource } from '../../runtime/index.ts';
import { openCharts } from './charts.ts';

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const index = 'apiVersion: v1\nentries:\n  shop:\n  - version: 1.0.0\n    urls: [shop-1.0.0.tgz]\n';
const base64 = (text: string) => Buffer.from(text).toString('base64');

let server: Server;
let host: string;
let asked: (string | undefined)[];
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.end(index);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});
beforeEach(() => {
  asked = [];
});

const versionsWith = (annotations?: Readonly<Record<string, string>>, chart?: object) => {
  const cluster = memoryCluster([secrets]);
  if (annotations !== undefined) {
    const data = { username: base64('ada'), password: base64('opensesame') };
    cluster.put(secrets, { metadata: { name: 'charts', namespace: 'system', annotations }, data });
  }
  const charts = openCharts({ client: cluster.client, systemNamespace: 'system' });
  const operator = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Operator',
    metadata: { name: 'shop' },
    spec: {
      namespace: 'shop',
      chart: { ...(chart ?? { repository: `http://${host}/charts` }), credentialsSecret: 'charts' },
    },
  } as Operator;
  return charts.versions(operator, {});
};

test('credentials that are meant for the repository go to it', async () => {
  const annotations = { 'platform.company.com/repository': `http://${host}` };
  expect(await versionsWith(annotations)).toEqual([{ version: '1.0.0' }]);
  expect(asked).toEqual([`Basic ${base64('ada:opensesame')}`]);
});

test.each([
  { reason: 'a Secret that is not there', annotations: undefined },
  { reason: 'a Secret that is meant for nobody', annotations: {} },
  { reason: 'one for another repository', annotations: { 'platform.company.com/repository': 'http://127.0.0.1:1' } },
])('$reason is told, and goes nowhere', async ({ annotations }) => {
  await expect(versionsWith(annotations)).rejects.toMatchObject({
    code: 'chart/unreachable',
    message: `spec.chart.credentialsSecret: there is no Secret charts in system for this repository: it has to have the annotation platform.company.com/repository with the value http://${host}`,
  });
  expect(asked).toEqual([]);
});

test('a registry is another place than a repository of the same host', async () => {
  const annotations = { 'platform.company.com/repository': `http://${host}` };
  await expect(versionsWith(annotations, { oci: `oci://${host}/shop` })).rejects.toThrow(
    `with the value oci://${host}`,
  );
  expect(asked).toEqual([]);
});
