/**
 * `kidp clusters add` reads, flattens, tests and seals a kubeconfig on this machine; it is sent only sealed. A server-side dry run comes
 * first, so that a failure leaves nothing behind.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Cluster, cluster as clusterKind, type Environment } from '../../api/index.ts';
import {
  FleetError,
  fetchSealingKey,
  probeKubeconfig,
  readClusterKubeconfig,
  readSealingKey,
  type SealingKey,
  sealedSecret,
  sealedSecretName,
  sealKubeconfig,
  writeKubeconfig,
} from '../../fleet/index.ts';
import {
  type Client,
  type ClusterConfig,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  loadKubeconfig,
} from '../../runtime/index.ts';
import { coreSecrets } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import { withManagement } from '../common/management.ts';
import type { WhereFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';
import { readAndWrite } from './tries.ts';

export interface AddFlags extends WhereFlags {
  readonly from: string;
  readonly fromContext?: string;
  readonly environment?: Environment;
  readonly description?: string;
  readonly contact?: string;
  readonly label?: Record<string, string>;
  readonly namespace: string;
  readonly sealingKey?: string;
  readonly replace?: boolean;
  readonly skipCheck?: boolean;
  readonly dryRun?: boolean;
}

export async function addCluster(name: string, flags: AddFlags, streams: Streams): Promise<number> {
  if (flags.replace !== true && flags.environment === undefined) {
    throw new InputError('option', '--environment is required: Dev, Staging or Production.');
  }
  const kubeconfig = await usableKubeconfig(name, flags, streams);
  await withManagement(flags, async (client) => {
    const key = await sealingKeyFor(client, flags);
    const sealed = await sealKubeconfig(key, name, kubeconfig);
    if (flags.replace === true) await replace(client, name, sealed, flags, streams);
    else await make(client, name, sealed, flags, streams);
  });
  return 0;
}

/** `usableKubeconfig` returns a kubeconfig with one context and inline data, tested against its cluster. */
async function usableKubeconfig(name: string, flags: AddFlags, streams: Streams): Promise<string> {
  const config = await configOf(flags, streams);
  try {
    const kubeconfig = writeKubeconfig(config);
    readClusterKubeconfig(kubeconfig);
    if (flags.skipCheck === true) return kubeconfig;
    const { kubernetesVersion, milliseconds } = await probeKubeconfig(name, kubeconfig);
    streams.err.write(`${name} runs Kubernetes ${kubernetesVersion} and responds in ${milliseconds} ms\n`);
    return kubeconfig;
  } catch (error) {
    if (error instanceof FleetError) throw new InputError('kubeconfig', `${error.message}.`);
    throw error;
  }
}

async function configOf(flags: AddFlags, streams: Streams): Promise<ClusterConfig> {
  const context = flags.fromContext === undefined ? {} : { context: flags.fromContext };
  const config =
    flags.from === '-'
      ? await fromText(await readAll(streams.in), (file) => loadKubeconfig({ file, ...context }))
      : loadKubeconfig({ file: flags.from, ...context });
  const refuse = (what: string, instead: string): never => {
    throw new InputError('kubeconfig', `the kubeconfig has ${what}, which the platform does not support: ${instead}.`);
  };
  if (config.authenticator !== undefined) {
    refuse(
      'an exec plugin or an auth provider',
      'create a service account in the cluster and use its token, or use a client certificate',
    );
  }
  if (config.impersonation !== undefined) refuse('an impersonated user (as)', 'use the credentials of that user');
  if (config.basic !== undefined) refuse('a password', 'use a token or a client certificate');
  if (config.proxyUrl !== undefined) refuse('a proxy (proxy-url)', 'the platform must reach the cluster directly');
  if (config.insecureSkipTlsVerify === true) {
    refuse('insecure-skip-tls-verify', 'set the CA of the cluster in certificate-authority-data');
  }
  return config;
}

async function fromText<Answer>(text: string, use: (file: string) => Answer): Promise<Answer> {
  const directory = await mkdtemp(join(tmpdir(), 'kidp-clusters-'));
  try {
    const file = join(directory, 'kubeconfig');
    await writeFile(file, text, { mode: 0o600 });
    return use(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}

async function sealingKeyFor(client: Client, { sealingKey: file, namespace }: AddFlags): Promise<SealingKey> {
  if (file === undefined) return fetchSealingKey(client, namespace);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError('file', `--sealing-key: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  const key = await readSealingKey(text);
  if (key === undefined) {
    throw new InputError(
      'file',
      `--sealing-key: ${file} does not contain a public key in the form of the ConfigMap kidp-sealing-key.`,
    );
  }
  return key;
}

async function make(client: Client, name: string, sealed: string, flags: AddFlags, streams: Streams): Promise<void> {
  const { environment, description, contact, label, namespace } = flags;
  const secretName = newSecretName(name);
  const secret = sealedSecret(namespace, secretName, sealed);
  const cluster = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Cluster',
    metadata: { name, ...(label === undefined ? {} : { labels: label }) },
    spec: {
      environment,
      ...(description === undefined ? {} : { description }),
      ...(contact === undefined ? {} : { contact }),
      credentials: { secretName },
    },
  } as Cluster;
  await create(client, name, cluster, { dryRun: true });
  if (flags.dryRun === true) {
    streams.out.write(`${stringify(secret)}---\n${stringify(cluster)}`);
    return;
  }
  await client.create(coreSecrets, secret, { fieldManager });
  try {
    await create(client, name, cluster, {});
  } catch (error) {
    await erase(client, namespace, secretName);
    throw error;
  }
  streams.out.write(`cluster ${name} added; see \`kidp clusters status ${name}\`\n`);
}

const fieldManager = 'kidp-cli';

async function create(client: Client, name: string, cluster: Cluster, options: { dryRun?: boolean }): Promise<void> {
  try {
    await client.create(clusterKind.resource, cluster, { fieldManager, fieldValidation: 'Strict', ...options });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new InputError('cluster', `Cluster ${name} already exists: use --replace to replace its kubeconfig.`);
  }
}

async function replace(client: Client, name: string, sealed: string, flags: AddFlags, streams: Streams): Promise<void> {
  const stored = () =>
    client.get<Cluster>(clusterKind.resource, { name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      throw new InputError('cluster', `there is no Cluster ${name}: leave --replace out to add it.`);
    });
  let cluster = await stored();
  const { namespace } = flags;
  const secretName = newSecretName(name);
  const secret = sealedSecret(namespace, secretName, sealed);
  if (flags.dryRun === true) {
    streams.out.write(stringify(secret));
    return;
  }
  await client.create(coreSecrets, secret, { fieldManager });
  try {
    // The Cluster is read again on each try: the Secret to erase is the one that this update replaces.
    await readAndWrite(name, async () => {
      const read = await stored();
      const body = {
        metadata: { resourceVersion: read.metadata.resourceVersion },
        spec: { credentials: { secretName } },
      };
      await client.patch(clusterKind.resource, { name }, { type: 'merge', body }, { fieldManager });
      cluster = read;
    });
  } catch (error) {
    await erase(client, namespace, secretName);
    throw error;
  }
  await erase(client, namespace, sealedSecretName(cluster));
  streams.out.write(`the kubeconfig of ${name} was replaced; see \`kidp clusters status ${name}\`\n`);
}

/** `newSecretName` is always unique, so that adding clusters requires only the permission to create Secrets. */
const newSecretName = (name: string): string => `cluster-${name}-${randomBytes(4).toString('hex')}`;

/** `erase` deletes a Secret. Without permission to do so it does nothing: the platform deletes Secrets without a Cluster. */
async function erase(client: Client, namespace: string, name: string): Promise<void> {
  await client.delete(coreSecrets, { namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
  });
}
