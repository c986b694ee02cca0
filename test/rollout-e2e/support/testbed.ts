/**
 * Rollouts with everything real: a management API server with the platform as `kidp serve` puts it together, clusters
 * of their own that share an etcd, with controllers and nodes played by KWOK, a repository of charts, and Helm.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  API_VERSION,
  type Approval,
  approval,
  type Cluster,
  cluster as clusterKind,
  type Environment,
  installationName,
  type OperatorDeployment,
  type OperatorInstallation,
  operatorDeployment,
  operatorInstallation,
  operator as operatorKind,
} from '../../../src/api/index.ts';
import { installDefinitions } from '../../../src/cli/up/definitions.ts';
import { addNamespaces } from '../../../src/cli/up/starter-policies.ts';
import { keysFromFile, newKeySet, sealedSecret, sealKubeconfig } from '../../../src/fleet/index.ts';
import type { RolloutsOptions } from '../../../src/platform/index.ts';
import { createCleanup, type Platform, type PlatformOptions, startPlatform } from '../../../src/platform/index.ts';
import { type Client, connect, loadKubeconfig, type Resource, type UnknownObject } from '../../../src/runtime/index.ts';
import { type AddressGuard, addressGuard, coreSecrets } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type ControlPlane, startControlPlane } from '../../support/cluster.ts';
import { realHelm } from '../../support/helm.ts';
import {
  type ChartRepository,
  type OperatorChart,
  operatorFrom,
  serveRepository,
} from '../../support/operator-charts.ts';
import { webhookPorts } from '../../support/webhook-ports.ts';
import { intervals, systemNamespace, unapproved } from './timing.ts';

export const patient = { within: 300_000, every: 500 };

export interface Target {
  readonly name: string;
  readonly environment: Environment;
  readonly plane: ControlPlane;
  readonly client: Client;
}

export interface Stage {
  readonly management: ControlPlane;
  readonly client: Client;
  readonly targets: readonly Target[];
  readonly repository: ChartRepository;
  /** The file with the sealing keys. */
  readonly keys: string;
  readonly helm: string;
  /** The guard of the platform, for clusters that a test adds itself. */
  readonly guard: AddressGuard;
  /** Runs the platform in this process. */
  run(
    options?: Partial<RolloutsOptions>,
    more?: Pick<PlatformOptions, 'log' | 'telemetry'>,
  ): Promise<Platform & { stop(): Promise<void> }>;
  /** Publishes the charts and creates the Operator, on another management cluster if one is given. */
  addOperator(charts: readonly OperatorChart[], more?: Parameters<typeof operatorFrom>[2], on?: Client): Promise<void>;
  stop(): Promise<void>;
}

const named = ['dev', 'staging', 'production'] as const;
const environmentOf = { dev: 'Dev', staging: 'Staging', production: 'Production' } as const;

export async function startStage(): Promise<Stage> {
  const { folder, remove } = await realHelm();
  remove();
  const helm = join(folder, 'helm');
  const ports = await webhookPorts(64);
  const management = await startControlPlane({ webhooks: ports.webhooks });
  const planes: ControlPlane[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'kidp-rollouts-'));
  const charts: OperatorChart[] = [];
  const repository = await serveRepository(charts);
  const client = connect(loadKubeconfig({ file: management.kubeconfig }));
  const targets: Target[] = [];
  const stop = async () => {
    for (const target of targets) await target.client.close();
    await client.close();
    await repository.stop();
    for (const plane of planes) await plane.stop();
    await management.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const keys = join(directory, 'keys.json');
    await writeFile(keys, await newKeySet(), { mode: 0o600 });
    await installDefinitions(client);
    await addNamespaces(client, [systemNamespace]);
    for (const name of named) {
      const etcd = { shared: management.etcd, prefix: `/${name}` };
      const plane = await startControlPlane({ etcd, controllerManager: true, scheduler: true, nodes: 1 });
      planes.push(plane);
      const target = {
        name,
        environment: environmentOf[name],
        plane,
        client: connect(loadKubeconfig({ file: plane.kubeconfig })),
      };
      targets.push(target);
      await addCluster(client, keys, target);
    }
    const hosts = [repository.url, ...targets.map(({ plane }) => plane.url)].map((each) => new URL(each).host);
    const guard = addressGuard(hosts);
    return {
      guard,
      management,
      client,
      targets,
      repository,
      keys,
      helm,
      async run(options = {}, more = {}) {
        const undo = createCleanup();
        const own = connect(loadKubeconfig({ file: management.kubeconfig }));
        undo.add('closing the connection', () => own.close());
        const rollouts = {
          keys: keysFromFile(keys),
          helm: { program: helm },
          settings: unapproved,
          intervals,
          ...options,
        };
        const authenticated = ports.next(management);
        const parts = { client: own, platformNamespace: systemNamespace, guard, rollouts, ...authenticated, ...more };
        const platform = await startPlatform(parts, undo);
        return {
          ...platform,
          async stop() {
            const left = await undo.run();
            if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`);
          },
        };
      },
      async addOperator(more, spec, on = client) {
        charts.push(...more);
        repository.serve(charts);
        const name = more[0]?.name ?? '';
        await on.create(operatorKind.resource, operatorFrom(name, repository.url, spec) as never);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export interface Management {
  readonly client: Client;
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** A second management cluster for the same clusters; neither knows of the other. */
export async function anotherManagement({ management, keys, targets }: Stage): Promise<Management> {
  const plane = await startControlPlane({ etcd: { shared: management.etcd, prefix: '/another' } });
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  const stop = async () => {
    await client.close();
    await plane.stop();
  };
  try {
    await installDefinitions(client);
    await addNamespaces(client, [systemNamespace]);
    for (const target of targets) await addCluster(client, keys, target);
    return { client, kubeconfig: plane.kubeconfig, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The same steps as `kidp clusters add`. */
export async function addCluster(
  client: Client,
  keys: string,
  {
    name,
    environment,
    plane,
  }: Pick<Target, 'name' | 'environment'> & { readonly plane: Pick<ControlPlane, 'kubeconfig'> },
): Promise<void> {
  const { sealing } = await keysFromFile(keys).current();
  const sealed = await sealKubeconfig(sealing, name, await readFile(plane.kubeconfig, 'utf8'));
  await client.create(coreSecrets, sealedSecret(systemNamespace, `cluster-${name}`, sealed));
  await client.create<Cluster>(clusterKind.resource, {
    apiVersion: API_VERSION,
    kind: 'Cluster',
    metadata: { name, labels: { stage: 'rollouts' } },
    spec: { environment, credentials: {} },
  } as Cluster);
}

/** A rollout over all clusters with short periods. */
export const rollOut = (
  client: Client,
  name: string,
  operator: string,
  version: string,
  spec: object,
): Promise<OperatorDeployment> =>
  client.create<OperatorDeployment>(operatorDeployment.resource, {
    apiVersion: API_VERSION,
    kind: 'OperatorDeployment',
    metadata: { name },
    spec: {
      operator,
      version,
      clusters: [...named],
      health: { interval: 'PT1S', failureThreshold: 3 },
      helmTimeout: 'PT2M',
      ...spec,
    },
  } as unknown as OperatorDeployment);

export async function untilPhase(
  client: Client,
  name: string,
  ...phases: readonly string[]
): Promise<OperatorDeployment> {
  return eventually(async () => {
    const found = await client.get<OperatorDeployment>(operatorDeployment.resource, { name });
    if (!phases.includes(found.status?.phase ?? '')) {
      const { phase, rollback, clusters, conditions, history } = found.status ?? {};
      throw new Error(
        `${name} is ${phase}, not ${phases.join(' or ')}: ${JSON.stringify({ rollback, clusters, conditions, history: history?.slice(-8) })}`,
      );
    }
    return found;
  }, patient);
}

export const statesOf = ({ status }: OperatorDeployment): Record<string, string> =>
  Object.fromEntries((status?.clusters ?? []).map(({ name, state }) => [name, state]));

export const installationOn = (client: Client, operator: string, cluster: string): Promise<OperatorInstallation> =>
  client.get<OperatorInstallation>(operatorInstallation.resource, { name: installationName(operator, cluster) });

const resource = (group: string, kind: string, plural: string): Resource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: true,
});
export const deployments = resource('apps', 'Deployment', 'deployments');
const widgetsOf = (operator: string) => resource(`${operator}.example.com`, 'Widget', 'widgets');

/** The version of the Pods of an operator on a cluster; undefined if it is not installed. */
export async function versionOn({ client }: Target, operator: string, namespace: string): Promise<string | undefined> {
  const found = await client
    .get<UnknownObject>(deployments, { namespace, name: operator })
    .catch((error: { status?: number }) => {
      if (error.status === 404) return undefined;
      throw error;
    });
  const spec = found?.spec as
    | { replicas?: number; template: { metadata: { annotations: { version: string } } } }
    | undefined;
  return spec === undefined || spec.replicas === 0 ? undefined : spec.template.metadata.annotations.version;
}

/** The number of finished Helm revisions of a release. */
export async function releasesOn(
  { client }: Target,
  operator: string,
  namespace = `${operator}-system`,
): Promise<number> {
  const labelSelector = `owner=helm,name=${operator},status in (deployed,superseded)`;
  return (await client.list(coreSecrets, { namespace, labelSelector })).items.length;
}

export async function addWidgets({ client }: Target, operator: string, count: number): Promise<void> {
  const one = (index: number) =>
    client.create<UnknownObject>(widgetsOf(operator), {
      apiVersion: `${operator}.example.com/v1`,
      kind: 'Widget',
      metadata: { name: `widget-${index}`, namespace: 'default' },
      spec: { size: index % 10, note: `number ${index}` },
    } as UnknownObject);
  for (let begin = 0; begin < count; begin += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - begin) }, (_, index) => one(begin + index)));
}

/** All custom resources as stored. */
export async function widgetsOn({ client }: Target, operator: string): Promise<string[]> {
  const { items } = await client.list<UnknownObject>(widgetsOf(operator), {});
  return items
    .map(({ metadata: { uid, name, resourceVersion }, spec }) => JSON.stringify({ uid, name, resourceVersion, spec }))
    .sort();
}

export async function decide(client: Client, name: string, decision: 'Approve' | 'Reject'): Promise<void> {
  const found = await client.get<Approval>(approval.resource, { name });
  const decisions = [...found.spec.decisions, { decision, by: '', at: '' }];
  await client.patch(approval.resource, { name }, { type: 'merge', body: { spec: { decisions } } });
}
