/** A real Kafka of one node on loopback, from nothing or from a directory, and the handles to use it and to hurt it. */
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueLeaf as issueLeafFor } from '../../runtime/index.ts';
import type { AssetOptions } from '../assets.ts';
import { type ControlPlaneDirectory, openDirectory } from '../directory.ts';
import { createAuthority, issueLeaf, type KeyPair } from '../pki.ts';
import { demandPort, freePort, portOr } from '../ports.ts';
import { manageProcess, type ProcessHandle, portWasTaken } from '../process.ts';
import { loadState, saveState } from '../state.ts';
import { ensureKafka, type KafkaAssets } from './assets.ts';
import { type KafkaPorts, nodeId, serverProperties } from './properties.ts';

export interface KafkaOptions {
  /** Where the log, the ports and the authority are kept for the next start; without it everything is temporary and gone after `stop`. */
  directory?: string;
  /** For clients; the default is a free one, and the same one at each start from a kept directory. */
  port?: number;
  /** TLS with an authority of its own, which clients too must have a certificate of. Without it, anybody on this machine may connect. */
  tls?: boolean;
  /** More lines for server.properties; they win over our own. */
  settings?: Readonly<Record<string, string>>;
  /** Where the jars come from, and who is told how far that is. */
  assets?: AssetOptions;
}

/** PEM, as TLS clients want them. */
export interface ClientCertificate {
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
  const assets = await ensureKafka(options.assets);
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
    return await assemble({ options, assets, directory, stop, onProcess: (handle) => (process = handle) });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Assembly {
  options: KafkaOptions;
  assets: KafkaAssets;
  directory: ControlPlaneDirectory;
  stop: () => Promise<void>;
  /** Told before it is started, so that a failure leaves none behind. */
  onProcess: (handle: ProcessHandle) => void;
}

async function assemble({ options, assets, directory, stop, onProcess }: Assembly): Promise<Kafka> {
  const { path, throwaway } = directory;
  const state: KafkaState = (await loadState<KafkaState>(path)) ?? { authority: createAuthority('kidp-kafka') };
  await prepareStorage(join(path, 'storage'), assets.storage);
  const tls = options.tls === true ? await writeTlsFiles(path, state.authority) : undefined;
  await rm(join(path, 'kafka.log'), { force: true });
  const handle = kafkaProcess(assets, directory);
  onProcess(handle);
  const ports = await startOnFreePorts(options, state.ports, async (chosen) => {
    const { settings } = options;
    const text = serverProperties({ storage: join(path, 'storage'), ports: chosen, tls, settings });
    await writeFile(join(path, 'server.properties'), text);
    await handle.start();
  });
  state.ports = ports;
  if (!throwaway) await saveState(path, state);

  return {
    directory: path,
    bootstrapServers: [`127.0.0.1:${ports.client}`],
    process: handle,
    clientCertificate(name, { validMilliseconds = 365 * day } = {}) {
      if (tls === undefined) throw new TypeError('this Kafka was started without TLS');
      const { certificate, key } = issueLeafFor(state.authority, {
        client: { commonName: name },
        now: Date.now(),
        validMilliseconds,
        backdateMilliseconds: day,
      });
      return { ca: state.authority.certificate, cert: certificate, key };
    },
    kill: () => handle.kill(),
    start: () => handle.start(),
    async restart() {
      await handle.stop({ graceMilliseconds: 30_000 });
      await handle.start();
    },
    pause: () => handle.pause(),
    resume: () => handle.resume(),
    stop,
  };
}

const day = 24 * 60 * 60 * 1000;

function kafkaProcess(assets: KafkaAssets, { path, run }: ControlPlaneDirectory): ProcessHandle {
  const logFile = join(path, 'kafka.log');
  // Where in the log the words of the latest start begin.
  let firstByte = 0;
  return manageProcess({
    name: 'kafka',
    run,
    logFile,
    command: () => {
      firstByte = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
      return {
        program: assets.java,
        arguments: [
          '-Xms64m',
          '-Xmx512m',
          // Quick to start and frugal; a broker under test is never hot for long.
          '-XX:TieredStopAtLevel=1',
          '-XX:+UseSerialGC',
          '-XX:+ExitOnOutOfMemoryError',
          `-Dlog4j2.configurationFile=${assets.logSettings}`,
          '-cp',
          assets.classPath,
          'kafka.Kafka',
          join(path, 'server.properties'),
        ],
      };
    },
    isReady: async () => (await readFile(logFile)).subarray(firstByte).includes('Kafka Server started'),
  });
}

/** An empty storage with an identity of its own; one that is there already is left alone. */
async function prepareStorage(storage: string, template: string): Promise<void> {
  if (existsSync(join(storage, 'meta.properties'))) return;
  await mkdir(storage, { recursive: true, mode: 0o700 });
  await copyFile(join(template, 'bootstrap.checkpoint'), join(storage, 'bootstrap.checkpoint'));
  const identity = () => randomBytes(16).toString('base64url');
  const lines = ['version=1', `cluster.id=${identity()}`, `directory.id=${identity()}`, `node.id=${nodeId}`];
  await writeFile(join(storage, 'meta.properties'), `${lines.join('\n')}\n`);
}

async function writeTlsFiles(path: string, authority: KeyPair): Promise<{ keyStore: string; trustStore: string }> {
  const files = { keyStore: join(path, 'server.pem'), trustStore: join(path, 'authority.pem') };
  // Client and server in one: it connects to itself as both.
  const pair = issueLeaf(authority, { commonName: 'kafka', hosts: ['127.0.0.1', 'localhost'] });
  await writeFile(files.keyStore, `${pair.key}\n${pair.certificate}`, { mode: 0o600 });
  await writeFile(files.trustStore, authority.certificate);
  return files;
}

async function startOnFreePorts(
  options: KafkaOptions,
  kept: KafkaPorts | undefined,
  start: (ports: KafkaPorts) => Promise<void>,
): Promise<KafkaPorts> {
  let client = options.port === undefined ? await portOr(kept?.client) : await demandPort(options.port);
  for (let attempt = 1; ; attempt++) {
    const ports = { client, controller: await portOr(attempt === 1 ? kept?.controller : undefined) };
    try {
      await start(ports);
      return ports;
    } catch (error) {
      if (attempt === 5 || !portWasTaken(error)) throw error;
      if (options.port === undefined) client = await freePort();
      else await demandPort(options.port);
    }
  }
}
