/** Operators on a real API server: what their repository has is in their status, with the definitions of each version and what they break. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  crdFor,
  type Operator,
  type OperatorDeployment,
  operatorDeployment,
  operatorInstallation,
  operator as operatorKind,
} from '../../src/api/index.ts';
import { ensureAssets } from '../../src/controlplane/index.ts';
import { type DefinitionStore, openCharts, openDefinitionStore } from '../../src/fleet/index.ts';
import { addOperatorReconciler } from '../../src/reconcile/index.ts';
import {
  type Client,
  type Condition,
  connect,
  getCondition,
  loadKubeconfig,
  Manager,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type ControlPlane, startControlPlane } from '../support/cluster.ts';
import { type ChartRepository, operatorFrom, packChart, serveRepository } from '../support/operator-charts.ts';
import { resources } from './support/setup.ts';

const systemNamespace = 'kidp-system';
const patient = { within: 180_000, every: 100 };

let plane: ControlPlane;
let client: Client;
let repository: ChartRepository;
let definitions: DefinitionStore;
const stopping = new AbortController();
let stopped: Promise<void> | undefined;

beforeAll(async () => {
  plane = await startControlPlane();
  client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  for (const kind of [operatorKind, operatorDeployment, operatorInstallation]) {
    await client.apply(resources.definitions, crdFor(kind), { fieldManager: 'test' });
    await eventually(() => client.list(kind.resource), patient);
  }
  await client.create(resources.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: systemNamespace },
  });
  repository = await serveRepository([]);
  const { helm: program } = await ensureAssets(['helm']);
  definitions = openDefinitionStore({ client, namespace: systemNamespace });
  const manager = new Manager({ client });
  addOperatorReconciler(manager, {
    charts: openCharts({ helm: { program }, client, systemNamespace }),
    definitions,
    recorder: { record: () => undefined },
    recheckMilliseconds: 300,
    newestVersions: 3,
  });
  stopped = manager.start(stopping.signal);
});
afterAll(async () => {
  stopping.abort();
  await stopped;
  await repository?.stop();
  await client?.close();
  await plane?.stop();
});

const create = async (operator: Operator): Promise<void> => void (await client.create(operatorKind.resource, operator));
const read = (name: string) => client.get<Operator>(operatorKind.resource, { name });
const condition = ({ status }: Operator, type: string) =>
  getCondition(status?.conditions as Condition[] | undefined, type);

/** As soon as its versions are these, as `version state compatibility`. */
const versionsBecome = (name: string, expected: readonly string[]): Promise<Operator> =>
  eventually(async () => {
    const operator = await read(name);
    const versions = (operator.status?.versions ?? []).map(({ version, state, compatibility }) =>
      [version, state, ...(compatibility === undefined ? [] : [compatibility])].join(' '),
    );
    expect(versions).toEqual(expected);
    return operator;
  }, patient);

describe('what a repository has', () => {
  const name = 'shop';
  const chart = (version: string, maximum: number) => ({ name, version, maximum });

  test('the newest first, with and without a v, and what each does to the one before it', async () => {
    repository.serve([chart('1.0.0', 20), chart('v1.10.0', 10), chart('1.2.0', 30), chart('2.0.0-rc.1', 10)]);
    await create(operatorFrom(name, repository.url));
    const operator = await versionsBecome(name, [
      '2.0.0-rc.1 Available safe',
      'v1.10.0 Available breaking',
      '1.2.0 Available',
      '1.0.0 Listed',
    ]);
    expect(condition(operator, 'RepositoryReachable')).toMatchObject({ status: 'True' });
    expect(condition(operator, 'Ready')).toMatchObject({
      status: 'True',
      message: '4 versions, the newest 2.0.0-rc.1',
    });
    const [newest] = operator.status?.versions ?? [];
    expect(newest?.definitions).toMatchObject([{ name: 'widgets.shop.example.com', versions: ['v1'] }]);
    expect(await definitions.get(newest?.definitionsRef ?? '')).toMatchObject([
      { kind: 'CustomResourceDefinition', metadata: { name: 'widgets.shop.example.com' } },
    ]);
  });

  test('an older version is looked at when somebody is about to roll it out', async () => {
    await client.create(operatorDeployment.resource, {
      apiVersion: 'platform.company.com/v1',
      kind: 'OperatorDeployment',
      metadata: { name: 'shop-1.0.0' },
      spec: { operator: name, version: '1.0.0', clusters: ['here'], strategy: 'Direct' },
    } as OperatorDeployment);
    await versionsBecome(name, [
      '2.0.0-rc.1 Available safe',
      'v1.10.0 Available breaking',
      '1.2.0 Available safe',
      '1.0.0 Available',
    ]);
  });

  test('a new version is found automatically', async () => {
    repository.serve([chart('1.0.0', 20), chart('1.2.0', 30), chart('3.0.0', 40)]);
    await versionsBecome(name, ['3.0.0 Available safe', '1.2.0 Available safe', '1.0.0 Available']);
  });

  test('an unavailable repository is reported, known versions are kept, and it recovers', async () => {
    repository.answer(500);
    const away = await eventually(async () => {
      const operator = await read(name);
      expect(condition(operator, 'RepositoryReachable')).toMatchObject({
        status: 'False',
        reason: 'RepositoryUnreachable',
        message: expect.stringMatching(/index\.yaml cannot be fetched: it answered 500$/),
      });
      return operator;
    }, patient);
    expect(condition(away, 'Ready')).toMatchObject({ status: 'False' });
    expect(away.status?.versions).toHaveLength(3);
    repository.answer(undefined);
    await eventually(
      async () => expect(condition(await read(name), 'Ready')).toMatchObject({ status: 'True' }),
      patient,
    );
  });
});

test('versions that are named: one that is missing, one whose digest is another, one with another version of the chart', async () => {
  const name = 'named';
  const chart = (version: string) => ({ name, version });
  repository.serve([chart('1.0.0'), chart('1.1.0'), chart('0.5.0')]);
  const versions = [
    { version: '1.0.0' },
    { version: '1.1.0', digest: `sha256:${'0'.repeat(64)}` },
    { version: '2.0.0', chartVersion: '0.5.0' },
    { version: '3.0.0' },
  ];
  await create(operatorFrom(name, repository.url, { versions }));
  const operator = await versionsBecome(name, [
    '3.0.0 Missing',
    '2.0.0 Available safe',
    '1.1.0 Invalid',
    '1.0.0 Available',
  ]);
  const messages = operator.status?.versions?.map(({ message }) => message);
  expect(messages?.[0]).toBe('the repository has no version 3.0.0 of the chart');
  expect(messages?.[2]).toMatch(
    /^The chart 1\.1\.0 has digest sha256:[0-9a-f]{64}, want sha256:0+ from spec\.versions$/,
  );
  expect(condition(operator, 'Ready')?.message).toMatch(/2 unusable, 3\.0\.0: the repository has no version/);
});

test('a definition that cannot be used makes its version invalid, and the Operator says so', async () => {
  const name = 'odd';
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'odd.example.com' },
  };
  const chart = {
    name,
    version: '1.0.0',
    definitionIn: 'nowhere',
    files: { 'crds/odd.yaml': JSON.stringify(definition) },
  } as const;
  expect(packChart(chart).length).toBeGreaterThan(0);
  repository.serve([chart]);
  await create(operatorFrom(name, repository.url));
  const operator = await versionsBecome(name, ['1.0.0 Invalid']);
  expect(condition(operator, 'Ready')).toMatchObject({ status: 'False', reason: 'NoUsableVersion' });
});

test('a version whose chart requires values reports it, and can still be rolled out', async () => {
  const name = 'wanting';
  const wants = '{{- $_ := required "set host, for example example.com" .Values.host }}';
  repository.serve([
    { name, version: '1.0.0' },
    { name, version: '1.1.0', files: { 'templates/wants.yaml': wants } },
    { name, version: '1.2.0', definitionIn: 'templates', files: { 'templates/wants.yaml': wants } },
  ]);
  await create(operatorFrom(name, repository.url));
  // Which definitions the templates of the newest would make is not known.
  const operator = await versionsBecome(name, ['1.2.0 Available risky', '1.1.0 Available safe', '1.0.0 Available']);
  const [newest, newer, old] = operator.status?.versions ?? [];
  for (const version of [newest, newer]) {
    expect(version?.doesNotRender).toMatch(/^The chart does not render: .*set host, for example example\.com/);
  }
  expect(old?.doesNotRender).toBeUndefined();
  expect(newer?.definitions).toMatchObject([{ name: 'widgets.wanting.example.com' }]);
  expect(condition(operator, 'Ready')).toMatchObject({ status: 'True' });
});
