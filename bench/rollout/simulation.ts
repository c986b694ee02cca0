/**
 * Clients of simulated clusters: with connections and budgets as the fleet has them, and a note of who was really
 * asked.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectionLimits } from '../../src/fleet/index.ts';
import { type Client, connect } from '../../src/runtime/index.ts';
import { ConnectionBudget } from '../../src/runtime/internal.ts';
import { operatorOf } from './simulated-objects.ts';

export interface Simulation {
  clientOf(cluster: string): Client;
  /** Connections that are held at once, at most: of short requests and of watches. */
  held(): number;
  /** As the server has seen it. */
  statistics(): Promise<Statistics>;
  /** Since `forget`: the operators whose webhook was asked, on the cluster where they were fewest, and the clusters. */
  asked(): { readonly operators: number; readonly clusters: number };
  forget(): void;
  stop(): Promise<void>;
}

export interface Statistics {
  /** Connections at once, at most. */
  readonly most: number;
  /** Connections that were made so far. */
  readonly opened: number;
  readonly requests: number;
}

/** As many as a session of the fleet has. */
const connectionsOfACluster = 4;

export async function startSimulation(round: {
  readonly operators: number;
  readonly list: number;
  readonly dryRun: number;
}): Promise<Simulation> {
  const words = [round.operators, round.list, round.dryRun].map(String);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'simulated-main.ts'), ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => {
    child.on('close', () => resolve());
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    child.on('close', (code) => reject(new Error(`the simulated clusters ended with ${code}`)));
  });
  const { url, authority } = JSON.parse(line) as { url: string; authority: string };
  const budgets = {
    short: new ConnectionBudget(connectionLimits.short),
    watch: new ConnectionBudget(connectionLimits.watch),
  };
  const configOf = (path: string) => ({
    server: `${url}/${path}`,
    source: 'the simulation',
    certificateAuthority: { data: authority },
  });
  const clients = new Map<string, Client>();
  const asker = connect(configOf('statistics'));
  const dryRuns = new Map<string, Set<string>>();

  const noting = (cluster: string): Client => {
    const client = connect(configOf(cluster), { connections: connectionsOfACluster, budgets });
    return {
      ...client,
      async create(resource, object, options) {
        const answer = await client.create(resource, object, options);
        const operators = dryRuns.get(cluster) ?? new Set();
        dryRuns.set(cluster, operators.add(operatorOf(resource.group)));
        return answer;
      },
    };
  };

  return {
    clientOf(cluster) {
      const client = clients.get(cluster) ?? noting(cluster);
      clients.set(cluster, client);
      return client;
    },
    held: () => budgets.short.most + budgets.watch.most,
    async statistics() {
      const { text } = await asker.request({ method: 'GET', path: '/statistics' });
      return JSON.parse(text) as Statistics;
    },
    asked: () => ({
      operators: Math.min(...[...dryRuns.values()].map(({ size }) => size)),
      clusters: dryRuns.size,
    }),
    forget() {
      dryRuns.clear();
    },
    async stop() {
      for (const client of [...clients.values(), asker]) await client.close();
      child.stdin.end();
      await ended;
    },
  };
}
