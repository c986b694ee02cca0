/**
 * Assembles and starts a broker: it receives requests through Kafka and HTTP, lets a provider carry them out, and reports back.
 * A broker has no state of its own: after a crash the next instance continues from the records.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { type Clock, type Logger, systemClock } from '../../runtime/index.ts';
import {
  type AddressGuard,
  addressGuard,
  type MetricsAccess,
  type ServingCertificate,
} from '../../runtime/internal.ts';
import { type KeyRing, type KeySetAddress, type PlatformVerifier, platformVerifier } from '../identity/index.ts';
import {
  consume,
  deadLetterTopicOf,
  type KafkaConsumer,
  type KafkaProducer,
  type KafkaTls,
  kafkaProducer,
  REQUEST_TOPIC,
  STATUS_TOPIC,
} from '../kafka/index.ts';
import { Executor } from './executor.ts';
import { type Intake, openIntake } from './intake.ts';
import { type BrokerMetrics, brokerMetrics } from './metrics.ts';
import { sendHeartbeats, sendUsage } from './periodic-reports.ts';
import { NotLeader, type Provider } from './provider.ts';
import { isUnreported, unbilledMeter } from './record.ts';
import { Reporter } from './reporter.ts';
import { requestHandler } from './request-handler.ts';
import { type StatusSender, statusSender } from './sender.ts';
import { type BrokerServer, startBrokerServer } from './server.ts';
import type { PriceTable } from './usage.ts';

export interface BrokerOptions {
  /** The name of the Broker object. */
  readonly name: string;
  readonly version?: string;
  readonly provider: Provider;
  readonly keys: KeyRing;
  readonly platform: {
    readonly issuer?: string;
    /** The address of the platform's key set, or the key set itself. */
    readonly jwks: KeySetAddress | (() => object);
    /** The address for heartbeats, and for reports on requests without `replyTo.statusUrl`. */
    readonly statusUrl?: string;
    /** The certificate authorities trusted there, as PEM; they may change. */
    readonly ca?: () => string | undefined;
    readonly insecureHttp?: boolean;
  };
  /** The guard of connections to the address that a request names for its reports; by default it allows no more than others. */
  readonly guard?: AddressGuard | undefined;
  readonly http?: { readonly host?: string; readonly port?: number; readonly tls?: ServingCertificate };
  readonly kafka?: {
    readonly bootstrapServers: readonly string[];
    readonly tls?: () => KafkaTls;
    readonly requestTopic?: string;
    readonly statusTopic?: string;
    readonly sessionTimeoutMilliseconds?: number;
  };
  readonly heartbeatMilliseconds?: number;
  readonly usageMilliseconds?: number;
  readonly prices?: PriceTable;
  /** How long the record of a deleted object is kept: longer than Kafka retains requests. */
  readonly tombstoneDays?: number;
  readonly ledger?: boolean;
  /** Who may read `/metrics`. Without it, they are not served. */
  readonly metricsAccess?: MetricsAccess | undefined;
  readonly clock?: Clock;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface RunningBroker {
  readonly url: string | undefined;
  readonly port: number | undefined;
  /** Rejects when this instance must not continue: the process must end and be restarted. */
  readonly ended: Promise<never>;
  /** Resolves once this instance is the leader and receives requests. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

const day = 86_400_000;

export async function startBroker(options: BrokerOptions): Promise<RunningBroker> {
  const broker = new BrokerInstance(options, assemble(options));
  await broker.start();
  return broker;
}

/** The parts of a broker, wired together but not started. */
interface BrokerParts {
  readonly log: Logger;
  readonly clock: Clock;
  readonly instance: string;
  readonly metrics: BrokerMetrics;
  readonly producer: KafkaProducer | undefined;
  readonly sender: StatusSender;
  readonly reporter: Reporter;
  readonly executor: Executor;
  readonly intake: Intake;
  readonly verifier: PlatformVerifier;
}

function assemble(options: BrokerOptions): BrokerParts {
  const { name, provider, keys, kafka, platform, clock = systemClock, prices } = options;
  const { records, leadership } = provider;
  const log = options.log.with({ broker: name });
  const instance = `${hostname()}_${randomUUID().slice(0, 8)}`;
  const now = () => clock.now();
  const keptMilliseconds = (options.tombstoneDays ?? 30) * day;
  const metrics = brokerMetrics(options.registry, {
    leads: () => leadership.isLeader,
    records: () => [...records.all()].length,
  });
  const producer = kafka === undefined ? undefined : kafkaProducer(connectionOf(name, kafka, log));
  const sender = statusSender({
    keys,
    audience: platform.issuer ?? 'kidp',
    kafka: producer,
    statusTopic: kafka?.statusTopic ?? STATUS_TOPIC,
    statusUrl: platform.statusUrl,
    ca: platform.ca,
    insecureHttp: platform.insecureHttp,
    guard: options.guard ?? addressGuard(),
  });
  const reporter = new Reporter({ broker: name, provider, sender, now, currency: prices?.currency, metrics, log });
  const executor = new Executor({ provider, reporter, instance, now, prices, keptMilliseconds, metrics, log });
  const claimed = (uid: string) => executor.enqueue(uid);
  const intake = openIntake({ records, reporter, claimed, instance, now, keptMilliseconds, metrics, log });
  const verifier = platformVerifier({
    jwks: platform.jwks,
    audience: name,
    log,
    clock,
    ...(platform.issuer === undefined ? {} : { issuer: platform.issuer }),
    ...(platform.insecureHttp === undefined ? {} : { insecureHttp: platform.insecureHttp }),
  });
  return { log, clock, instance, metrics, producer, sender, reporter, executor, intake, verifier };
}

const connectionOf = (name: string, kafka: NonNullable<BrokerOptions['kafka']>, log: Logger) => ({
  bootstrapServers: kafka.bootstrapServers,
  tls: kafka.tls,
  clientId: `kidp-broker-${name}`,
  log,
});

class BrokerInstance implements RunningBroker {
  readonly #options: BrokerOptions;
  readonly #parts: BrokerParts;
  readonly #stopping = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<never>();
  readonly #background: Promise<unknown>[] = [];
  #consumer: KafkaConsumer | undefined;
  #server: BrokerServer | undefined;
  #leading: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: BrokerOptions, parts: BrokerParts) {
    this.#options = options;
    this.#parts = parts;
    // A caller that does not wait for these promises must not get an unhandled rejection.
    this.#ready.promise.catch(() => {});
    this.#ended.promise.catch(() => {});
    options.provider.leadership.lost.addEventListener('abort', () => {
      if (!this.#stopping.signal.aborted) this.#ended.reject(new NotLeader());
    });
  }

  get url(): string | undefined {
    return this.#server?.url;
  }

  get port(): number | undefined {
    return this.#server?.port;
  }

  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async start(): Promise<void> {
    const { provider } = this.#options;
    const { executor, reporter } = this.#parts;
    await provider.start((uid) => executor.enqueue(uid));
    this.#background.push(sendHeartbeats(this.#periodicReports(), this.#stopping.signal));
    this.#leading = this.#lead().catch((error: unknown) => {
      this.#ready.reject(error);
      if (!this.#stopping.signal.aborted) this.#ended.reject(error);
    });
    // If any instance may write records, any may receive requests and answer queries: the leader sees the claims.
    if (!provider.leadership.exclusive) {
      reporter.start();
      this.#startConsumer();
    }
    this.#server = await this.#serve();
  }

  /** Waits for leadership, then carries out what the records request. */
  async #lead(): Promise<void> {
    const { provider, prices } = this.#options;
    const { executor, reporter, instance, log } = this.#parts;
    const { records, leadership } = provider;
    await leadership.acquire(this.#stopping.signal);
    records.subscribe((uid) => {
      executor.enqueue(uid);
      const { record } = records.known(uid) ?? {};
      if (record !== undefined && (isUnreported(record) || unbilledMeter(record) !== undefined)) reporter.report(uid);
    });
    executor.start();
    reporter.start();
    this.#startConsumer();
    if (prices !== undefined) {
      this.#background.push(sendUsage(this.#periodicReports(), prices, this.#stopping.signal));
    }
    await this.#consumer?.ready();
    log.info('became leader', { instance });
    this.#ready.resolve();
  }

  #startConsumer(): void {
    const { name, kafka } = this.#options;
    if (kafka === undefined || this.#stopping.signal.aborted) return;
    const { verifier, intake, metrics, log } = this.#parts;
    const topic = kafka.requestTopic ?? REQUEST_TOPIC;
    this.#consumer ??= consume({
      ...connectionOf(name, kafka, log),
      groupId: `kidp-broker-${name}`,
      topics: [topic],
      deadLetterTopic: deadLetterTopicOf(topic),
      handle: requestHandler({ broker: name, verifier, intake, metrics }),
      ...(kafka.sessionTimeoutMilliseconds === undefined
        ? {}
        : { sessionTimeoutMilliseconds: kafka.sessionTimeoutMilliseconds }),
    });
  }

  async #serve(): Promise<BrokerServer | undefined> {
    const { name, version = '0', http, provider, keys, registry, ledger = false } = this.#options;
    if (http === undefined) return undefined;
    const { intake, verifier, metrics, log } = this.#parts;
    const { leadership } = provider;
    return startBrokerServer({
      broker: name,
      version,
      host: http.host ?? '127.0.0.1',
      port: http.port ?? 0,
      tls: http.tls,
      intake,
      provider,
      verifier,
      keys,
      registry,
      metrics,
      ledger,
      metricsAccess: this.#options.metricsAccess,
      ready: () => leadership.isLeader || !leadership.exclusive,
      log,
    });
  }

  #periodicReports() {
    const { name, version = '0', provider, heartbeatMilliseconds, usageMilliseconds, prices } = this.#options;
    const { sender, clock, metrics, log } = this.#parts;
    return {
      broker: name,
      version,
      provider,
      sender,
      heartbeatMilliseconds: heartbeatMilliseconds ?? 15_000,
      usageMilliseconds: usageMilliseconds ?? 3_600_000,
      prices,
      clock,
      metrics,
      log,
    };
  }

  async #stop(): Promise<void> {
    const { provider } = this.#options;
    const { executor, reporter, sender, producer } = this.#parts;
    this.#stopping.abort(new Error('the broker was stopped'));
    await this.#server?.stop();
    await this.#consumer?.stop();
    await Promise.all([executor.stop(), reporter.stop(), this.#leading, ...this.#background]);
    await provider.leadership.release();
    await provider.stop();
    await Promise.all([sender.close(), producer?.close()]);
  }
}
