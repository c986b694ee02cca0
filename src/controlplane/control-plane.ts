/** A whole control plane, new or restored from a directory, with handles to use it and to inject faults. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AuditPolicy,
  auditLogIn,
  type EncryptionOptions,
  prepareApiServer,
  servingHosts,
  writeServingPair,
} from './api-server.ts';
import { type AssetOptions, ensureAssets } from './assets.ts';
import { controllerManager, kwok, scheduler } from './components.ts';
import { type ControlPlaneDirectory, openDirectory } from './directory.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { createAuthority, issueLeaf, type KeyKind } from './pki.ts';
import { demandPort, freePort, portOr } from './ports.ts';
import { type ProcessHandle, portWasTaken } from './process.ts';
import type { Program } from './recipes.ts';
import type { TlsClient } from './request.ts';
import { untilServed } from './serving.ts';
import { type ControlPlaneState, loadState, newState, saveState } from './state.ts';
import { type User, type UserFiles, userFiles } from './users.ts';

export interface ControlPlaneOptions {
  /** Keeps the state for the next start. Without it, everything is temporary and removed by `stop`. */
  directory?: string;
  /** Deletes the state of earlier runs in the directory. A control plane that runs there is never touched. */
  reset?: boolean;
  /** The port of the API server; the default is the port of the last run, or any free one. */
  port?: number;
  /** The kind of new keys of the API server and its users: EC P-256, or RSA 2048 like kubeadm. */
  keys?: KeyKind;
  /** The number of etcd members (default 1), or another control plane's etcd with a prefix for this one. */
  etcd?: { members: 1 | 3 } | { shared: Etcd; prefix: string };
  /** A file written by `etcd.snapshot`, whose content the new etcd starts with. */
  restoreFrom?: string;
  controllerManager?: boolean;
  scheduler?: boolean;
  /** The number of nodes that KWOK simulates, with all pods on them; 0 means no KWOK. */
  nodes?: number;
  /**
   * The address of this machine that nodes and other machines of its network reach; the default is loopback only. The API server then
   * calls kubelets with a client certificate.
   */
  address?: string;
  /** The webhooks that are called with a client certificate: `HOST:PORT`, `SERVICE.NAMESPACE.svc[:PORT]`, or `*`. */
  webhooks?: readonly string[];
  audit?: AuditPolicy;
  encryption?: EncryptionOptions;
  /** Further flags of kube-apiserver, without leading dashes; they take precedence over the built-in ones. */
  apiServerFlags?: Readonly<Record<string, string>>;
  /** The source of the programs. */
  assets?: AssetOptions;
}

export interface ControlPlane {
  readonly directory: string;
  /** `https://127.0.0.1:port`, or with `address` */
  readonly url: string;
  /** The CA certificate (PEM) of the API server's current serving certificate. */
  readonly authority: string;
  /** The kubeconfig file of a user in system:masters. */
  readonly kubeconfig: string;
  readonly etcd: Etcd;
  readonly apiServer: ProcessHandle;
  readonly controllerManager: ProcessHandle | undefined;
  readonly scheduler: ProcessHandle | undefined;
  readonly kwok: ProcessHandle | undefined;
  /** The CA certificate (PEM) of the certificate with which the API server calls `webhooks`; undefined without them. */
  readonly webhookAuthority: string | undefined;
  /** The audit log, one JSON event per line, if an audit policy was given. */
  readonly auditLog: string | undefined;
  /** The encryption key in base64, with which another control plane can read an encrypted snapshot of this one. */
  readonly encryptionKey: string;
  /** Writes a kubeconfig file for a user with a client certificate; RBAC decides what the user may do. */
  kubeconfigFor(user: User): Promise<string>;
  /** Gives the API server a new certificate, from the same or a new CA; without a restart unless `restart` is set. */
  replaceServingCertificate(options?: { authority?: 'same' | 'new'; restart?: boolean }): Promise<void>;
  /** Stops every process and, without a kept directory, removes everything. */
  stop(): Promise<void>;
}

/**
 * `startControlPlane` resolves once the API server is ready, the default namespace exists and every requested component
 * works.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  // Assets come before the directory: a long build needs no directory, and a second run can build at the same time.
  await ensureAssets(programsOf(options), options.assets);
  const directory = await openDirectory({
    owner: 'control-plane',
    kept: options.directory,
    reset: options.reset,
  });
  const started: ProcessHandle[] = [];
  let stopped: Promise<void> | undefined;

  async function stopAll(): Promise<void> {
    const inOrder = [...started].reverse();
    // Nobody reads throwaway data again, so there is nothing to wait for.
    if (directory.throwaway) await Promise.all(inOrder.map((each) => each.kill()));
    else for (const each of inOrder) await each.stop();
    await directory.release();
  }
  const stop = () => {
    stopped ??= stopAll();
    return stopped;
  };

  try {
    return await assemble({ options, directory, started, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Assembly {
  options: ControlPlaneOptions;
  directory: ControlPlaneDirectory;
  /**
   * The processes in the order of their start. Each is added before it starts, so that a failure leaves none behind.
   */
  started: ProcessHandle[];
  stop: () => Promise<void>;
}

async function assemble(assembly: Assembly): Promise<ControlPlane> {
  const { options, directory, stop } = assembly;
  const { path, throwaway } = directory;
  // Logs contain this run only; in a kept directory they would grow forever.
  await rm(join(path, 'logs'), { recursive: true, force: true });
  await mkdir(join(path, 'logs'), { mode: 0o700 });
  const state = (await loadState(path)) ?? newState(options.keys);
  if (options.webhooks !== undefined) state.webhookAuthority ??= createAuthority('kidp-webhook-clients', options.keys);
  const save = async () => {
    if (!throwaway) await saveState(path, state);
  };
  await save();
  const etcd = await ownOrSharedEtcd(assembly, state);
  const server = await startApiServer(assembly, state, etcd);
  await save();
  const users = userFiles(join(path, 'kubeconfigs'), state, server.url);
  const parts = await startParts(assembly, state, server, users);

  async function replaceAuthority(): Promise<void> {
    await users.rewrite();
    await writeFile(rootAuthorityIn(path), state.servingAuthority.certificate);
    await save();
    // These components read the CA only when they start.
    for (const part of Object.values(parts)) {
      await part?.kill();
      await part?.start();
    }
  }

  return {
    directory: path,
    url: server.url(),
    get authority() {
      return state.servingAuthority.certificate;
    },
    kubeconfig: await users.kubeconfigFor({ name: 'kidp-admin', groups: ['system:masters'] }),
    etcd,
    apiServer: server.handle,
    ...parts,
    webhookAuthority: options.webhooks === undefined ? undefined : state.webhookAuthority?.certificate,
    auditLog: options.audit === undefined ? undefined : auditLogIn(server.directory),
    encryptionKey: options.encryption?.key ?? state.encryptionKey,
    kubeconfigFor: users.kubeconfigFor,
    async replaceServingCertificate({ authority = 'same', restart = false } = {}) {
      if (authority === 'new') state.servingAuthority = createAuthority('kidp-servers', options.keys);
      const pair = issueLeaf(state.servingAuthority, {
        commonName: 'kube-apiserver',
        hosts: servingHosts(options.address),
      });
      if (restart) await server.handle.stop();
      await writeServingPair(server.directory, pair);
      if (restart) await server.handle.start();
      else await untilServed(server.port(), pair.certificate);
      if (authority === 'new') await replaceAuthority();
    },
    stop,
  };
}

async function ownOrSharedEtcd({ options, directory, started }: Assembly, state: ControlPlaneState): Promise<Etcd> {
  if (options.etcd !== undefined && 'shared' in options.etcd) return options.etcd.shared;
  const etcd = await startEtcd({
    directory: join(directory.path, 'etcd'),
    logDirectory: join(directory.path, 'logs'),
    run: directory.run,
    members: options.etcd?.members ?? 1,
    throwaway: directory.throwaway,
    authority: state.etcdAuthority,
    ports: state.etcdPorts,
    restoreFrom: options.restoreFrom,
    program: async (name) => (await ensureAssets([name], options.assets))[name],
  });
  started.push(...etcd.members);
  state.etcdPorts = etcd.ports;
  return etcd;
}

interface RunningApiServer {
  handle: ProcessHandle;
  directory: string;
  port: () => number;
  url: () => string;
  admin: () => TlsClient;
}

async function startApiServer(assembly: Assembly, state: ControlPlaneState, etcd: Etcd): Promise<RunningApiServer> {
  const { options, directory } = assembly;
  let port = options.port === undefined ? await portOr(state.apiServerPort) : await demandPort(options.port);
  const administrator = issueLeaf(state.clientAuthority, {
    commonName: 'kidp-probe',
    organizations: ['system:masters'],
  });
  const admin = (): TlsClient => ({ authority: state.servingAuthority.certificate, credentials: administrator });
  const own = join(directory.path, 'kube-apiserver');
  const { 'kube-apiserver': program } = await ensureAssets(['kube-apiserver'], options.assets);
  const handle = await prepareApiServer({
    directory: own,
    logFile: join(directory.path, 'logs', 'kube-apiserver.log'),
    run: directory.run,
    program,
    state,
    etcd,
    etcdPrefix: options.etcd !== undefined && 'prefix' in options.etcd ? options.etcd.prefix : '/registry',
    port: () => port,
    admin,
    webhooks: options.webhooks,
    audit: options.audit,
    encryption: options.encryption,
    address: options.address,
    flags: {
      // Without a controller-manager no service accounts are created, which this plugin requires for every pod.
      ...(options.controllerManager === true ? {} : { 'disable-admission-plugins': 'ServiceAccount' }),
      ...options.apiServerFlags,
    },
  });
  assembly.started.push(handle);
  for (let attempt = 1; ; attempt++) {
    try {
      await handle.start();
      state.apiServerPort = port;
      return {
        handle,
        directory: own,
        port: () => port,
        url: () => `https://${options.address ?? '127.0.0.1'}:${port}`,
        admin,
      };
    } catch (error) {
      if (attempt === 5 || options.port !== undefined || !portWasTaken(error)) throw error;
      port = await freePort();
    }
  }
}

type Parts = Pick<ControlPlane, 'controllerManager' | 'scheduler' | 'kwok'>;

async function startParts(
  { options, directory, started }: Assembly,
  state: ControlPlaneState,
  server: RunningApiServer,
  users: UserFiles,
): Promise<Parts> {
  await writeFile(rootAuthorityIn(directory.path), state.servingAuthority.certificate);
  const part = async (name: Program, user: User) => ({
    program: (await ensureAssets([name], options.assets))[name],
    logFile: join(directory.path, 'logs', `${name}.log`),
    run: directory.run,
    kubeconfig: await users.kubeconfigFor(user),
    server: server.url,
    admin: server.admin,
  });
  const parts: { -readonly [name in keyof Parts]: Parts[name] } = {
    controllerManager: undefined,
    scheduler: undefined,
    kwok: undefined,
  };
  if (options.controllerManager === true) {
    parts.controllerManager = controllerManager({
      ...(await part('kube-controller-manager', { name: 'system:kube-controller-manager' })),
      signingKeyFile: join(server.directory, 'service-account.key'),
      rootAuthorityFile: rootAuthorityIn(directory.path),
    });
  }
  if (options.scheduler === true) {
    parts.scheduler = scheduler(await part('kube-scheduler', { name: 'system:kube-scheduler' }));
  }
  if (options.nodes !== undefined && options.nodes > 0) {
    const user = { name: 'kwok', groups: ['system:masters'] };
    parts.kwok = await kwok({ ...(await part('kwok', user)), nodes: options.nodes });
  }
  const present = Object.values(parts).filter((each) => each !== undefined);
  started.push(...present);
  await Promise.all(present.map((each) => each.start()));
  return parts;
}

function programsOf(options: ControlPlaneOptions): Program[] {
  const programs: Program[] = ['etcd', 'kube-apiserver'];
  if (options.controllerManager === true) programs.push('kube-controller-manager');
  if (options.scheduler === true) programs.push('kube-scheduler');
  if (options.nodes !== undefined && options.nodes > 0) programs.push('kwok');
  if (options.restoreFrom !== undefined) programs.push('etcdutl');
  return programs;
}

const rootAuthorityIn = (directory: string): string => join(directory, 'authority.crt');
