/** A real Kafka with one node on loopback, new or from a directory, with handles to use it and to inject faults. */
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
  /**
   * Keeps the log, the ports and the CA for the next start. Without it, everything is temporary and removed by `stop`.
   */
  directory?: string;
  /** The client port; the default is a free one, which a kept directory remembers. */
  port?: number;
  /** Enables mutual TLS with a CA of its own. Without it, every process on this machine can connect. */
  tls?: boolean;
  /** Further lines of server.properties; they take precedence over the built-in ones. */
  settings?: Readonly<Record<string, string>>;
  /** The source of the jars, and the progress callback. */
  assets?: AssetOptions;
}

/** PEM texts for TLS clients. */
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
  /** Issues a client certificate, with `tls` only; by default it is valid for one year. */
  clientCertificate(name: string, options?: { readonly validMilliseconds?: number }): ClientCertificate;
  /** Sends SIGKILL, like a crash. The log is kept, and `start` continues with it. */
  kill(): Promise<void>;
  /** Starts it again on the same port after `kill`, and waits until it serves. */
  start(): Promise<void>;
  /** Shuts it down gracefully and starts it again. */
  restart(): Promise<void>;
  /** Sends SIGSTOP: it keeps its port and connections but does nothing. */
  pause(): void;
  resume(): void;
  /** Stops it and, without a kept directory, removes everything. */
  stop(): Promise<void>;
}

interface KafkaState {
  authority: KeyPair;
  ports?: KafkaPorts;
}

/**
 * `startKafka` resolves once Kafka serves. It fetches Kafka if needed, and fails with `assets/no-java` or
 * `assets/no-maven` if it cannot.
 */
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
  /** Called before the process starts, so that a failure leaves none behind. */
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
