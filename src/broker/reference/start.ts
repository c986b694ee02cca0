/**
 * A broker, put together: takes requests from Kafka and over HTTP, has a provider carry them out, and reports back. It keeps nothing
 * of its own: end it anywhere, and the next one goes on from the records.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { type Clock, type Logger, systemClock } from '../../runtime/index.ts';
import type { ServingCertificate } from '../../runtime/internal.ts';
import { brokerNamedIn, readEvent } from '../contract/index.ts';
import { IdentityError, type KeyRing, type KeySetAddress, platformVerifier } from '../identity/index.ts';
import {
  consume,
  DeadLetter,
  deadLetterTopicOf,
  type IncomingMessage,
  type KafkaConsumer,
  type KafkaTls,
  kafkaProducer,
  REQUEST_TOPIC,
  STATUS_TOPIC,
} from '../kafka/index.ts';
import { openExecutor } from './executor.ts';
import { openIntake } from './intake.ts';
import { brokerMetrics } from './metrics.ts';
import { sendHeartbeats, sendUsage } from './periodic-reports.ts';
import { NotLeader, type Provider } from './provider.ts';
import { isUnreported, unbilledMeter } from './record.ts';
import { openReporter } from './reporter.ts';
import { statusSender } from './sender.ts';
import { startBrokerServer } from './server.ts';
import type { PriceTable } from './usage.ts';

export interface BrokerOptions {
  /** Of the Broker object. */
  readonly name: string;
  readonly version?: string;
  readonly provider: Provider;
  readonly keys: KeyRing;
  readonly platform: {
    readonly issuer?: string;
    /** Where the platform's keys are fetched from, or the key set itself. */
    readonly jwks: KeySetAddress | (() => object);
    /** Where reports go that have no address of their own, and heartbeats. */
    readonly statusUrl?: string;
    /** PEM: whom to trust there. */
    readonly ca?: string;
    readonly insecureHttp?: boolean;
  };
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
  /** How long what was deleted is remembered: longer than Kafka keeps requests. */
  readonly tombstoneDays?: number;
  readonly ledger?: boolean;
  readonly clock?: Clock;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface RunningBroker {
  readonly url: string | undefined;
  readonly port: number | undefined;
  /** Rejects when this instance must not work any longer: it is to be ended and started anew. */
  readonly ended: Promise<never>;
  /** Resolves once this instance takes requests and carries them out. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

const day = 86_400_000;

export async function startBroker(options: BrokerOptions): Promise<RunningBroker> {
  const { name, version = '0', provider, keys, kafka, clock = systemClock, registry, prices } = options;
  const log = options.log.with({ broker: name });
  const instance = `${hostname()}_${randomUUID().slice(0, 8)}`;
  const now = () => clock.now();
  const keptMilliseconds = (options.tombstoneDays ?? 30) * day;
  const { records, leadership } = provider;
  const metrics = brokerMetrics(registry, {
    leads: () => leadership.isLeader,
    records: () => [...records.all()].length,
  });
  const connection =
    kafka === undefined
      ? undefined
      : { bootstrapServers: kafka.bootstrapServers, tls: kafka.tls, clientId: `kidp-broker-${name}`, log };
  const producer = connection === undefined ? undefined : kafkaProducer(connection);
  const sender = statusSender({
    keys,
    audience: options.platform.issuer ?? 'kidp',
    kafka: producer,
    statusTopic: kafka?.statusTopic ?? STATUS_TOPIC,
    statusUrl: options.platform.statusUrl,
    ca: options.platform.ca,
    insecureHttp: options.platform.insecureHttp,
  });
  const currency = prices?.currency;
  const reporter = openReporter({ broker: name, provider, sender, now, currency, metrics, log });
  const executor = openExecutor({ provider, reporter, instance, now, prices, keptMilliseconds, metrics, log });
  const intake = openIntake({
    records,
    reporter,
    claimed: (uid) => executor.enqueue(uid),
    instance,
    now,
    keptMilliseconds,
    metrics,
    log,
  });
  const verifier = platformVerifier({
    jwks: options.platform.jwks,
    audience: name,
    log,
    clock,
    ...(options.platform.issuer === undefined ? {} : { issuer: options.platform.issuer }),
    ...(options.platform.insecureHttp === undefined ? {} : { insecureHttp: options.platform.insecureHttp }),
  });

  /** Of the requests of all brokers those that are for this one. */
  async function handle({ value, headers }: IncomingMessage): Promise<void> {
    // First of all: what is for another may be of a version that only that one knows.
    const addressee = brokerNamedIn(value);
    if (addressee !== undefined && addressee !== name) return;
    const read = readEvent(value, ['request']);
    if ('problem' in read) {
      const { code, path, message } = read.problem;
      metrics.refused('Kafka', code);
      throw new DeadLetter(`${path}: ${message}`, code);
    }
    const { event } = read;
    try {
      await verifier.signature(value, headers.get('signature') ?? '');
    } catch (error) {
      if (!(error instanceof IdentityError) || error.retryable) throw error;
      metrics.refused('Kafka', error.reason);
      throw new DeadLetter(error.message, error.reason, { cause: error });
    }
    await intake.receive(event, 'Kafka');
  }

  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  // Whoever does not wait for them need not hear of them.
  ready.promise.catch(() => {});
  ended.promise.catch(() => {});
  leadership.lost.addEventListener('abort', () => {
    if (!stopping.signal.aborted) ended.reject(new NotLeader());
  });
  let consumer: KafkaConsumer | undefined;
  const startConsumer = () => {
    if (connection === undefined || kafka === undefined || stopping.signal.aborted) return;
    const topic = kafka.requestTopic ?? REQUEST_TOPIC;
    consumer ??= consume({
      ...connection,
      groupId: `kidp-broker-${name}`,
      topics: [topic],
      deadLetterTopic: deadLetterTopicOf(topic),
      handle,
      ...(kafka.sessionTimeoutMilliseconds === undefined
        ? {}
        : { sessionTimeoutMilliseconds: kafka.sessionTimeoutMilliseconds }),
    });
  };

  await provider.start((uid) => executor.enqueue(uid));
  const pulse = {
    broker: name,
    version,
    provider,
    sender,
    heartbeatMilliseconds: options.heartbeatMilliseconds ?? 15_000,
    usageMilliseconds: options.usageMilliseconds ?? 3_600_000,
    prices,
    clock,
    metrics,
    log,
  };
  const background: Promise<unknown>[] = [sendHeartbeats(pulse, stopping.signal)];

  /** From here on this instance is the one that works. */
  const lead = async (): Promise<void> => {
    await leadership.acquire(stopping.signal);
    records.subscribe((uid) => {
      executor.enqueue(uid);
      const { record } = records.known(uid) ?? {};
      if (record !== undefined && (isUnreported(record) || unbilledMeter(record) !== undefined)) reporter.report(uid);
    });
    executor.start();
    reporter.start();
    startConsumer();
    if (prices !== undefined) background.push(sendUsage(pulse, prices, stopping.signal));
    await consumer?.ready();
    log.info('this instance works', { instance });
    ready.resolve();
  };
  const leading = lead().catch((error: unknown) => {
    ready.reject(error);
    if (!stopping.signal.aborted) ended.reject(error);
  });
  // Where any instance may write a record, any may take requests and answer questions: the one that leads sees what was claimed.
  if (!leadership.exclusive) {
    reporter.start();
    startConsumer();
  }

  const server =
    options.http === undefined
      ? undefined
      : await startBrokerServer({
          broker: name,
          version,
          host: options.http.host ?? '127.0.0.1',
          port: options.http.port ?? 0,
          tls: options.http.tls,
          intake,
          provider,
          verifier,
          keys,
          registry,
          metrics,
          ledger: options.ledger ?? false,
          ready: () => leadership.isLeader || !leadership.exclusive,
          log,
        });

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort(new Error('the broker was stopped'));
    await server?.stop();
    await consumer?.stop();
    await Promise.all([executor.stop(), reporter.stop(), leading, ...background]);
    await leadership.release();
    await provider.stop();
    await Promise.all([sender.close(), producer?.close()]);
  };
  return {
    url: server?.url,
    port: server?.port,
    ended: ended.promise,
    ready: () => ready.promise,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
