/** The process of a Kafka and the files it starts from: storage, certificates, settings. */
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueLeaf, type KeyPair } from '../pki.ts';
import { demandPort, freePort, portOr } from '../ports.ts';
import { manageProcess, type ProcessHandle, portWasTaken } from '../process.ts';
import { type KafkaPorts, nodeId, serverProperties } from './properties.ts';

/** What is run. */
export interface KafkaProgram {
  java: string;
  /** Where it is run: paths in the flags are relative to it. */
  folder: string;
  /** Of the JVM, class path and all. */
  flags: readonly string[];
  /** The files of an empty storage. */
  storage: string;
}

interface ServerOptions {
  program: KafkaProgram;
  /** Where its files are. */
  path: string;
  /** Where it leaves its identity while it runs. */
  run: string;
  /** Signs its certificate and those of its clients; without one there is no TLS. */
  authority: KeyPair | undefined;
  settings?: Readonly<Record<string, string>> | undefined;
  /** That port and no other. */
  port?: number | undefined;
  /** Those it had, if they are still free. */
  ports?: KafkaPorts | undefined;
  /** Called with the process before it is started, so that a failure leaves none behind. */
  onProcess: (handle: ProcessHandle) => void;
}

/** Resolves once it serves. */
export async function startServer(options: ServerOptions): Promise<{ process: ProcessHandle; ports: KafkaPorts }> {
  const { path, program, settings, authority } = options;
  const storage = join(path, 'storage');
  await prepareStorage(storage, program.storage);
  const tls = authority === undefined ? undefined : await writeTlsFiles(path, authority);
  // The log is of this run alone: that of a kept directory would grow for ever.
  await rm(join(path, 'kafka.log'), { force: true });
  const process = kafkaProcess(options);
  options.onProcess(process);
  const ports = await startOnFreePorts(options, async (chosen) => {
    await writeFile(join(path, 'server.properties'), serverProperties({ storage, ports: chosen, tls, settings }));
    await process.start();
  });
  return { process, ports };
}

function kafkaProcess({ program: { java, folder, flags }, path, run }: ServerOptions): ProcessHandle {
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
        program: java,
        directory: folder,
        arguments: [...flags, 'kafka.Kafka', join(path, 'server.properties')],
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
  options: ServerOptions,
  start: (ports: KafkaPorts) => Promise<void>,
): Promise<KafkaPorts> {
  const { ports: kept } = options;
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
