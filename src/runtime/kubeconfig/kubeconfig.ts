/**
 * Where the API server is and what proves who we are: from a kubeconfig or from the pod's service account.
 *
 * Nothing secret is read here but what stands in the kubeconfig itself: files are named, and `credentials` reads them
 * when a connection is made and again when they change. Plain credentials (certificates, tokens, passwords) are parsed
 * with `yaml`; only a user with an exec plugin or an auth provider loads @kubernetes/client-node.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Impersonation } from '../client/client.ts';
import { ConfigError } from '../errors.ts';
import { type Authenticator, authenticatorOf } from './authenticator.ts';
import { isFields, type Kubeconfig, mergeInto, type NamedEntry } from './file.ts';

export type { Authenticator } from './authenticator.ts';

/** A value that stands in the kubeconfig (`data`) or in a file that may be replaced while we run (`file`). */
export type Material = { readonly data: string } | { readonly file: string };

export interface ClusterConfig {
  /** The address of the API server, with a path where it is served behind one. */
  readonly server: string;
  /** What the user would look at to change this: `context "dev" of ~/.kube/config`. */
  readonly source: string;
  /** The namespace of the context, or of the pod. */
  readonly namespace?: string;
  readonly certificateAuthority?: Material;
  readonly clientCertificate?: Material;
  readonly clientKey?: Material;
  readonly token?: Material;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly authenticator?: Authenticator;
  readonly impersonation?: Impersonation;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  /** The kubeconfig files this was read from, and how to read them again: a login writes new credentials into them. */
  readonly origin?: { readonly files: readonly string[]; readonly reload: () => ClusterConfig };
}

export interface KubeconfigOptions {
  /** A kubeconfig file. Without it: $KUBECONFIG, then the pod's service account, then ~/.kube/config. */
  file?: string;
  /** A context other than the current one. */
  context?: string;
  /** Use the pod's service account and nothing else. */
  inCluster?: boolean;
  environment?: Readonly<Record<string, string | undefined>>;
  serviceAccountDirectory?: string;
}

const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * `loadKubeconfig` finds the cluster: the given file, then `KUBECONFIG`, the service account of the Pod, and `~/.kube/config`. It throws
 * a `ConfigError` that says what is wrong and what to do.
 *
 * @example
 * import { loadKubeconfig } from 'kidp/runtime';
 *
 * console.log(loadKubeconfig({ context: 'staging' }).server);
 */
export function loadKubeconfig(options: KubeconfigOptions = {}): ClusterConfig {
  const environment = options.environment ?? process.env;
  const directory = options.serviceAccountDirectory ?? serviceAccountDirectory;
  if (options.inCluster === true) return fromServiceAccount(environment, directory);
  if (options.file !== undefined) return fromFiles([options.file], options.context);
  const listed = (environment.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  if (listed.length > 0) {
    // As kubectl does: names in the list may be missing as long as one is there.
    const present = listed.filter((file) => existsSync(file));
    return fromFiles(present.length > 0 ? present : listed.slice(0, 1), options.context);
  }
  if (environment.KUBERNETES_SERVICE_HOST !== undefined && existsSync(join(directory, 'token'))) {
    return fromServiceAccount(environment, directory);
  }
  const home = join(environment.HOME ?? homedir(), '.kube', 'config');
  if (!existsSync(home)) {
    throw new ConfigError({
      code: 'no-kubeconfig',
      message: `No cluster is configured: KUBECONFIG is not set, ${home} does not exist and this is not a pod`,
      hint: 'Set KUBECONFIG, or name a file with --kubeconfig',
    });
  }
  return fromFiles([home], options.context);
}

function fromServiceAccount(
  environment: Readonly<Record<string, string | undefined>>,
  directory: string,
): ClusterConfig {
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT ?? '443';
  if (host === undefined || host === '') {
    throw new ConfigError({
      code: 'not-in-cluster',
      message: 'This is not a pod: KUBERNETES_SERVICE_HOST is not set',
      hint: 'Outside a cluster, name a kubeconfig instead',
    });
  }
  const token = join(directory, 'token');
  if (!existsSync(token)) {
    throw new ConfigError({
      code: 'no-service-account',
      message: `The pod has no service account token at ${token}`,
      hint: 'Set automountServiceAccountToken: true on the pod or its service account',
    });
  }
  const authority = join(directory, 'ca.crt');
  const namespaceFile = join(directory, 'namespace');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    source: `the pod's service account in ${directory}`,
    token: { file: token },
    ...(existsSync(authority) ? { certificateAuthority: { file: authority } } : {}),
    ...(existsSync(namespaceFile) ? { namespace: readFileSync(namespaceFile, 'utf8').trim() } : {}),
  };
}

function fromFiles(files: readonly string[], wanted: string | undefined): ClusterConfig {
  const merged: Kubeconfig = { clusters: new Map(), users: new Map(), contexts: new Map(), current: undefined };
  for (const file of files) mergeInto(merged, resolve(file));
  const shown = files.join(', ');
  const name = wanted ?? merged.current;
  const available = [...merged.contexts.keys()];
  const choices =
    available.length === 0
      ? 'It has no contexts: add one with "kubectl config set-context"'
      : `Use ${oneOf(available)}`;
  if (name === undefined || name === '') {
    throw new ConfigError({ code: 'no-context', message: `${shown} has no current-context`, hint: choices });
  }
  const context = merged.contexts.get(name);
  if (context === undefined) {
    throw new ConfigError({ code: 'no-such-context', message: `${shown} has no context "${name}"`, hint: choices });
  }
  const cluster = entryOf(merged.clusters, 'cluster', context, shown);
  const user = context.fields.user === undefined ? undefined : entryOf(merged.users, 'user', context, shown);
  return {
    ...clusterConfig({ name, shown, context, cluster, user }),
    origin: { files, reload: () => fromFiles(files, name) },
  };
}

function clusterConfig(input: {
  name: string;
  shown: string;
  context: NamedEntry;
  cluster: NamedEntry;
  user: NamedEntry | undefined;
}): ClusterConfig {
  const { cluster, user } = input;
  const server = text(cluster, 'server');
  if (server === undefined || !/^https?:\/\/./.test(server) || !URL.canParse(server)) {
    throw new ConfigError({
      code: 'no-server',
      message: `The cluster "${cluster.name}" in ${cluster.file} has ${server === undefined ? 'no server address' : `the server address "${server}", which is not an http(s) URL`}`,
      hint: 'Set its "server" to something like https://host:6443',
    });
  }
  const namespace = text(input.context, 'namespace');
  const tlsServerName = text(cluster, 'tls-server-name');
  const proxyUrl = text(cluster, 'proxy-url');
  const authority = material(cluster, 'certificate-authority');
  return {
    server,
    source: `context "${input.name}" of ${input.shown}`,
    ...(namespace === undefined ? {} : { namespace }),
    ...(authority === undefined ? {} : { certificateAuthority: authority }),
    ...(cluster.fields['insecure-skip-tls-verify'] === true ? { insecureSkipTlsVerify: true } : {}),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(user === undefined ? {} : userConfig(user, cluster, input.name)),
  };
}

function userConfig(user: NamedEntry, cluster: NamedEntry, context: string): Partial<ClusterConfig> {
  const clientCertificate = material(user, 'client-certificate');
  const clientKey = material(user, 'client-key');
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new ConfigError({
      code: 'half-a-certificate',
      message: `The user "${user.name}" in ${user.file} has a client ${clientKey === undefined ? 'certificate but no key' : 'key but no certificate'}`,
      hint: 'Set both client-certificate and client-key, or neither',
    });
  }
  const token = text(user, 'token');
  const tokenFile = text(user, 'tokenFile');
  const username = text(user, 'username');
  const as = text(user, 'as');
  const uid = text(user, 'as-uid');
  const groups = user.fields['as-groups'];
  const extra = user.fields['as-user-extra'];
  const exotic = user.fields.exec !== undefined || user.fields['auth-provider'] !== undefined;
  return {
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    ...(clientKey === undefined ? {} : { clientKey }),
    // kubectl prefers the file, because it may be rotated.
    ...(tokenFile !== undefined
      ? { token: { file: existing(user, 'tokenFile', tokenFile) } }
      : token !== undefined
        ? { token: { data: token } }
        : {}),
    ...(username === undefined ? {} : { basic: { username, password: text(user, 'password') ?? '' } }),
    ...(as === undefined
      ? {}
      : {
          impersonation: {
            user: as,
            ...(uid === undefined ? {} : { uid }),
            ...(Array.isArray(groups) ? { groups: groups.map(String) } : {}),
            ...(isFields(extra) ? { extra: extra as Record<string, string[]> } : {}),
          },
        }),
    ...(exotic ? { authenticator: authenticatorOf(user, cluster, context) } : {}),
  };
}

function entryOf(
  entries: Map<string, NamedEntry>,
  what: 'cluster' | 'user',
  context: NamedEntry,
  shown: string,
): NamedEntry {
  const name = text(context, what);
  const entry = name === undefined ? undefined : entries.get(name);
  if (entry !== undefined) return entry;
  throw new ConfigError({
    code: `no-such-${what}`,
    message: `The context "${context.name}" of ${shown} ${name === undefined ? `names no ${what}` : `names the ${what} "${name}", which is not there`}`,
    hint: entries.size === 0 ? `Add a ${what} to it` : `Use ${oneOf([...entries.keys()])}`,
  });
}

function text(entry: NamedEntry, field: string): string | undefined {
  const value = entry.fields[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `<field>-data` (base64) wins over `<field>` (a file), as with kubectl. */
function material(entry: NamedEntry, field: string): Material | undefined {
  const data = text(entry, `${field}-data`);
  if (data !== undefined) return { data: Buffer.from(data, 'base64').toString('utf8') };
  const file = text(entry, field);
  return file === undefined ? undefined : { file: existing(entry, field, file) };
}

function existing(entry: NamedEntry, field: string, path: string): string {
  const absolute = isAbsolute(path) ? path : join(dirname(entry.file), path);
  if (existsSync(absolute)) return absolute;
  throw new ConfigError({
    code: 'missing-file',
    message: `The ${field} of "${entry.name}" in ${entry.file} names ${absolute}, which does not exist`,
    hint: 'Put the file there or correct the path',
  });
}

function oneOf(names: readonly string[]): string {
  const quoted = names.slice(0, 20).map((name) => `"${name}"`);
  const last = quoted.at(-1) ?? '';
  return quoted.length < 2 ? last : `one of ${quoted.slice(0, -1).join(', ')} or ${last}`;
}
