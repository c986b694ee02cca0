/** Replicas of the webhook on one port, each a process that can be stopped or killed, and load that goes through the API server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../src/runtime/index.ts';
import { configMap, configMaps, type Platform, platformNamespace } from './platform.ts';

const program = join(import.meta.dirname, 'replica.ts');

export interface Replica {
  readonly port: number;
  /** The names of the policies it judges by now. */
  readonly policies: ReadonlySet<string>;
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export async function startReplica(
  { plane }: Platform,
  { identity, port = 0, leads = false }: { identity: string; port?: number; leads?: boolean },
): Promise<Replica> {
  const child = spawn(process.execPath, [program], {
    env: {
      ...process.env,
      KUBECONFIG: plane.kubeconfig,
      NAMESPACE: platformNamespace,
      IDENTITY: identity,
      PORT: String(port),
      LEADS: leads ? 'yes' : 'no',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let policies: ReadonlySet<string> = new Set();
  const bound = await portOf(child, (names) => {
    policies = new Set(names);
  });
  const end = (signal: 'SIGTERM' | 'SIGKILL') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  return {
    port: bound,
    get policies() {
      return policies;
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

function portOf(child: ChildProcess, judgesBy: (names: readonly string[]) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return reject(new Error('the replica has no output'));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, port] = /^listening (\d+)$/.exec(line) ?? [];
      if (port !== undefined) resolve(Number(port));
      const [word, ...names] = line.split(' ');
      if (word === 'policies') judgesBy(names);
    });
    child.once('exit', (code) => reject(new Error(`the replica ended with ${code} before it listened`)));
    child.once('error', reject);
  });
}

export interface Load {
  readonly requests: number;
  readonly failures: readonly string[];
  /** Ends it, once each client has had its last answer. */
  stop(): Promise<void>;
}

/** Creations that are only tried, by so many clients, one after the other: hundreds a second, and something left for the rest. */
export function startLoad(client: Client, clients = 8, object = configMap('load', { fine: 'yes' })): Load {
  const failures: string[] = [];
  const load = { requests: 0, running: true };
  const running = Promise.all(
    Array.from({ length: clients }, async () => {
      while (load.running) {
        try {
          await client.create(configMaps, object, { dryRun: true });
        } catch (error) {
          failures.push(error instanceof Error ? error.message : String(error));
        }
        load.requests += 1;
        await sleep(15);
      }
    }),
  );
  return {
    get requests() {
      return load.requests;
    },
    failures,
    async stop() {
      load.running = false;
      await running;
    },
  };
}
