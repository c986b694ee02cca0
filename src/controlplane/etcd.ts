/** An etcd with one or three members on loopback. Only clients with a certificate of its own CA can access it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ControlPlaneError } from './errors.ts';
import { issueLeaf, type KeyPair } from './pki.ts';
import { freePort, isFree } from './ports.ts';
import { manageProcess, type ProcessHandle, portWasTaken } from './process.ts';
import type { Program } from './recipes.ts';
import { ask } from './request.ts';

const execute = promisify(execFile);

export interface Etcd {
  /** The members in the order of their names (`etcd-0` …). */
  readonly members: readonly ProcessHandle[];
  /** The client URLs, one per member. */
  readonly endpoints: readonly string[];
  readonly ports: readonly MemberPorts[];
  /** The files with the CA and the credentials for clients. */
  readonly clientFiles: TlsFiles;
  /** Writes a snapshot of the whole keyspace, which `startControlPlane({ restoreFrom })` reads. */
  snapshot(file: string): Promise<void>;
  /**
   * Compacts all history and returns the current revision. The watch cache of the API server still has the events that
   * it saw itself: a watch from an older resourceVersion gets 410 after the API server has been restarted.
   */
  compact(): Promise<number>;
  /** Runs etcdctl against the running members and returns its output. */
  control(...flags: string[]): Promise<string>;
}

interface TlsFiles {
  authority: string;
  certificate: string;
  key: string;
}

export interface MemberPorts {
  client: number;
  peer: number;
}

interface EtcdOptions {
  directory: string;
  logDirectory: string;
  /** The folder for the identity of each member while it runs. */
  run: string;
  members: 1 | 3;
  /** Whether the data is deleted after this run: only then may etcd skip fsync. */
  throwaway: boolean;
  authority: KeyPair;
  ports?: readonly MemberPorts[] | undefined;
  restoreFrom?: string | undefined;
  program: (name: Program) => Promise<string>;
}

/** `startEtcd` resolves once every member serves. */
export async function startEtcd(options: EtcdOptions): Promise<Etcd> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const files = await writeTlsFiles(options);
  const program = await options.program('etcd');
  const fresh = !existsSync(dataDirectory(options, 0));
  for (let attempt = 1; ; attempt++) {
    const ports = await choosePorts(options, fresh);
    const members = ports.map((_, index) => member(options, program, files, ports, index));
    try {
      if (fresh && options.restoreFrom !== undefined) await restore(options, ports, options.restoreFrom);
      await startTogether(members);
      return etcdHandle(options, members, ports, files);
    } catch (error) {
      if (attempt === 5 || !portWasTaken(error)) throw error;
      if (fresh)
        for (const index of ports.keys()) await rm(dataDirectory(options, index), { recursive: true, force: true });
    }
  }
}

/** No member is ready before a majority runs, so all start at once; if one fails, all are stopped. */
async function startTogether(members: readonly ProcessHandle[]): Promise<void> {
  const outcomes = await Promise.allSettled(members.map((each) => each.start()));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure === undefined) return;
  await Promise.all(members.map((each) => each.kill()));
  throw failure.reason;
}

function member(
  options: EtcdOptions,
  program: string,
  files: EtcdFiles,
  ports: readonly MemberPorts[],
  index: number,
): ProcessHandle {
  const own = portsOf(ports, index);
  const client = `https://127.0.0.1:${own.client}`;
  const peer = `https://127.0.0.1:${own.peer}`;
  const flags: Record<string, string> = {
    name: memberName(index),
    'data-dir': dataDirectory(options, index),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': initialCluster(ports),
    'initial-cluster-state': 'new',
    'cert-file': files.server.certificate,
    'key-file': files.server.key,
    'trusted-ca-file': files.server.authority,
    'client-cert-auth': 'true',
    'peer-cert-file': files.server.certificate,
    'peer-key-file': files.server.key,
    'peer-trusted-ca-file': files.server.authority,
    'peer-client-cert-auth': 'true',
    'log-level': 'warn',
  };
  if (options.throwaway) flags['unsafe-no-fsync'] = 'true';
  // With the defaults of 100 ms and 1 s, three members on a busy machine would hold an election after each scheduling
  // delay.
  if (options.members === 3) Object.assign(flags, { 'heartbeat-interval': '300', 'election-timeout': '3000' });
  const probe = {
    authority: options.authority.certificate,
    credentials: issueLeaf(options.authority, { commonName: 'kidp-probe' }),
  };
  return manageProcess({
    name: memberName(index),
    run: options.run,
    logFile: join(options.logDirectory, `${memberName(index)}.log`),
    command: () => ({ program, arguments: Object.entries(flags).map(([name, value]) => `--${name}=${value}`) }),
    isReady: async () => (await ask(probe, `${client}/health`)).status === 200,
  });
}

function etcdHandle(
  options: EtcdOptions,
  members: readonly ProcessHandle[],
  ports: readonly MemberPorts[],
  files: EtcdFiles,
): Etcd {
  const endpoints = ports.map((each) => `https://127.0.0.1:${each.client}`);
  const running = () => endpoints.filter((_, index) => members[index]?.pid !== undefined);

  async function control(reach: readonly string[], flags: readonly string[]): Promise<string> {
    const { authority, certificate, key } = files.client;
    const connection = [
      `--endpoints=${reach.join(',')}`,
      `--cacert=${authority}`,
      `--cert=${certificate}`,
      `--key=${key}`,
    ];
    return run(await options.program('etcdctl'), [...connection, ...flags]);
  }

  return {
    members,
    endpoints,
    ports,
    clientFiles: files.client,
    control: (...flags) => control(running(), flags),
    async snapshot(file) {
      await control(running().slice(0, 1), ['snapshot', 'save', file]);
    },
    async compact() {
      const status = JSON.parse(await control(running().slice(0, 1), ['endpoint', 'status', '--write-out=json']));
      const revision: number = status[0].Status.header.revision;
      await control(running(), ['compact', String(revision)]);
      return revision;
    },
  };
}

/**
 * The revision is raised above any that a client can have seen after the snapshot, and older ones are marked as
 * compacted, so that every watch starts with a new list instead of assuming that nothing changed.
 */
async function restore(options: EtcdOptions, ports: readonly MemberPorts[], snapshot: string): Promise<void> {
  const program = await options.program('etcdutl');
  for (const [index, own] of ports.entries()) {
    await run(program, [
      'snapshot',
      'restore',
      snapshot,
      `--data-dir=${dataDirectory(options, index)}`,
      `--name=${memberName(index)}`,
      `--initial-cluster=${initialCluster(ports)}`,
      `--initial-advertise-peer-urls=https://127.0.0.1:${own.peer}`,
      '--bump-revision=1000000',
      '--mark-compacted',
    ]);
  }
}

async function run(program: string, flags: readonly string[]): Promise<string> {
  try {
    const { stdout } = await execute(program, flags, { maxBuffer: 256 * 1024 * 1024, env: { PATH: process.env.PATH } });
    return stdout;
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim() || String(cause);
    throw new ControlPlaneError({
      code: 'etcd/command-failed',
      message: `${flags.filter((flag) => !flag.startsWith('--')).join(' ')} failed: ${said}`,
      hint: 'Check that a majority of the etcd members runs and that the file can be read and written.',
      cause,
    });
  }
}

/** Members find each other by the peer ports of their first start, so kept data needs the same ports. */
async function choosePorts(options: EtcdOptions, fresh: boolean): Promise<MemberPorts[]> {
  const ports: MemberPorts[] = [];
  for (let index = 0; index < options.members; index++) {
    const kept = options.ports?.[index];
    const client = kept !== undefined && (await isFree(kept.client)) ? kept.client : await freePort();
    if (kept !== undefined && (await isFree(kept.peer))) ports.push({ client, peer: kept.peer });
    else if (kept === undefined || fresh || options.members === 1) ports.push({ client, peer: await freePort() });
    else throw peerPortTaken(options, kept.peer);
  }
  return ports;
}

function peerPortTaken(options: EtcdOptions, port: number): ControlPlaneError {
  return new ControlPlaneError({
    code: 'port/taken',
    message: `port ${port} on 127.0.0.1, by which the etcd members in ${options.directory} know each other, is taken`,
    hint: 'Stop the process that listens there, or start with another directory.',
  });
}

interface EtcdFiles {
  server: TlsFiles;
  client: TlsFiles;
}

async function writeTlsFiles(options: EtcdOptions): Promise<EtcdFiles> {
  const authority = join(options.directory, 'authority.crt');
  await writeFile(authority, options.authority.certificate);
  const write = async (name: string, pair: KeyPair): Promise<TlsFiles> => {
    const files = {
      authority,
      certificate: join(options.directory, `${name}.crt`),
      key: join(options.directory, `${name}.key`),
    };
    await writeFile(files.certificate, pair.certificate);
    await writeFile(files.key, pair.key, { mode: 0o600 });
    return files;
  };
  return {
    server: await write(
      'server',
      issueLeaf(options.authority, { commonName: 'etcd', hosts: ['127.0.0.1', 'localhost'] }),
    ),
    client: await write('client', issueLeaf(options.authority, { commonName: 'kube-apiserver' })),
  };
}

function portsOf(ports: readonly MemberPorts[], index: number): MemberPorts {
  const own = ports[index];
  if (own === undefined) throw new RangeError(`no ports for etcd member ${index}`);
  return own;
}

const memberName = (index: number): string => `etcd-${index}`;
const dataDirectory = (options: EtcdOptions, index: number): string => join(options.directory, memberName(index));
const initialCluster = (ports: readonly MemberPorts[]): string =>
  ports.map((each, index) => `${memberName(index)}=https://127.0.0.1:${each.peer}`).join(',');
