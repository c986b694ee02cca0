/**
 * A round of health over 500 operators on each of 100 clusters (docs/requirements.md, 002 Scalability targets). The
 * scheduler is the real one, with the real Manager, caches and writes of status, and so are the clients with their
 * connections and budgets, as the fleet has them; what is simulated are the API servers that they ask, by one server in
 * another process, which answers after a while. Every operator is in a namespace of its own, with a Deployment of two
 * pods, a webhook that is asked with a dry run, and a kind of its own with twenty custom resources.
 */
import {
  API_VERSION,
  cluster,
  installationName,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../src/api/index.ts';
import { healthChecker, mostHelmRuns } from '../../src/fleet/index.ts';
import { addOperatorHealth } from '../../src/reconcile/index.ts';
import { Manager } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { memoryCluster } from '../../test/support/memory-cluster.ts';
import { type Figure, mebibytes, say, seconds } from './figures.ts';
import { operatorName, snapshotOf } from './simulated-objects.ts';
import { type Simulation, startSimulation } from './simulation.ts';

const table = 'Scalability targets';
const roundBound = 30;
const connectionBound = 100;
const memoryBound = 3072;

export interface Round {
  readonly operators: number;
  readonly clusters: number;
  /** Milliseconds that a cluster takes for a list, and for a dry run. */
  readonly list: number;
  readonly dryRun: number;
}

export async function healthRound(asked: Round): Promise<Figure[]> {
  const { operators, clusters, list, dryRun } = asked;
  say(
    `a round of health: ${operators} operators × ${clusters} clusters; a list takes ${list} ms and a dry run ${dryRun} ms`,
  );
  const simulation = await startSimulation(asked);
  try {
    return await measure(asked, simulation);
  } finally {
    await simulation.stop();
  }
}

async function measure({ operators, clusters }: Round, simulation: Simulation): Promise<Figure[]> {
  const management = managementWith(operators, clusters);
  const stop = new AbortController();
  const manager = new Manager({ client: management.client });
  const rounds = addOperatorHealth(manager, {
    fleet: {
      connect: async (name) => ({
        cluster: name,
        environment: 'Dev',
        kubernetesVersion: 'v1.36.3',
        client: simulation.clientOf(name),
        withKubeconfig: () => Promise.reject(new Error('nobody asks')),
      }),
    },
    health: healthChecker(),
    snapshots: { get: async (name) => snapshotOf(Number(name.slice('snapshot-'.length))) },
    recorder: { record() {} },
    // The rounds are asked for here.
    intervalMilliseconds: 3_600_000,
  });
  const running = manager.start(stop.signal);
  const total = operators * clusters;
  try {
    const first = performance.now();
    await eventually(() => management.healthy() === total, { within: 1_800_000, every: 500 });
    say(`  the first round, which also writes the status of all ${total}: ${seconds(performance.now() - first)}`);
    // Until the controllers have counted what was written: that is no part of a round.
    await eventually(() => management.counted() === operators, { within: 600_000, every: 500 });
    let [worst, memory] = [0, 0];
    const looked = { operators: Number.POSITIVE_INFINITY, clusters: Number.POSITIVE_INFINITY };
    for (let number = 1; number <= 2; number += 1) {
      const cpu = process.cpuUsage();
      const before = await simulation.statistics();
      simulation.forget();
      const { milliseconds, installations } = await rounds.round(stop.signal);
      const { user, system } = process.cpuUsage(cpu);
      const busy = (user + system) / 1_000_000;
      worst = Math.max(worst, milliseconds / 1000, busy);
      memory = Math.max(memory, process.memoryUsage().rss);
      const seen = simulation.asked();
      looked.operators = Math.min(looked.operators, seen.operators);
      looked.clusters = Math.min(looked.clusters, seen.clusters);
      const after = await simulation.statistics();
      say(
        `  a round over ${installations}: ${seconds(milliseconds)}, ${busy.toFixed(1)} s of CPU; ${after.requests - before.requests} requests, ${after.opened - before.opened} new connections`,
      );
    }
    if (management.healthy() !== total) throw new Error(`only ${management.healthy()} of ${total} are healthy`);
    const held = simulation.held();
    const { most } = await simulation.statistics();
    say(`  connections at once: ${held} held here, ${most} seen by the server`);
    const what = `${operators} operators × ${clusters} clusters`;
    return [
      {
        table,
        what: 'operators whose webhook was asked, on the cluster with the fewest',
        value: looked.operators,
        unit: '',
        target: ['≥', 500],
      },
      { table, what: 'clusters that were asked in a round', value: looked.clusters, unit: '', target: ['≥', 100] },
      {
        table,
        what: `${what}: a round on one core (time or seconds of CPU, whichever is more)`,
        value: worst,
        unit: 's',
        target: ['≤', roundBound],
      },
      {
        table,
        what: `${what}: connections at once, and ${mostHelmRuns} that Helm may have`,
        value: Math.max(held, most) + mostHelmRuns,
        unit: '',
        target: ['<', connectionBound],
      },
      {
        table,
        what: `${what}: memory of this process, with the simulated management cluster`,
        value: mebibytes(memory),
        unit: 'MB',
        target: ['<', memoryBound],
      },
    ];
  } finally {
    stop.abort();
    await running;
  }
}

/** The management cluster: all that the platform itself keeps. */
function managementWith(operators: number, clusters: number) {
  const memory = memoryCluster(
    [operator, cluster, operatorDeployment, operatorInstallation].map((kind) => kind.resource),
  );
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name },
    spec,
  });
  const names: string[] = [];
  for (let number = 0; number < operators; number += 1) {
    memory.put(operator.resource, object('Operator', operatorName(number), {}));
    for (let index = 0; index < clusters; index += 1) {
      const on = `cluster-${index}`;
      if (number === 0) memory.put(cluster.resource, object('Cluster', on, { environment: 'Dev' }));
      const name = installationName(operatorName(number), on);
      names.push(name);
      const spec = {
        operator: operatorName(number),
        cluster: on,
        version: '1.0.0',
        snapshot: `snapshot-${number}`,
        namespace: operatorName(number),
        releaseName: operatorName(number),
        revision: 1,
      };
      memory.put(operatorInstallation.resource, object('OperatorInstallation', name, spec));
    }
  }
  const healthOf = (name: string) =>
    (memory.get(operatorInstallation.resource, { name })?.status as { health?: string } | undefined)?.health;
  return {
    client: memory.client,
    healthy: () => names.filter((name) => healthOf(name) === 'Healthy').length,
    counted: () =>
      Array.from({ length: operators }, (_, number) =>
        memory.get(operator.resource, { name: operatorName(number) }),
      ).filter(
        (each) => (each?.status as { healthyInstallations?: number } | undefined)?.healthyInstallations === clusters,
      ).length,
  };
}
