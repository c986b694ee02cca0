/** `kidp broker kubernetes` and `kidp broker kafka`: run a reference broker until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import {
  type BrokerOptions,
  fileKeyStore,
  type KeyRing,
  type KeyStore,
  kafkaProvider,
  kubernetesProvider,
  openKeyRing,
  type Provider,
  secretKeyStore,
  startBroker,
} from '../../broker/index.ts';
import { connect, isAlreadyExists, type Logger, loadKubeconfig, processMetrics } from '../../runtime/index.ts';
import { giveMemoryBack, coreNamespaces as namespaces, reviewedAccess, tokenAccess } from '../../runtime/internal.ts';
import { guardOf } from '../common/allowed-addresses.ts';
import { InputError } from '../common/failure.ts';
import { logOnStandardOutput } from '../common/log.ts';
import { untilStopped } from '../common/stop.ts';
import { version } from '../common/version.ts';
import { kafkaTls, platformKeys, priceTable, readText, servingCertificate } from './files.ts';
import type { BrokerFlags, KafkaBrokerFlags, KubernetesBrokerFlags } from './options.ts';

export async function runKubernetesBroker(flags: KubernetesBrokerFlags): Promise<number> {
  const log = logOnStandardOutput(flags.logLevel);
  const config = loadKubeconfig(flags.kubeconfig === undefined ? {} : { file: flags.kubeconfig });
  const client = connect(config, { userAgent: `kidp-broker/${flags.name}` });
  // With connections of its own: see ElectionOptions.
  const leaseClient = connect(config, { userAgent: `kidp-broker/${flags.name}` });
  const { namespace } = flags;
  try {
    if (flags.keys === undefined) {
      await client
        .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
    }
    const store =
      flags.keys === undefined
        ? secretKeyStore({ client, namespace, name: `kidp-broker-${flags.name}-keys` })
        : fileKeyStore(flags.keys);
    const metricsAccess = reviewedAccess({ client, log });
    return await runBroker(flags, store, log, { metricsAccess }, (keys) =>
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
    await Promise.all([client.close(), leaseClient.close()]);
  }
}

export async function runKafkaBroker(flags: KafkaBrokerFlags): Promise<number> {
  if (flags.keys === undefined) {
    throw new InputError('keys', '--keys FILE is required: it holds the keys of the broker; instances share the file.');
  }
  const log = logOnStandardOutput(flags.logLevel);
  const tls = kafkaTls(flags);
  const { metricsToken: file } = flags;
  const metricsAccess = file === undefined ? undefined : tokenAccess(() => readText(file, '--metrics-token').trim());
  return runBroker(flags, fileKeyStore(flags.keys), log, { metricsAccess }, () =>
    kafkaProvider({
      broker: flags.name,
      bootstrapServers: flags.topicsKafka,
      ...(flags.advertised === undefined ? {} : { advertised: flags.advertised }),
      ...(tls === undefined ? {} : { tls }),
      leaseMilliseconds: flags.lease * 1000,
      log,
    }),
  );
}

/** An instance that has lost the right to work ends, and another begins in its place: nothing of the old one is trusted. */
async function runBroker(
  flags: BrokerFlags,
  store: KeyStore,
  log: Logger,
  more: Pick<BrokerOptions, 'metricsAccess'>,
  open: (keys: KeyRing) => Provider | Promise<Provider>,
): Promise<number> {
  if (flags.kafka === undefined && flags.statusUrl === undefined) {
    throw new InputError(
      'channel',
      'set how reports reach the platform: --kafka HOST:PORT,… or --status-url URL, or both.',
    );
  }
  const { name } = flags;
  const settings = settingsOf(flags);
  const keys = await openKeyRing(store, { issuer: flags.tokenIssuer ?? name, subject: name, log });
  const leaveMemory = giveMemoryBack({ log });
  const stopping = new AbortController();
  const stopped = untilStopped().then((signal) => {
    log.info('stopping', { signal });
    stopping.abort();
  });
  try {
    for (let first = true; !stopping.signal.aborted; first = false) {
      const registry = new Registry();
      processMetrics(registry);
      try {
        const broker = await startBroker({ ...settings, ...more, provider: await open(keys), keys, registry, log });
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
    log.info('stopped');
    return 0;
  } finally {
    leaveMemory();
    keys.close();
  }
}

function settingsOf(flags: BrokerFlags): Omit<BrokerOptions, 'provider' | 'keys' | 'registry' | 'log'> {
  const tls = kafkaTls(flags);
  const certificate = servingCertificate(flags);
  const prices = priceTable(flags.prices);
  return {
    name: flags.name,
    version: version(),
    platform: {
      issuer: flags.issuer,
      jwks: platformKeys(flags),
      ...(flags.statusUrl === undefined ? {} : { statusUrl: flags.statusUrl }),
      ...(flags.platformCa === undefined ? {} : { ca: readText(flags.platformCa, '--platform-ca') }),
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
