/**
 * A management cluster with the platform, and many clusters: API servers that share one etcd, each with its
 * controllers, a scheduler and a node that KWOK plays. Charts come from a repository on this machine, and Helm is the
 * real one.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Cluster,
  cluster as clusterKind,
  type Environment,
  environments,
  type Operator,
  operator as operatorKind,
} from '../../src/api/index.ts';
import { installDefinitions } from '../../src/cli/up/definitions.ts';
import { addNamespaces } from '../../src/cli/up/starter-policies.ts';
import { ensureAssets, renderProgress, startControlPlane } from '../../src/controlplane/index.ts';
import { keysFromFile, newKeySet, type SealingKeys } from '../../src/fleet/index.ts';
import { createCleanup, startPlatform } from '../../src/platform/index.ts';
import { type Client, connect, getCondition, loadKubeconfig } from '../../src/runtime/index.ts';
import { addressGuard, ConnectionBudget } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { addCluster, type Target } from '../../test/rollout-e2e/support/testbed.ts';
import { systemNamespace, unapproved } from '../../test/rollout-e2e/support/timing.ts';
import { type OperatorChart, operatorFrom, serveRepository } from '../../test/support/operator-charts.ts';
import { inParallel } from './figures.ts';

export { systemNamespace };

export interface Stage {
  /** Of the management cluster, as its administrator. */
  readonly client: Client;
  readonly targets: readonly Target[];
  readonly keys: SealingKeys;
  readonly helm: string;
  /** A folder that goes with the stage. */
  readonly directory: string;
  /** With its charts in the repository, until every version of it can be rolled out. */
  addOperator(charts: readonly OperatorChart[], more?: Partial<Operator['spec']>): Promise<void>;
  /** The platform rolls out no more from then on, and the clusters are gone; the management cluster stays. */
  stopRollouts(): Promise<void>;
  stop(): Promise<void>;
}

const patient = { within: 300_000, every: 200 };
/** Of this program itself to all clusters: those of the platform are counted. */
export const ownConnections = 8;

export async function startStage(clusters: number): Promise<Stage> {
  const { helm } = await ensureAssets(['helm'], { onProgress: renderProgress(process.stderr) });
  const directory = await mkdtemp(join(tmpdir(), 'kidp-bench-'));
  const undo = createCleanup();
  undo.add('removing the folder', () => rm(directory, { recursive: true, force: true }));
  try {
    const management = await startControlPlane();
    undo.add('stopping the management cluster', () => management.stop());
    const client = connectTo(management.kubeconfig, undo);
    const keyFile = join(directory, 'keys.json');
    await writeFile(keyFile, await newKeySet(), { mode: 0o600 });
    await installDefinitions(client);
    await addNamespaces(client, [systemNamespace]);
    const names = Array.from({ length: clusters }, (_, index) => `cluster-${String(index + 1).padStart(2, '0')}`);
    const targets: Target[] = [];
    const ofClusters = createCleanup();
    undo.add('stopping the clusters', () => ofClusters.run());
    const budgets = { short: new ConnectionBudget(ownConnections), watch: new ConnectionBudget(1) };
    await inParallel(names, cpus().length, async (name) => {
      const plane = await startControlPlane({
        etcd: { shared: management.etcd, prefix: `/${name}` },
        controllerManager: true,
        scheduler: true,
        nodes: 1,
      });
      ofClusters.add(`stopping ${name}`, () => plane.stop());
      const environment = environmentOf(names.indexOf(name), clusters);
      targets.push({ name, environment, plane, client: connectTo(plane.kubeconfig, ofClusters, { budgets }) });
    });
    targets.sort((one, other) => one.name.localeCompare(other.name));
    const served: OperatorChart[] = [];
    const repository = await serveRepository(served);
    undo.add('closing the repository', () => repository.stop());
    const platform = createCleanup();
    undo.add('stopping the platform', () => platform.run());
    const keys = keysFromFile(keyFile);
    await startPlatform(
      {
        client: connectTo(management.kubeconfig, undo),
        platformNamespace: systemNamespace,
        guard: addressGuard(
          [repository.url, ...targets.map(({ plane }) => plane.url)].map((each) => new URL(each).host),
        ),
        rollouts: { keys, helm: { program: helm }, settings: unapproved },
      },
      platform,
    );
    for (const target of targets) await addCluster(client, keyFile, target);
    await eventually(() => areReady<Cluster>(client, clusterKind, names), patient);
    return {
      client,
      targets,
      keys,
      helm,
      directory,
      async addOperator(charts, more) {
        served.push(...charts);
        repository.serve(served);
        const name = charts[0]?.name ?? '';
        await client.create(operatorKind.resource, operatorFrom(name, repository.url, more));
        await eventually(() => areReady<Operator>(client, operatorKind, [name]), patient);
      },
      async stopRollouts() {
        await platform.run();
        await ofClusters.run();
      },
      async stop() {
        for (const note of await undo.run()) process.stderr.write(`${note}\n`);
      },
    };
  } catch (error) {
    await undo.run();
    throw error;
  }
}

/** A third of them each. */
const environmentOf = (index: number, clusters: number): Environment =>
  environments[Math.floor((index * environments.length) / clusters)] ?? 'Dev';

function connectTo(
  kubeconfig: string,
  undo: ReturnType<typeof createCleanup>,
  options?: Parameters<typeof connect>[1],
): Client {
  const client = connect(loadKubeconfig({ file: kubeconfig }), options);
  undo.add('closing a connection', () => client.close());
  return client;
}

async function areReady<Kind extends Cluster | Operator>(
  client: Client,
  kind: typeof clusterKind | typeof operatorKind,
  names: readonly string[],
): Promise<boolean> {
  for (const name of names) {
    const { status } = await client.get<Kind>(kind.resource, { name });
    const ready = getCondition(status?.conditions as Parameters<typeof getCondition>[0], 'Ready');
    if (ready?.status !== 'True') throw new Error(`${kind.kind} ${name} is not ready: ${ready?.message ?? 'unseen'}`);
  }
  return true;
}
