/**
 * Detects whether another kidp serves a cluster, before a standalone process joins it: taking over from a running one
 * would disable its admission. Leftovers of a process that has ended are ignored.
 *
 * An installation counts even while none of its replicas runs. Its configurations point to a Service or name its
 * leader-election Lease. A standalone process counts if its replica Lease is current, unless it was a process of this
 * machine that has ended, or if an endpoint verified by the CA bundle in its configurations responds. Both are checked,
 * because clocks may differ and an address might not be reachable from here.
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

/** `ensureNoOtherInstallation` throws a `ConfigError` that names the other installation and the next step. */
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
    if (url !== undefined && (await answers(url, pem))) throw running(`an endpoint responds at ${url}`);
  }
}

function installed({ kind }: WebhookConfiguration, installation: string): ConfigError {
  return new ConfigError({
    code: 'installed',
    message: `kidp is installed in this cluster (${kind} ${configurationName} belongs to ${installation}); joining the cluster would disable that admission webhook`,
    hint: 'Use the existing installation, or join another cluster; to remove it, uninstall it first as described in docs/install.md, including its webhook configurations',
  });
}

const running = (who: string): ConfigError =>
  new ConfigError({
    code: 'served',
    message: `Another kidp serves this cluster (${who}); joining the cluster would disable its admission webhook`,
    hint: 'Stop it first, then start again; if it was killed, its Lease expires after half a minute',
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

/** Reports whether a Lease is current. A clock that is ahead of ours makes a Lease current, which is the safe side. */
const isCurrent = ({ spec }: Lease, now: number): boolean =>
  now < Date.parse(spec?.renewTime ?? '') + (spec?.leaseDurationSeconds ?? 0) * 1000;

/**
 * Reports whether the process behind a Lease ran on this machine and has ended. By default the identity of a replica is
 * its host name and process ID.
 */
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

/** Reports whether an endpoint that the API server would trust responds. Another program may use the port by now. */
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
