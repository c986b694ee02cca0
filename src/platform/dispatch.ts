/**
 * Wires the dispatch of admitted objects to brokers: the keys of the platform, the Kafka and HTTP channels, the status API, the
 * consumers of reports, and the controllers. Every replica accepts reports; only the leader dispatches.
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
import { type AddressGuard, isAllowed } from '../runtime/internal.ts';
import { followReports } from './broker-reports.ts';
import type { Cleanup } from './cleanup.ts';

export interface DispatchOptions {
  /** The platform's name in tokens: the issuer of its own tokens, the audience of tokens of brokers. */
  readonly issuer?: string | undefined;
  /** If unset, brokers are reached over HTTP, or through the Kafka cluster that their Broker names. */
  readonly kafka?:
    | { readonly bootstrapServers: readonly string[]; readonly tls?: (() => KafkaTls) | undefined }
    | undefined;
  readonly statusApi?:
    | {
        readonly host?: string | undefined;
        readonly port?: number | undefined;
        /** If unset, plain HTTP: on this machine, or behind a proxy that terminates TLS. */
        readonly tls?: ServingCertificate | 'webhook' | undefined;
        /** The CA certificates that verify `tls`, if they are not those of the webhook. */
        readonly authorities?: (() => string | undefined) | undefined;
        /** The URL at which brokers reach it; by default the address it listens on. */
        readonly url?: string | undefined;
      }
    | undefined;
  /** Allows tokens over plain HTTP to other machines, for clusters whose mesh encrypts. */
  readonly insecureHttp?: boolean | undefined;
  /** Namespaces that no Team can claim: names, or prefixes that end in `*`. Those of the platform and of exceptions always are. */
  readonly reservedNamespaces?: readonly string[] | undefined;
  readonly settings?: Partial<Settings> | undefined;
}

export interface DispatchParts {
  readonly manager: Manager;
  readonly client: Client;
  readonly source: LivePolicySource;
  readonly platformNamespace: string;
  readonly registry: Registry;
  readonly recorder: EventRecorder;
  readonly guard: AddressGuard;
  /** The certificates of the webhook. */
  readonly certificates: ServingCertificate;
  readonly log: Logger;
}

/** The Secret in the platform's namespace. The Role in manifests/install names it. */
const brokerKeysSecret = 'kidp-broker-keys';

/** `addDispatch` is called before the manager starts. What it adds to the manager stops with it; `cleanup` stops the rest. */
export async function addDispatch(
  parts: DispatchParts,
  options: DispatchOptions,
  cleanup: Cleanup,
): Promise<{ readonly statusApi: StatusApi }> {
  const { manager, client, source, platformNamespace, registry, recorder, guard, log } = parts;
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
    guard,
  });
  const kafkaBrokers = kafkaChannel({ ...kafka, sign: (bytes) => keys.sign(bytes), log, clientId: 'kidp', guard });
  cleanup.add('closing the connections to brokers', async () => {
    await Promise.all([http.close(), kafkaBrokers.close()]);
  });

  const connections = await isAllowed(client, { verb: 'list', group: '', resource: 'secrets' });
  if (!connections) {
    log.warn('no access to Secrets: connection Secrets are not written and dependencies are not bound', {
      next: 'To enable them, apply manifests/connections and restart',
    });
  }
  const platform = addPlatformReconcilers(manager, {
    platformNamespace,
    reservedNamespaces: options.reservedNamespaces,
    exceptionNamespaces: source.options.exceptionNamespaces,
    recorder,
    connections,
  });
  const brokers = () => manager.caches.store<Broker>(brokerKind.resource).list();
  const verifier = brokerVerifier({
    broker: (identity) => findBroker(brokers(), identity),
    audience: issuer,
    log,
    metrics: identityMetrics(registry),
    insecureHttp,
    guard,
  });
  const encryptionKeyOf = brokerEncryption({ insecureHttp, guard });
  const gate = storedGate(source);
  cleanup.add('closing the gate', async () => gate.stop());
  let statusUrl: string | undefined;
  const { sink } = addDeployableReconcilers(manager, {
    dispatcher: dispatcher({ kafka: kafkaBrokers, http, metrics: brokerCallMetrics(registry), log }),
    gate: (kind, object) => gate.ask(kind, object),
    gateChanges: (listener) => gate.subscribe(listener),
    platform: {
      get statusUrl() {
        return statusUrl;
      },
      encryptionKey: () => keys.encryptionKey(),
    },
    connections,
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
    name: 'status API readiness',
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
    tls: tls === 'webhook' ? parts.certificates : tls,
    verifier,
    sink,
    jwks: () => keys.jwks(),
    rateLimit: (name) => brokers().find(({ metadata }) => metadata.name === name)?.spec.rateLimit,
    // Until the Brokers are cached, every report would be rejected as from an unknown broker.
    ready: () => synced,
    registry,
    log,
  });
  statusUrl = `${(url ?? statusApi.url).replace(/\/$/, '')}/v1/status`;
  cleanup.add('stopping the status API', () => statusApi.stop());
  manager.add(followReports({ brokers, caches: manager.caches, kafka, issuer, verifier, sink, guard, registry, log }));
  return { statusApi };
}
