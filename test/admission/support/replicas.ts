/** Replicas of the webhook on one port, each a process that can be stopped or killed, and load that goes through the API server. */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../src/runtime/index.ts';
import { lineFrom, type ProcessGroup, startTestProcess } from '../../support/test-process.ts';
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
  processes: ProcessGroup,
): Promise<Replica> {
  const replica = processes.add(
    startTestProcess(`replica ${identity}`, process.execPath, [program], {
      env: {
        ...process.env,
        KUBECONFIG: plane.kubeconfig,
        NAMESPACE: platformNamespace,
        IDENTITY: identity,
        PORT: String(port),
        LEADS: leads ? 'yes' : 'no',
      },
    }),
  );
  let policies: ReadonlySet<string> = new Set();
  if (replica.child.stdout !== null)
    createInterface({ input: replica.child.stdout }).on('line', (line) => {
      const [word, ...names] = line.split(' ');
      if (word === 'policies') policies = new Set(names);
    });
  const [, bound] = await lineFrom(replica, /^listening (\d+)$/);
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => void (await replica.kill(signal));
  return {
    port: Number(bound),
    get policies() {
      return policies;
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
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
