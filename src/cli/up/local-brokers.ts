/**
 * The brokers of a local cluster: one deploys into the cluster itself and, if there is a Kafka, one creates topics. Each is the same as
 * `kidp broker` runs, with its Broker and its DeploymentTarget.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { API_VERSION, broker, deploymentTarget } from '../../api/index.ts';
import {
  fileKeyStore,
  kafkaProvider,
  kubernetesProvider,
  openKeyRing,
  type Provider,
  type StatusApi,
  startBroker,
} from '../../broker/index.ts';
import type { Cleanup } from '../../platform/index.ts';
import { type Client, type ClusterConfig, connect, type KubernetesObject, silentLogger } from '../../runtime/index.ts';
import { type AddressGuard, reviewedAccess } from '../../runtime/internal.ts';

interface LocalBrokersOptions {
  /** Registers the brokers. */
  readonly client: Client;
  /** The identity of the broker that deploys into this cluster. */
  readonly config: ClusterConfig;
  /** The directory that keeps their keys between runs. */
  readonly directory: string;
  readonly statusApi: StatusApi;
  /** The guard of the platform, which allows just the ports of these brokers. */
  readonly guard: AddressGuard;
  readonly kafka: { readonly bootstrapServers: readonly string[] } | undefined;
}

/** One namespace for both, unlike the installation in docs/brokers.md. */
const namespace = 'kidp-brokers';

export async function startLocalBrokers(options: LocalBrokersOptions, cleanup: Cleanup): Promise<void> {
  const { config, kafka } = options;
  const client = connect(config);
  cleanup.add('closing the connection of the broker', () => client.close());
  await startOne(options, cleanup, {
    name: 'local',
    provider: 'onprem',
    capabilities: ['Database', 'Service', 'Cache', 'Secret'],
    with(decrypt) {
      const leaseClient = connect(config);
      cleanup.add('closing the Lease connection of the broker', () => leaseClient.close());
      const parts = { broker: 'local', client, leaseClient, namespace, decrypt, managementCluster: true };
      return kubernetesProvider({ ...parts, log: silentLogger });
    },
  });
  if (kafka === undefined) return;
  await startOne(options, cleanup, {
    name: 'local-kafka',
    provider: 'kafka',
    capabilities: ['Topic'],
    with: () => kafkaProvider({ broker: 'local-kafka', ...kafka, log: silentLogger }),
  });
}

interface LocalBroker {
  /** The name of the Broker and of the DeploymentTarget that it serves. */
  readonly name: string;
  readonly provider: string;
  readonly capabilities: readonly string[];
  with(decrypt: (jwe: string) => Promise<Record<string, string>>): Provider | Promise<Provider>;
}

async function startOne(
  { client, directory, statusApi, guard, kafka }: LocalBrokersOptions,
  cleanup: Cleanup,
  { name, provider, capabilities, ...local }: LocalBroker,
): Promise<void> {
  const keys = await openKeyRing(fileKeyStore(join(directory, `broker-${name}.keys`)), { issuer: name, subject: name });
  cleanup.add(`closing the keys of the broker ${name}`, async () => keys.close());
  const jwks = { url: new URL('/.well-known/jwks.json', statusApi.url).href };
  const metricsAccess = reviewedAccess({ client, log: silentLogger });
  const start = async (port?: number) =>
    startBroker({
      name,
      provider: await local.with((jwe) => keys.decrypt(jwe)),
      keys,
      platform: { jwks, statusUrl: `${statusApi.url}/v1/status` },
      http: port === undefined ? {} : { port },
      ...(kafka === undefined ? {} : { kafka }),
      registry: new Registry(),
      metricsAccess,
      log: silentLogger,
    });
  let running = await start();
  const { url, port } = running;
  guard.allow(`127.0.0.1:${port}`);
  let stopping = false;
  cleanup.add(`stopping the broker ${name}`, () => {
    stopping = true;
    return running.stop();
  });
  // A broker that lost its Lease, as after the machine slept, ends and is replaced by a new one.
  const restartOnEnd = (): void =>
    void running.ended.catch(async () => {
      await running.stop().catch(() => undefined);
      while (!stopping) {
        try {
          running = await start(port);
          return restartOnEnd();
        } catch {
          await sleep(1_000);
        }
      }
    });
  restartOnEnd();
  const apply = (kind: typeof broker | typeof deploymentTarget, spec: object) =>
    client.apply(
      kind.resource,
      { apiVersion: API_VERSION, kind: kind.kind, metadata: { name }, spec } as KubernetesObject,
      {
        fieldManager: 'kidp-up',
        force: true,
      },
    );
  await apply(broker, {
    channel: kafka === undefined ? 'HTTP' : 'Both',
    endpoint: url,
    capabilities,
    identity: { jwksUri: `${url}/.well-known/jwks.json`, scopes: ['status:write'] },
  });
  await apply(deploymentTarget, { provider, brokerRef: { name } });
}
