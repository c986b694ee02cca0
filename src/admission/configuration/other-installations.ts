/**
 * Whether another kidp serves a cluster, asked before a run that is alone joins it: to take over from one that lives would switch its
 * admission off. What is left of a run that has died is not in the way.
 *
 * An installation (its configurations lead to a Service, or name the Lease that its replicas lead by) is one even while none of them
 * runs. A run that is alone lives where the Lease that it reports by is current, unless that was a process of this machine that is
 * gone; or where the bundle in its configurations verifies who answers at the address beside it. Both are asked: clocks may differ, and
 * an address may be out of reach from here.
 */
import { request } from 'node:https';
import { hostname } from 'node:os';
import { readReplicaLease, replicaSelector } from '../../api/index.ts';
import { type Client, ConfigError } from '../../runtime/index.ts';
import { type Lease, leases } from '../../runtime/internal.ts';
import { readConfiguration } from './apply.ts';
import {
  configurationName,
  heldBundle,
  installationAnnotation,
  isOurs,
  phases,
  type WebhookConfiguration,
} from './build.ts';

/** Throws a `ConfigError` that says who serves there, and what to do. */
export async function ensureNoOtherInstallation(client: Client): Promise<void> {
  const found = await Promise.all(phases.map(({ resource }) => readConfiguration(client, resource)));
  const configurations = found.filter((each) => each !== undefined).filter(isOurs);
  for (const configuration of configurations) {
    const installation = installationIn(configuration);
    if (installation !== undefined) throw installed(configuration, installation);
  }
  const { items } = await client.list<Lease>(leases, { labelSelector: replicaSelector });
  for (const lease of items) if (isCurrent(lease, Date.now()) && !hasEndedHere(lease)) throw running(replicaOf(lease));
  for (const configuration of configurations) {
    const { pem } = heldBundle(configuration);
    const url = urlIn(configuration);
    if (url !== undefined && (await answers(url, pem))) throw running(`somebody answers at ${url}`);
  }
}

function installed({ kind }: WebhookConfiguration, installation: string): ConfigError {
  return new ConfigError({
    code: 'installed',
    message: `kidp is installed in this cluster (${kind} ${configurationName} is of ${installation}), and to join it would switch that admission off`,
    hint: 'Use it as it is, or join another cluster; if it is to go, uninstall it first as docs/install.md says, its webhook configurations too',
  });
}

const running = (who: string): ConfigError =>
  new ConfigError({
    code: 'served',
    message: `Another kidp serves this cluster (${who}), and to join it would switch that admission off`,
    hint: 'Stop it first, then start again; if it was killed, that is known half a minute later',
  });

function installationIn({ metadata, webhooks = [] }: WebhookConfiguration): string | undefined {
  const [service] = webhooks.flatMap(({ clientConfig }) =>
    isAddress(clientConfig.service) ? [clientConfig.service] : [],
  );
  if (service !== undefined) return `Service ${service.namespace}/${service.name}`;
  const lease = metadata.annotations?.[installationAnnotation];
  return lease === undefined ? undefined : `the installation whose Lease is ${lease}`;
}

const isAddress = (value: unknown): value is { namespace: string; name: string } =>
  typeof value === 'object' && value !== null;

/** As written by whoever renews it. A clock that is ahead of ours makes it current, which is to err on the safe side. */
const isCurrent = ({ spec }: Lease, now: number): boolean =>
  now < Date.parse(spec?.renewTime ?? '') + (spec?.leaseDurationSeconds ?? 0) * 1000;

/** A replica is known by its machine and its process, where nobody has said otherwise. */
function hasEndedHere(lease: Lease): boolean {
  const here = `${hostname()}-`;
  const identity = readReplicaLease(lease)?.identity ?? '';
  const pid = Number(identity.slice(here.length));
  if (!identity.startsWith(here) || !Number.isSafeInteger(pid) || pid <= 1) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

const replicaOf = ({ metadata, spec }: Lease): string =>
  `replica ${spec?.holderIdentity}, whose Lease ${metadata.namespace}/${metadata.name} was renewed at ${spec?.renewTime}`;

function urlIn({ webhooks = [] }: WebhookConfiguration): string | undefined {
  const url = webhooks[0]?.clientConfig.url;
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}

const patienceMilliseconds = 3_000;

/** Somebody else may have the port by now: only whom the API server would trust there counts. */
function answers(url: string, authorities: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(patienceMilliseconds);
    const asked = request(`${url}/healthz`, { ca: authorities, agent: false, signal }, (response) => {
      response.destroy();
      resolve(true);
    });
    asked.on('error', () => resolve(false));
    asked.end();
  });
}
