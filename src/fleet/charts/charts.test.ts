import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Operator } from '../../api/index.ts';
import type { Resource } from '../../runtime/index.ts';
import { pack } from './archive.ts';
import { openCharts } from './charts.ts';

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const index = 'apiVersion: v1\nentries:\n  shop:\n  - version: 1.0.0\n    urls: [shop-1.0.0.tgz]\n';
const archive = pack('shop', new Map([['Chart.yaml', Buffer.from('name: shop\nversion: 1.0.0\n')]]));
const digest = createHash('sha256').update(archive).digest('hex');
const indexOf = (url: string) =>
  url.startsWith('/charts/') ? index : index.replace('    urls', `    digest: ${digest}\n    urls`);
const base64 = (text: string) => Buffer.from(text).toString('base64');

let server: Server;
let host: string;
let asked: (string | undefined)[];
let fetched = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    const isGuarded = request.url?.startsWith('/guarded/') === true;
    if (isGuarded && request.headers.authorization === undefined) response.writeHead(401).end();
    else if (request.url?.endsWith('/index.yaml') === true) response.end(indexOf(request.url));
    else if (isGuarded) {
      fetched += 1;
      response.end(archive);
    } else response.writeHead(404).end();
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

test('credentials for the repository are sent to it', async () => {
  const annotations = { 'platform.company.com/repository': `http://${host}` };
  expect(await versionsWith(annotations)).toEqual([{ version: '1.0.0' }]);
  expect(asked).toEqual([`Basic ${base64('ada:opensesame')}`]);
});

test.each([
  { reason: 'a missing Secret', annotations: undefined },
  { reason: 'a Secret without the annotation', annotations: {} },
  {
    reason: 'a Secret for another repository',
    annotations: { 'platform.company.com/repository': 'http://127.0.0.1:1' },
  },
])('$reason is rejected and not sent', async ({ annotations }) => {
  await expect(versionsWith(annotations)).rejects.toMatchObject({
    code: 'chart/unreachable',
    message: `spec.chart.credentialsSecret: Secret charts in namespace system must exist and have the annotation platform.company.com/repository: http://${host}`,
  });
  expect(asked).toEqual([]);
});

test('a registry differs from a repository of the same host', async () => {
  const annotations = { 'platform.company.com/repository': `http://${host}` };
  await expect(versionsWith(annotations, { oci: `oci://${host}/shop` })).rejects.toThrow(
    `platform.company.com/repository: oci://${host}`,
  );
  expect(asked).toEqual([]);
});

test('a chart fetched with credentials is not served to others that know its digest', async () => {
  const cluster = memoryCluster([secrets]);
  const annotations = { 'platform.company.com/repository': `http://${host}` };
  const data = { username: base64('ada'), password: base64('opensesame') };
  cluster.put(secrets, { metadata: { name: 'charts', namespace: 'system', annotations }, data });
  const charts = openCharts({ client: cluster.client, systemNamespace: 'system' });
  const operatorOf = (chart: object) => ({ metadata: { name: 'shop' }, spec: { chart } }) as Operator;
  const guarded = operatorOf({ repository: `http://${host}/guarded`, credentialsSecret: 'charts' });
  expect((await charts.fetch(guarded, '1.0.0', {})).digest).toBe(`sha256:${digest}`);
  expect(await charts.fetch(guarded, '1.0.0', {})).toMatchObject({ name: 'shop' });
  expect(fetched).toBe(1);
  const other = operatorOf({ repository: `http://${host}/other` });
  await expect(charts.fetch(other, '1.0.0', {})).rejects.toMatchObject({ code: 'chart/missing' });
});
