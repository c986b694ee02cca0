/** The kube-apiserver process: its files and flags. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Etcd } from './etcd.ts';
import { issueLeaf, type KeyPair } from './pki.ts';
import { manageProcess, type ProcessHandle } from './process.ts';
import { ask, type TlsClient } from './request.ts';
import type { ControlPlaneState } from './state.ts';
import { webhookClientFiles } from './webhook-client.ts';

/** An audit.k8s.io/v1 Policy without its apiVersion and kind. */
export interface AuditPolicy {
  omitStages?: readonly string[];
  omitManagedFields?: boolean;
  rules: readonly Readonly<Record<string, unknown>>[];
}

export interface EncryptionOptions {
  provider: 'aescbc' | 'secretbox';
  /** The encrypted resources, such as `configmaps`, `teams.platform.company.com` or `*.*`; the default is `secrets`. */
  resources?: readonly string[];
  /**
   * The base64 of 32 bytes, needed to read a snapshot of another control plane. By default a key is generated and kept.
   */
  key?: string;
}

interface ApiServerOptions {
  directory: string;
  logFile: string;
  /** The folder for the process identity while the server runs. */
  run: string;
  program: string;
  state: ControlPlaneState;
  etcd: Etcd;
  etcdPrefix: string;
  /** Called at each start. */
  port: () => number;
  admin: () => TlsClient;
  /** The webhooks that are called with a client certificate. */
  webhooks?: readonly string[] | undefined;
  audit?: AuditPolicy | undefined;
  encryption?: EncryptionOptions | undefined;
  /** The address for nodes; without it, loopback only. */
  address?: string | undefined;
  /** Further flags, without leading dashes; they take precedence over the built-in ones. */
  flags: Readonly<Record<string, string>>;
}

/** The addresses of Services. */
export const serviceNetwork = '10.96.0.0/16';
const serviceAddress = '10.96.0.1';
const ownHosts = [
  '127.0.0.1',
  'localhost',
  serviceAddress,
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

export const servingHosts = (address: string | undefined): string[] =>
  address === undefined ? ownHosts : [...ownHosts, address];

export const auditLogIn = (directory: string): string => join(directory, 'audit.log');

/** `prepareApiServer` writes the files of the server and returns its handle without starting it. */
export async function prepareApiServer(options: ApiServerOptions): Promise<ProcessHandle> {
  const files = await writeFiles(options);
  return manageProcess({
    name: 'kube-apiserver',
    run: options.run,
    logFile: options.logFile,
    command: () => ({
      program: options.program,
      arguments: Object.entries({ ...flagsOf(options, files), ...options.flags }).map(
        ([name, value]) => `--${name}=${value}`,
      ),
    }),
    isReady: async () => {
      const base = `https://127.0.0.1:${options.port()}`;
      if ((await ask(options.admin(), `${base}/readyz`)).status !== 200) return false;
      return (await ask(options.admin(), `${base}/api/v1/namespaces/default`)).status === 200;
    },
  });
}

/** The server watches these files and reloads a new pair; each file is replaced atomically. */
export async function writeServingPair(directory: string, pair: KeyPair): Promise<void> {
  for (const [name, content] of [
    ['serving.crt', pair.certificate],
    ['serving.key', pair.key],
  ] as const) {
    const file = join(directory, name);
    await writeFile(`${file}.new`, content, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}

async function writeFiles(options: ApiServerOptions) {
  const { directory, state } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const write = async (name: string, content: string): Promise<string> => {
    const file = join(directory, name);
    await writeFile(file, content, { mode: 0o600 });
    return file;
  };
  await writeServingPair(
    directory,
    issueLeaf(state.servingAuthority, { commonName: 'kube-apiserver', hosts: servingHosts(options.address) }),
  );
  const proxy = issueLeaf(state.frontProxyAuthority, { commonName: 'front-proxy-client' });
  const kubelets = issueLeaf(state.clientAuthority, {
    commonName: 'kube-apiserver-kubelet-client',
    organizations: ['system:masters'],
  });
  return {
    clientAuthority: await write('client-authority.crt', state.clientAuthority.certificate),
    frontProxyAuthority: await write('front-proxy-authority.crt', state.frontProxyAuthority.certificate),
    proxyCertificate: await write('front-proxy-client.crt', proxy.certificate),
    proxyKey: await write('front-proxy-client.key', proxy.key),
    kubeletCertificate: await write('kubelet-client.crt', kubelets.certificate),
    kubeletKey: await write('kubelet-client.key', kubelets.key),
    signingKey: await write('service-account.key', state.serviceAccount.privateKey),
    verifyingKey: await write('service-account.pub', state.serviceAccount.publicKey),
    admission: options.webhooks && (await webhookClientFiles(state, options.webhooks, write)),
    auditPolicy: options.audit && (await write('audit-policy.json', JSON.stringify(auditDocument(options.audit)))),
    encryption:
      options.encryption &&
      (await write(
        'encryption.json',
        JSON.stringify(encryptionDocument(options.encryption, options.encryption.key ?? state.encryptionKey)),
      )),
  };
}

function flagsOf(options: ApiServerOptions, files: Awaited<ReturnType<typeof writeFiles>>): Record<string, string> {
  const { etcd, directory } = options;
  return {
    ...reachability(options.address, files),
    'secure-port': String(options.port()),
    'etcd-servers': etcd.endpoints.join(','),
    'etcd-cafile': etcd.clientFiles.authority,
    'etcd-certfile': etcd.clientFiles.certificate,
    'etcd-keyfile': etcd.clientFiles.key,
    'etcd-prefix': options.etcdPrefix,
    'tls-cert-file': join(directory, 'serving.crt'),
    'tls-private-key-file': join(directory, 'serving.key'),
    'client-ca-file': files.clientAuthority,
    'authorization-mode': 'Node,RBAC',
    'allow-privileged': 'true',
    'service-cluster-ip-range': serviceNetwork,
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': files.verifyingKey,
    'service-account-signing-key-file': files.signingKey,
    'requestheader-client-ca-file': files.frontProxyAuthority,
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': files.proxyCertificate,
    'proxy-client-key-file': files.proxyKey,
    profiling: 'false',
    ...(files.admission === undefined ? {} : { 'admission-control-config-file': files.admission }),
    ...(files.auditPolicy === undefined
      ? {}
      : { 'audit-policy-file': files.auditPolicy, 'audit-log-path': auditLogIn(directory) }),
    ...(files.encryption === undefined ? {} : { 'encryption-provider-config': files.encryption }),
  };
}

function reachability(
  address: string | undefined,
  files: { kubeletCertificate: string; kubeletKey: string },
): Record<string, string> {
  if (address === undefined) {
    return {
      'bind-address': '127.0.0.1',
      'advertise-address': '127.0.0.1',
      // An Endpoints object must not contain a loopback address, and nothing inside the cluster could reach it.
      'endpoint-reconciler-type': 'none',
    };
  }
  return {
    // This machine's own probes use loopback.
    'bind-address': '0.0.0.0',
    'advertise-address': address,
    'endpoint-reconciler-type': 'lease',
    'kubelet-preferred-address-types': 'InternalIP',
    'kubelet-client-certificate': files.kubeletCertificate,
    'kubelet-client-key': files.kubeletKey,
  };
}

function auditDocument(policy: AuditPolicy): unknown {
  return { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...policy };
}

/** `identity` comes last, so that objects written without encryption can still be read. */
function encryptionDocument(options: EncryptionOptions, key: string): unknown {
  return {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: options.resources ?? ['secrets'],
        providers: [{ [options.provider]: { keys: [{ name: 'kidp', secret: key }] } }, { identity: {} }],
      },
    ],
  };
}
