/** A real Kafka of one node on loopback, from nothing or from a directory, and the handles to use it and to hurt it. */
import { issueLeaf } from '../../runtime/internal.ts';
import type { AssetOptions } from '../assets.ts';
import { type ControlPlaneDirectory, openDirectory } from '../directory.ts';
import { createAuthority, type KeyPair } from '../pki.ts';
import type { ProcessHandle } from '../process.ts';
import { loadState, saveState } from '../state.ts';
import { ensureKafka } from './assets.ts';
import type { KafkaPorts } from './properties.ts';
import { type KafkaProgram, startServer } from './server.ts';

export interface KafkaOptions {
  /** Where the log, the ports and the authority are kept for the next start; without it everything is temporary and gone after `stop`. */
  directory?: string;
  /** For clients; the default is a free one, and the same one at each start from a kept directory. */
  port?: number;
  /** TLS with an authority of its own, which clients too must have a certificate of. Without it, anybody on this machine may connect. */
  tls?: boolean;
  /** More lines for server.properties; they win over our own. */
  settings?: Readonly<Record<string, string>>;
  /** The source of the jars, and the progress callback. */
  assets?: AssetOptions;
}

/** PEM, as TLS clients want them. */
interface ClientCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Kafka {
  readonly directory: string;
  /** `127.0.0.1:port` */
  readonly bootstrapServers: readonly string[];
  readonly process: ProcessHandle;
  /** Issues a new certificate for a client, with `tls` only. Good for a year where nothing else is said. */
  clientCertificate(name: string, options?: { readonly validMilliseconds?: number }): ClientCertificate;
  /** SIGKILL, as a crash would. Its log stays: `start` goes on with it. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port, and waits until it serves. */
  start(): Promise<void>;
  /** Ends it in order, and starts it again. */
  restart(): Promise<void>;
  /** SIGSTOP: it holds its port and connections but does nothing. */
  pause(): void;
  resume(): void;
  /** Ends it and, where no directory was given, removes everything. */
  stop(): Promise<void>;
}

interface KafkaState {
  authority: KeyPair;
  ports?: KafkaPorts;
}

/** Resolves once it serves. Fetches it where it is not there yet; fails with `assets/no-java` or `assets/no-maven` where it cannot. */
export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const program = await ensureKafka(options.assets);
  const directory = await openDirectory({ owner: 'kafka', kept: options.directory });
  let process: ProcessHandle | undefined;
  let stopped: Promise<void> | undefined;

  async function stopAll(): Promise<void> {
    // Nobody reads throwaway data again, so there is nothing to wait for.
    if (directory.throwaway) await process?.kill();
    else await process?.stop({ graceMilliseconds: 30_000 });
    await directory.release();
  }
  const stop = () => {
    stopped ??= stopAll();
    return stopped;
  };

  try {
    return await assemble({ options, program, directory, stop, onProcess: (handle) => (process = handle) });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Assembly {
  options: KafkaOptions;
  program: KafkaProgram;
  directory: ControlPlaneDirectory;
  stop: () => Promise<void>;
  /** Called before the process is started, so that a failure leaves none behind. */
  onProcess: (handle: ProcessHandle) => void;
}

async function assemble({ options, program, directory, stop, onProcess }: Assembly): Promise<Kafka> {
  const { path, run, throwaway } = directory;
  const { settings, port, tls = false } = options;
  const state: KafkaState = (await loadState<KafkaState>(path)) ?? { authority: createAuthority('kidp-kafka') };
  const authority = tls ? state.authority : undefined;
  const started = { program, path, run, authority, settings, port, ports: state.ports, onProcess };
  const { process, ports } = await startServer(started);
  state.ports = ports;
  if (!throwaway) await saveState(path, state);

  return {
    directory: path,
    bootstrapServers: [`127.0.0.1:${ports.client}`],
    process,
    clientCertificate(name, { validMilliseconds = 365 * day } = {}) {
      if (!tls) throw new TypeError('this Kafka was started without TLS');
      const { certificate, key } = issueLeaf(state.authority, {
        client: { commonName: name },
        now: Date.now(),
        validMilliseconds,
        backdateMilliseconds: day,
      });
      return { ca: state.authority.certificate, cert: certificate, key };
    },
    kill: () => process.kill(),
    start: () => process.start(),
    async restart() {
      await process.stop({ graceMilliseconds: 30_000 });
      await process.start();
    },
    pause: () => process.pause(),
    resume: () => process.resume(),
    stop,
  };
}

const day = 24 * 60 * 60 * 1000;
