/**
 * Consumes the reports of brokers from Kafka, on every replica: one member of the consumer group for each Kafka cluster that a Broker
 * reports through, with the topics that Brokers name. It reacts to Brokers that are added, changed or deleted.
 */
import type { Registry } from 'prom-client';
import { type Broker, broker as brokerKind } from '../api/index.ts';
import {
  type BrokerVerifier,
  consume,
  deadLetterTopicOf,
  ensureTopics,
  type KafkaConsumer,
  type KafkaMetrics,
  type KafkaTls,
  kafkaMetrics,
  platformTopics,
  type ReportSink,
  reportMetrics,
  STATUS_TOPIC,
  statusHandler,
} from '../broker/index.ts';
import { type Logger, type Manager, type Runnable, systemClock } from '../runtime/index.ts';
import { type AddressGuard, sleep } from '../runtime/internal.ts';

interface FollowReportsOptions {
  readonly brokers: () => readonly Broker[];
  readonly caches: Manager['caches'];
  readonly kafka:
    | { readonly bootstrapServers: readonly string[]; readonly tls?: (() => KafkaTls) | undefined }
    | undefined;
  /** The platform's name and consumer group: its replicas share the work; another platform receives every report too. */
  readonly issuer: string;
  readonly verifier: BrokerVerifier;
  readonly sink: ReportSink;
  readonly guard: AddressGuard;
  readonly registry: Registry;
  readonly log: Logger;
}

const retryMilliseconds = 5_000;
/** Brokers that are applied together are handled together. */
const settleMilliseconds = 200;

/** A Kafka cluster and the topics to consume there. */
interface Source {
  readonly bootstrapServers: readonly string[];
  readonly topics: readonly string[];
}

export function followReports(options: FollowReportsOptions): Runnable {
  const { brokers, caches, kafka, log } = options;
  const metrics = kafkaMetrics(options.registry);
  return {
    name: 'broker reports',
    leaderOnly: false,
    async start(signal) {
      const running = new Map<string, Consumption>();
      await caches.synced();
      let changed = new AbortController();
      const unsubscribe = caches.subscribe(
        brokerKind.resource,
        {},
        {
          added: () => changed.abort(),
          updated: () => changed.abort(),
          deleted: () => changed.abort(),
        },
      );
      while (!signal.aborted) {
        changed = new AbortController();
        const wanted = new Map(sourcesOf(brokers(), kafka?.bootstrapServers).map((source) => [idOf(source), source]));
        for (const [id, reading] of running) {
          if (wanted.has(id)) continue;
          running.delete(id);
          await reading.stop();
        }
        for (const [id, source] of wanted) {
          if (!running.has(id)) running.set(id, read(source, options, metrics));
        }
        await sleep(systemClock, 60_000, AbortSignal.any([signal, changed.signal]));
        await sleep(systemClock, settleMilliseconds, signal);
      }
      unsubscribe();
      await Promise.all([...running.values()].map((reading) => reading.stop()));
      log.debug('stopped consuming broker reports');
    },
  };
}

/** The shared cluster is always a source, because a broker may report before its Broker object exists. */
function sourcesOf(brokers: readonly Broker[], shared: readonly string[] | undefined): readonly Source[] {
  const topics = new Map<string, { servers: readonly string[]; topics: Set<string> }>();
  const add = (servers: readonly string[], topic: string) => {
    const id = [...servers].sort().join();
    const known = topics.get(id) ?? { servers, topics: new Set<string>() };
    known.topics.add(topic);
    topics.set(id, known);
  };
  if (shared !== undefined) add(shared, STATUS_TOPIC);
  for (const { spec } of brokers) {
    const servers = spec.kafka.bootstrapServers ?? shared;
    if (spec.channel !== 'HTTP' && servers !== undefined) add(servers, spec.kafka.statusTopic);
  }
  return [...topics.values()].map(({ servers, topics: names }) => ({
    bootstrapServers: servers,
    topics: [...names].sort(),
  }));
}

const idOf = ({ bootstrapServers, topics }: Source): string => JSON.stringify([[...bootstrapServers].sort(), topics]);

const sameServers = (some: readonly string[], others: readonly string[]): boolean =>
  [...some].sort().join() === [...others].sort().join();

interface Consumption {
  stop(): Promise<void>;
}

/** Creates missing topics first, and retries until Kafka answers. */
function read(
  source: Source,
  { kafka, issuer, verifier, sink, guard, registry, log }: FollowReportsOptions,
  metrics: KafkaMetrics,
): Consumption {
  const stopping = new AbortController();
  const { bootstrapServers } = source;
  // The shared cluster is the administrator's own; the others are named by authors of Brokers.
  const isShared = kafka !== undefined && sameServers(bootstrapServers, kafka.bootstrapServers);
  const connection = { bootstrapServers, tls: kafka?.tls, clientId: 'kidp', log, guard: isShared ? undefined : guard };
  const wanted = [
    ...platformTopics,
    ...source.topics.flatMap((name) => [{ name }, { name: deadLetterTopicOf(name), partitions: 1 }]),
  ].filter(({ name }, index, all) => all.findIndex((each) => each.name === name) === index);
  let consumer: KafkaConsumer | undefined;
  const opened = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await ensureTopics({ ...connection, topics: wanted });
        break;
      } catch (error) {
        log.warn('creating topics failed; retrying', { servers: source.bootstrapServers, error });
        await sleep(systemClock, retryMilliseconds, stopping.signal);
      }
    }
    if (stopping.signal.aborted) return;
    consumer = consume({
      ...connection,
      groupId: issuer,
      topics: source.topics,
      deadLetterTopic: deadLetterTopicOf(STATUS_TOPIC),
      handle: statusHandler({ verifier, sink, log, metrics: reportMetrics(registry) }),
      metrics,
    });
  })();
  return {
    async stop() {
      stopping.abort();
      await opened;
      await consumer?.stop();
    },
  };
}
