/**
 * The way to brokers and back, put together: the keys of the platform, Kafka and HTTP, the status API, the consumers of reports, and the
 * controllers that use them. Every replica takes reports; only the one that leads dispatches.
 */
import type { Registry } from 'prom-client';
import { type LivePolicySource, storedGate } from '../admission/index.ts';
import { type Broker, broker as brokerKind } from '../api/index.ts';
import {
  brokerCallMetrics,
  brokerEncryption,
  brokerVerifier,
  DEPLOYMENTS_SCOPE,
  dispatcher,
  encryptTo,
  findBroker,
  httpChannel,
  identityMetrics,
  type KafkaTls,
  kafkaChannel,
  openKeyRing,
  PLATFORM_ISSUER,
  PLATFORM_SUBJECT,
  type ServingCertificate,
  type StatusApi,
  secretKeyStore,
  startStatusApi,
} from '../broker/index.ts';
import { addDeployableReconcilers, addPlatformReconcilers, type Settings } from '../reconcile/index.ts';
import type { Client, EventRecorder, Logger, Manager } from '../runtime/index.ts';
import { followReports } from './broker-reports.ts';
import type { Cleanup } from './cleanup.ts';

export interface DispatchOptions {
  /** The platform's name in tokens: the issuer of its own, the audience of those of brokers. */
  readonly issuer?: string | undefined;
  /** Left out: brokers are reached over HTTP, or by the Kafka that they name themselves. */
  readonly kafka?:
    | { readonly bootstrapServers: readonly string[]; readonly tls?: (() => KafkaTls) | undefined }
    | undefined;
  readonly statusApi?:
    | {
        readonly host?: string | undefined;
        readonly port?: number | undefined;
        /** Left out: plain HTTP, on this machine or behind somebody who encrypts. */
        readonly tls?: ServingCertificate | 'as the webhook' | undefined;
        /** Where brokers find it; left out, where it listens. */
        readonly url?: string | undefined;
      }
    | undefined;
  /** Tokens over plain HTTP beyond this machine: for clusters whose mesh encrypts. */
  readonly insecureHttp?: boolean | undefined;
  readonly settings?: Partial<Settings> | undefined;
}

export interface DispatchParts {
  readonly manager: Manager;
  readonly client: Client;
  readonly source: LivePolicySource;
  readonly platformNamespace: string;
  readonly registry: Registry;
  readonly recorder: EventRecorder;
  /** What the webhook serves with. */
  readonly certificates: ServingCertificate;
  readonly log: Logger;
}

/** In the platform's namespace. The rights in manifests/install name it. */
const brokerKeysSecret = 'kidp-broker-keys';

/** Before the manager starts. What it adds to the manager ends with it; the rest is taken back by `undo`. */
export async function addDispatch(
  parts: DispatchParts,
  options: DispatchOptions,
  cleanup: Cleanup,
): Promise<{ readonly statusApi: StatusApi }> {
  const { manager, client, source, platformNamespace, registry, recorder, log } = parts;
  const { issuer = PLATFORM_ISSUER, kafka, insecureHttp = false } = options;
  const keys = await openKeyRing(secretKeyStore({ client, namespace: platformNamespace, name: brokerKeysSecret }), {
    issuer,
    subject: PLATFORM_SUBJECT,
    log,
  });
  cleanup.add('closing the keys', async () => keys.close());
  const http = httpChannel({
    token: ({ name }) => keys.token({ audience: name, scope: DEPLOYMENTS_SCOPE }),
    insecureHttp,
  });
  const kafkaWay = kafkaChannel({ ...kafka, sign: (bytes) => keys.sign(bytes), log, clientId: 'kidp' });
  cleanup.add('closing the connections to brokers', async () => {
    await Promise.all([http.close(), kafkaWay.close()]);
  });

  const platform = addPlatformReconcilers(manager, { platformNamespace, recorder });
  const brokers = () => manager.caches.store<Broker>(brokerKind.resource).list();
  const verifier = brokerVerifier({
    broker: (identity) => findBroker(brokers(), identity),
    audience: issuer,
    log,
    metrics: identityMetrics(registry),
    insecureHttp,
  });
  const encryptionKeyOf = brokerEncryption({ insecureHttp });
  const gate = storedGate(source);
  cleanup.add('closing the gate', async () => gate.stop());
  let statusUrl: string | undefined;
  const { sink } = addDeployableReconcilers(manager, {
    dispatcher: dispatcher({ kafka: kafkaWay, http, metrics: brokerCallMetrics(registry), log }),
    gate: (kind, object) => gate.ask(kind, object),
    gateChanges: (listener) => gate.subscribe(listener),
    platform: {
      get statusUrl() {
        return statusUrl;
      },
      encryptionKey: () => keys.encryptionKey(),
    },
    decrypt: (jwe) => keys.decrypt(jwe),
    seal: async (name, values) => {
      const object = brokers().find(({ metadata }) => metadata.name === name);
      const key = object === undefined ? undefined : await encryptionKeyOf(object);
      return key === undefined ? undefined : encryptTo(key, values);
    },
    events: platform.events,
    settleCosts: platform.settleCosts,
    registry,
    recorder,
    ...(options.settings === undefined ? {} : { settings: options.settings }),
  });
  let synced = false;
  manager.add({
    name: 'readiness of the status API',
    leaderOnly: false,
    async start() {
      await manager.caches.synced();
      synced = true;
    },
  });
  const { host, port, tls, url } = options.statusApi ?? {};
  const statusApi = await startStatusApi({
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    tls: tls === 'as the webhook' ? parts.certificates : tls,
    verifier,
    sink,
    jwks: () => keys.jwks(),
    rateLimit: (name) => brokers().find(({ metadata }) => metadata.name === name)?.spec.rateLimit,
    // Before the Brokers are known, none of them could be told from a stranger.
    ready: () => synced,
    registry,
    log,
  });
  statusUrl = `${(url ?? statusApi.url).replace(/\/$/, '')}/v1/status`;
  cleanup.add('stopping the status API', () => statusApi.stop());
  manager.add(followReports({ brokers, caches: manager.caches, kafka, issuer, verifier, sink, registry, log }));
  return { statusApi };
}
