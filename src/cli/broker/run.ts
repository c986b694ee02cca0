/** `kidp broker kubernetes` and `kidp broker kafka`: run a reference broker until it is stopped. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import {
  type BrokerOptions,
  fileKeyStore,
  followPlatformAuthorities,
  type KeyRing,
  type KeyStore,
  kafkaProvider,
  kubernetesProvider,
  openKeyRing,
  type Provider,
  registerBroker,
  secretKeyStore,
  startBroker,
} from '../../broker/index.ts';
import {
  type Client,
  type ClusterConfig,
  connect,
  isAlreadyExists,
  isNotFound,
  type Logger,
  loadKubeconfig,
  processMetrics,
} from '../../runtime/index.ts';
import { giveMemoryBack, coreNamespaces as namespaces, reviewedAccess, tokenAccess } from '../../runtime/internal.ts';
import { guardOf } from '../common/address-guard.ts';
import { InputError } from '../common/failure.ts';
import { logOnStandardOutput } from '../common/log.ts';
import { version } from '../common/manifest.ts';
import { untilStopped } from '../common/stop.ts';
import { kafkaTls, platformKeys, priceTable, readText, servingCertificate } from './files.ts';
import type { BrokerFlags, KafkaBrokerFlags, KubernetesBrokerFlags } from './options.ts';

export async function runKubernetesBroker(flags: KubernetesBrokerFlags): Promise<number> {
  const log = logOnStandardOutput(flags.logLevel);
  return withCluster(flags, async (client, config) => {
    // With connections of its own: see ElectionOptions.
    const leaseClient = connect(config, { userAgent: userAgent(flags) });
    const { namespace } = flags;
    try {
      if (flags.keys === undefined) await ensureNamespace(client, namespace);
      const store = flags.keys === undefined ? secretStore(flags, client) : fileKeyStore(flags.keys);
      const metricsAccess = reviewedAccess({ client, log });
      return await runBroker(flags, { store, client, metricsAccess }, log, (keys) =>
        kubernetesProvider({
          broker: flags.name,
          client,
          leaseClient,
          namespace,
          decrypt: (jwe) => keys.decrypt(jwe),
          managementCluster: flags.managementCluster ?? false,
          images: flags.image ?? {},
          leaseMilliseconds: flags.lease * 1000,
          log,
        }),
      );
    } finally {
      await leaseClient.close();
    }
  });
}

export async function runKafkaBroker(flags: KafkaBrokerFlags): Promise<number> {
  const log = logOnStandardOutput(flags.logLevel);
  const tls = kafkaTls(flags);
  const open = () =>
    kafkaProvider({
      broker: flags.name,
      bootstrapServers: flags.topicsKafka,
      ...(flags.advertised === undefined ? {} : { advertised: flags.advertised }),
      ...(tls === undefined ? {} : { tls }),
      leaseMilliseconds: flags.lease * 1000,
      log,
    });
  const { metricsToken: file } = flags;
  const tokens = file === undefined ? undefined : tokenAccess(() => readText(file, '--metrics-token').trim());
  if (flags.register === undefined && flags.platformCaConfigmap === undefined) {
    if (flags.keys === undefined) {
      throw new InputError(
        'keys',
        '--keys FILE is required without --register: it holds the keys of the broker; instances share the file.',
      );
    }
    return runBroker(flags, { store: fileKeyStore(flags.keys), metricsAccess: tokens }, log, open);
  }
  return withCluster(flags, (client) => {
    const store = flags.keys === undefined ? secretStore(flags, client) : fileKeyStore(flags.keys);
    const metricsAccess = tokens ?? reviewedAccess({ client, log });
    return runBroker(flags, { store, client, metricsAccess }, log, open);
  });
}

const userAgent = ({ name }: BrokerFlags): string => `kidp-broker/${name}`;

async function withCluster(
  flags: BrokerFlags,
  use: (client: Client, config: ClusterConfig) => Promise<number>,
): Promise<number> {
  const config = loadKubeconfig(flags.kubeconfig === undefined ? {} : { file: flags.kubeconfig });
  const client = connect(config, { userAgent: userAgent(flags) });
  try {
    return await use(client, config);
  } finally {
    await client.close();
  }
}

const secretStore = ({ name, namespace }: BrokerFlags, client: Client): KeyStore =>
  secretKeyStore({ client, namespace, name: `kidp-broker-${name}-keys` });

/** A broker of an installation need not be allowed to create its namespace, which is there. */
async function ensureNamespace(client: Client, name: string): Promise<void> {
  const found = await client.get(namespaces, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  if (found !== undefined) return;
  await client
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
}

interface BrokerParts extends Pick<BrokerOptions, 'metricsAccess'> {
  readonly store: KeyStore;
  /** The cluster to register in. */
  readonly client?: Client;
}

/** An instance that has lost the right to work ends, and another begins in its place: nothing of the old one is trusted. */
async function runBroker(
  flags: BrokerFlags,
  { store, client, metricsAccess }: BrokerParts,
  log: Logger,
  open: (keys: KeyRing) => Provider | Promise<Provider>,
): Promise<number> {
  if (flags.kafka === undefined && flags.statusUrl === undefined) {
    throw new InputError(
      'channel',
      'set how reports reach the platform: --kafka HOST:PORT,… or --status-url URL, or both.',
    );
  }
  const { name } = flags;
  const files = settingsOf(flags);
  const keys = await openKeyRing(store, { issuer: flags.tokenIssuer ?? name, subject: name, log });
  const leaveMemory = giveMemoryBack({ log });
  const stopping = new AbortController();
  const stopped = untilStopped().then((signal) => {
    log.info('stopping', { signal });
    stopping.abort();
  });
  const undo: (() => Promise<void>)[] = [];
  try {
    const settings = await inCluster(flags, files, { client, keys, log, signal: stopping.signal, undo });
    for (let first = true; !stopping.signal.aborted; first = false) {
      const registry = new Registry();
      processMetrics(registry);
      try {
        const broker = await startBroker({
          ...settings,
          metricsAccess,
          provider: await open(keys),
          keys,
          registry,
          log,
        });
        log.info('serving', { broker: name, url: broker.url });
        const ended = broker.ended.catch((error: unknown) => log.warn('broker ended; restarting', { error }));
        await Promise.race([stopped, ended]);
        await broker.stop();
      } catch (error) {
        if (first) throw error;
        log.error('cannot begin, trying again', { error });
        await sleep(2_000, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  } catch (error) {
    // Stopped while it waited for the platform.
    if (!stopping.signal.aborted) throw error;
  } finally {
    for (const step of undo) await step().catch(() => undefined);
    leaveMemory();
    keys.close();
  }
  log.info('stopped');
  return 0;
}

interface InCluster {
  readonly client: Client | undefined;
  readonly keys: KeyRing;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly undo: (() => Promise<void>)[];
}

/** Adds what comes from the cluster: the CA of the platform, and the certificate that the broker registers with. */
async function inCluster(
  { name, namespace, register, platformCaConfigmap }: BrokerFlags,
  files: Settings,
  { client, keys, log, signal, undo }: InCluster,
): Promise<Settings> {
  if (client === undefined) return files;
  let { platform, http } = files;
  if (register !== undefined) {
    const identity = `${hostname()}-${process.pid}`;
    const tls = await registerBroker({ client, broker: name, namespace, host: register, identity, keys, log });
    undo.push(() => tls.stop());
    http = { ...http, tls };
  }
  if (platformCaConfigmap !== undefined) {
    const [of = '', map = ''] = platformCaConfigmap.split('/');
    const authorities = await followPlatformAuthorities({ client, namespace: of, name: map, signal, log });
    undo.push(() => authorities.stop());
    platform = { ...platform, ca: authorities.current, jwks: trusting(platform.jwks, authorities.current) };
  }
  return { ...files, platform, ...(http === undefined ? {} : { http }) };
}

/** The address of a key set with CA certificates that may change. */
const trusting = (jwks: BrokerOptions['platform']['jwks'], ca: () => string): BrokerOptions['platform']['jwks'] =>
  typeof jwks === 'function'
    ? jwks
    : {
        url: jwks.url,
        get caBundle() {
          return ca();
        },
      };

type Settings = Omit<BrokerOptions, 'provider' | 'keys' | 'registry' | 'log'>;

function settingsOf(flags: BrokerFlags): Settings {
  const tls = kafkaTls(flags);
  const certificate = servingCertificate(flags);
  const prices = priceTable(flags.prices);
  const platformCa = flags.platformCa === undefined ? undefined : readText(flags.platformCa, '--platform-ca');
  checkRegistration(flags);
  return {
    name: flags.name,
    version: version(),
    platform: {
      issuer: flags.issuer,
      jwks: platformKeys(flags),
      ...(flags.statusUrl === undefined ? {} : { statusUrl: flags.statusUrl }),
      ...(platformCa === undefined ? {} : { ca: () => platformCa }),
      ...(flags.insecureHttp === undefined ? {} : { insecureHttp: flags.insecureHttp }),
    },
    guard: guardOf(flags),
    http: { host: flags.host, port: flags.port, ...(certificate === undefined ? {} : { tls: certificate }) },
    ...(flags.kafka === undefined
      ? {}
      : {
          kafka: {
            bootstrapServers: flags.kafka,
            ...(tls === undefined ? {} : { tls }),
            requestTopic: flags.requestTopic,
            statusTopic: flags.statusTopic,
          },
        }),
    heartbeatMilliseconds: flags.heartbeat * 1000,
    usageMilliseconds: flags.usageInterval * 1000,
    ...(prices === undefined ? {} : { prices }),
    tombstoneDays: flags.tombstones,
    ledger: flags.debugLedger ?? false,
  };
}

function checkRegistration({ register, platformCa, platformCaConfigmap, tlsCert }: BrokerFlags): void {
  if (register !== undefined && tlsCert !== undefined) {
    throw new InputError(
      'register',
      'set either --register or --tls-cert: a broker that registers has a CA of its own.',
    );
  }
  if (register !== undefined && !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(register)) {
    throw new InputError('register', `--register is "${register}", want the host name in spec.endpoint of the Broker.`);
  }
  if (platformCaConfigmap === undefined) return;
  if (platformCa !== undefined) {
    throw new InputError('platform-ca', 'set either --platform-ca or --platform-ca-configmap, not both.');
  }
  if (!/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/.test(platformCaConfigmap)) {
    throw new InputError('platform-ca', `--platform-ca-configmap is "${platformCaConfigmap}", want NAMESPACE/NAME.`);
  }
}
