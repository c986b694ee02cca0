/** The Kafka process and its files: storage, certificates and settings. */
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueLeaf, type KeyPair } from '../pki.ts';
import { demandPort, freePort, portOr } from '../ports.ts';
import { manageProcess, type ProcessHandle, portWasTaken } from '../process.ts';
import { type KafkaPorts, nodeId, serverProperties } from './properties.ts';

/** The program to run. */
export interface KafkaProgram {
  java: string;
  /** The working directory, to which paths in the flags are relative. */
  folder: string;
  /** The flags of the JVM, including the class path. */
  flags: readonly string[];
  /** The files of an empty storage. */
  storage: string;
}

interface ServerOptions {
  program: KafkaProgram;
  /** The folder of its files. */
  path: string;
  /** The folder for the process identity while it runs. */
  run: string;
  /** The CA of its certificate and those of its clients; without one there is no TLS. */
  authority: KeyPair | undefined;
  settings?: Readonly<Record<string, string>> | undefined;
  /** The required client port. */
  port?: number | undefined;
  /** The previous ports, which are used if they are still free. */
  ports?: KafkaPorts | undefined;
  /** Called with the process before it starts, so that a failure leaves none behind. */
  onProcess: (handle: ProcessHandle) => void;
}

/** `startServer` resolves once Kafka serves. */
export async function startServer(options: ServerOptions): Promise<{ process: ProcessHandle; ports: KafkaPorts }> {
  const { path, program, settings, authority } = options;
  const storage = join(path, 'storage');
  await prepareStorage(storage, program.storage);
  const tls = authority === undefined ? undefined : await writeTlsFiles(path, authority);
  // The log contains this run only; in a kept directory it would grow forever.
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
  // The offset in the log at which the output of the latest start begins.
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

/** Creates an empty storage with its own identity; an existing one is kept. */
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
  // The certificate is for client and server, because the node connects to itself.
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
