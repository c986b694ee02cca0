/** Charts with the real Helm: what they come to when they are rendered, and what is said where they are not. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operator } from '../../src/api/index.ts';
import { pack } from '../../src/fleet/charts/archive.ts';
import { FleetError, openCharts } from '../../src/fleet/index.ts';
import { serveRegistry } from '../support/chart-registry.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { type Helm, realHelm } from '../support/helm.ts';
import { chartFiles, type OperatorChart, operatorFrom, packChart } from '../support/operator-charts.ts';
import { environment, type HelmPlane, kubernetesVersion, openHelmPlane, resources } from './support/setup.ts';

let plane: HelmPlane;
let helm: Helm;
beforeAll(async () => {
  plane = await openHelmPlane('helm-charts');
  helm = await realHelm();
});
afterAll(async () => {
  helm?.remove();
  await plane?.stop();
});

const refusalOf = async (attempt: Promise<unknown>): Promise<FleetError> => {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FleetError) return error;
  throw new Error('it was not refused', { cause: error });
};

test('a snapshot: definitions apart, Namespaces that stay, hooks; the same twice is the same', async () => {
  const space = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: more}\n';
  const chart: OperatorChart = { name: 'shop', version: '1.0.0', hook: true, files: { 'templates/more.yaml': space } };
  const one = await plane.snapshot(chart, 'shops', { mood: 'bold' });
  expect(one.definitions.map(({ metadata }) => metadata.name)).toEqual(['widgets.shop.example.com']);
  expect(one.manifests.map(({ kind }) => kind)).toEqual([
    'Namespace',
    'ServiceAccount',
    'Secret',
    'ConfigMap',
    'ClusterRole',
    'ClusterRoleBinding',
    'Service',
    'Deployment',
    'Job',
  ]);
  expect(one.manifests[0]?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  expect(one.manifests[3]).toMatchObject({ data: { mood: 'bold' } });
  expect(await plane.snapshot(chart, 'shops', { mood: 'bold' })).toEqual(one);
  expect(await plane.snapshots.get(one.name)).toEqual(one);
  expect((await plane.snapshot(chart, 'shops', { mood: 'shy' })).digest).not.toBe(one.digest);
});

test('YAML is read as Helm and kubectl read it', async () => {
  const words = `[yes, No, on, OFF, y, N, 0777, 0o17, 0x1F, 0b11, 1_000, 1e3, .5, +1, -0, 08, ~, Null, 12:30:00, 2001-12-14, 1.2.3, "yes", '1']`;
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\nodd: ${words}\nbase: &base {a: 1}\nmerged: {<<: *base, b: 2}\nfolded: >-\n  a\n  b\n`;
  const snapshot = await plane.snapshot(
    { name: 'odd', version: '1.0.0', definitionIn: 'nowhere', files: { 'templates/operator.yaml': text } },
    'odd',
  );
  const flags = ['create', '--dry-run=client', '--validate=false', '-o', 'json', '-f', '-'];
  const { stdout } = await sharedCluster().kubectl(flags, { input: text });
  const { odd, base, merged, folded } = JSON.parse(stdout);
  expect(snapshot.manifests).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'odd' }, odd, base, merged, folded },
  ]);
});

describe('what does not render names the template, and no value', () => {
  const schema = { type: 'object', properties: { replicas: { type: 'string', pattern: '^[0-9]+$' } } };
  test.each([
    {
      reason: 'a text that stands in the chart is shown',
      files: { 'templates/a.yaml': '{{ required "say which shop" .Values.which }}' },
      message: /^The chart does not render: .*templates\/a\.yaml:1:3\): say which shop$/,
    },
    {
      reason: 'a text that a template has made of values is not shown',
      files: { 'templates/a.yaml': '{{ fail (printf "no %s" (upper .Values.password)) }}' },
      message: /templates\/a\.yaml:1:3\): the chart rejects these values$/,
    },
    {
      reason: 'a value that is quoted by a function',
      files: { 'templates/a.yaml': 'a: {{ .Values.password | mustRegexMatch "(" }}' },
      message: /templates\/a\.yaml:1/,
    },
    {
      reason: 'what it renders is no YAML',
      files: { 'templates/a.yaml': 'a: b: {{ .Values.password }}' },
      message: /templates\/a\.yaml/,
    },
    {
      reason: 'what it renders is no object',
      files: { 'templates/a.yaml': 'hello: {{ .Values.password }}' },
      message: /templates\/a\.yaml: not a Kubernetes object/,
    },
    {
      reason: 'values that are not as its schema says',
      files: { 'values.schema.json': JSON.stringify(schema) },
      message: /at '\/replicas'/,
    },
  ])('$reason', async ({ files, message }) => {
    const chart = { name: uniqueName('broken'), version: '1.0.0', files };
    const values = { password: 'hunter2hunter2', replicas: 'many' };
    const refusal = await refusalOf(plane.snapshot(chart, 'anywhere', values));
    expect(refusal).toMatchObject({ code: 'chart/does-not-render', message: expect.stringMatching(message) });
    expect(refusal.message.toLowerCase()).not.toContain('hunter2');
    expect(refusal.message).not.toContain('many');
  });
});

test('a template looks up nothing: neither Secrets of the cluster nor what this machine has', async () => {
  const metadata = { name: uniqueName('hidden'), namespace: plane.systemNamespace };
  await plane.client.create(resources.secrets, { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { a: 'b' } });
  const looked = `{{ lookup "v1" "Secret" "${metadata.namespace}" "${metadata.name}" | toJson | quote }}`;
  const read = '{{ .Files.Get "../../../etc/passwd" | quote }}';
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: looks}\ndata: {looked: ${looked}, read: ${read}}\n`;
  const chart: OperatorChart = { name: uniqueName('looks'), version: '1.0.0', files: { 'templates/looks.yaml': text } };
  const { manifests } = await plane.snapshot(chart, plane.systemNamespace);
  expect(manifests.find(({ metadata: { name } }) => name === 'looks')).toMatchObject({
    data: { looked: '{}', read: '' },
  });
});

describe('a schema of values reaches neither the network nor the files of this machine', () => {
  const known = mkdtempSync(join(tmpdir(), 'kidp-schema-'));
  writeFileSync(join(known, 'any.json'), '{}');
  afterAll(() => rmSync(known, { recursive: true }));

  test.each([
    { reason: 'a server on this machine', reference: (own: string) => `${own}/any.json`, inside: '' },
    { reason: 'a server, from a packed subchart', reference: (own: string) => `${own}/any.json`, inside: 'tgz' },
    { reason: 'a file', reference: () => `file://${known}/any.json`, inside: '' },
    { reason: 'a file, from a subchart', reference: () => `file://${known}/any.json`, inside: 'folder' },
  ])('$reason', async ({ reference, inside }) => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const schema = JSON.stringify({ $ref: reference(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) });
    const part = chartFiles({ name: 'part', version: '1.0.0', files: { 'values.schema.json': schema } });
    const name = uniqueName('reaching');
    const files = chartFiles({
      name,
      version: '1.0.0',
      files: inside === '' ? { 'values.schema.json': schema } : {},
    });
    const all = new Map([
      ...files,
      ...(inside === 'folder' ? [...part].map(([path, data]) => [`charts/part/${path}`, data] as const) : []),
      ...(inside === 'tgz' ? [['charts/part-1.0.0.tgz', pack('part', part)] as const] : []),
    ]);
    const chart = { name, version: '1.0.0', digest: 'sha256:0', bytes: pack(name, all) };
    const input = {
      operator: name,
      version: '1.0.0',
      environment,
      kubernetesVersion,
      namespace: 'a',
      releaseName: 'a',
      // Helm reads the schema of a subchart only where it gets values.
      values: [{ part: { a: 1 } }],
    } as const;
    const refusal = await refusalOf(plane.charts.render(chart, input, {}));
    server.close();
    expect(refusal).toMatchObject({
      code: 'chart/invalid',
      message: expect.stringContaining('schemas are not fetched'),
    });
    expect(asked).toBe(0);
  });
});

test('definitions come from crds/, from templates, and from subcharts, packed or not', async () => {
  const sub = packChart({ name: 'packed', version: '1.0.0' });
  const open = chartFiles({ name: 'open', version: '1.0.0' });
  const chart: OperatorChart = {
    name: 'parent',
    version: '1.0.0',
    definitionIn: 'templates',
    files: Object.fromEntries([...open].map(([path, data]) => [`charts/open/${path}`, data.toString()])),
  };
  const directory = mkdtempSync(join(tmpdir(), 'kidp-charts-'));
  for (const [path, data] of [...chartFiles(chart), ['charts/packed-1.0.0.tgz', sub] as const]) {
    mkdirSync(join(directory, 'parent', path, '..'), { recursive: true });
    writeFileSync(join(directory, 'parent', path), data);
  }
  const charts = openCharts({ ...plane, helm: { program: plane.program }, folder: directory });
  const operator = { ...operatorFrom('parent', ''), spec: { namespace: 'x', chart: { path: 'parent' } } } as Operator;
  expect(await charts.versions(operator, {})).toMatchObject([{ version: '1.0.0', appVersion: '1.0.0' }]);
  const fetched = await charts.fetch(operator, 'v1.0.0', {});
  const names = (await charts.look(fetched, {})).definitions.map(({ metadata }) => metadata.name).sort();
  expect(names).toEqual(['open', 'packed', 'parent'].map((name) => `widgets.${name}.example.com`));
  expect(await refusalOf(charts.fetch(operator, '2.0.0', {}))).toMatchObject({ code: 'chart/missing' });
  rmSync(directory, { recursive: true });
});

test('a chart that Helm has pushed to a registry, behind a token', async () => {
  const registry = await serveRegistry();
  const name = uniqueName('pushed');
  for (const version of ['1.0.0', '1.1.0+build.5']) {
    writeFileSync(join(helm.directory, 'chart.tgz'), packChart({ name, version }));
    expect(await helm.helm(['push', 'chart.tgz', `oci://${registry.host}/charts`, '--plain-http'])).toMatchObject({
      code: 0,
    });
  }
  registry.protect('ada', 'opensesame');
  const data = Object.fromEntries(
    Object.entries({ username: 'ada', password: 'opensesame' }).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]),
  );
  const annotations = { 'platform.company.com/repository': `oci://${registry.host}` };
  const metadata = { name: 'registry', namespace: plane.systemNamespace, annotations };
  await plane.client.create(resources.secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data });
  const chart = { oci: `oci://${registry.host}/charts/${name}`, credentialsSecret: 'registry' };
  const operator = { ...operatorFrom(name, ''), spec: { namespace: name, chart } } as Operator;
  expect(await plane.charts.versions(operator, {})).toEqual([{ version: '1.1.0+build.5' }, { version: '1.0.0' }]);
  const fetched = await plane.charts.fetch(operator, 'v1.0.0', {});
  expect(fetched).toMatchObject({ name, version: '1.0.0', bytes: packChart({ name, version: '1.0.0' }) });
  const blobs = () => registry.asked.filter((each) => each.startsWith('GET') && each.includes('/blobs/')).length;
  const before = blobs();
  expect(await plane.charts.fetch(operator, '1.0.0', {})).toEqual(fetched);
  expect(blobs()).toBe(before);
  expect(await refusalOf(plane.charts.fetch(operator, '3.0.0', {}))).toMatchObject({ code: 'chart/missing' });
  const without = { ...operator, spec: { ...operator.spec, chart: { oci: chart.oci } } } as Operator;
  expect(await refusalOf(plane.charts.versions(without, {}))).toMatchObject({ code: 'chart/unreachable' });
  await registry.stop();
});

test('later values override earlier ones, and digests identify the inputs', async () => {
  const chart = { name: 'quiet', version: '1.0.0' };
  plane.repository.serve([chart]);
  const fetched = await plane.charts.fetch(operatorFrom('quiet', plane.repository.url), '1.0.0', {});
  const input = {
    operator: 'quiet',
    version: '1.0.0',
    environment,
    kubernetesVersion,
    namespace: 'a',
    releaseName: 'a',
  } as const;
  const content = await plane.charts.render(
    fetched,
    { ...input, values: [{ password: 'one' }, { password: 'two' }] },
    {},
  );
  expect(content.manifests.find(({ kind }) => kind === 'Secret')).toMatchObject({ stringData: { password: 'two' } });
  expect(content).toMatchObject({ chartDigest: fetched.digest, valuesDigest: expect.stringMatching(/^sha256:/) });
});
