/**
 * Access to the Kafka that all integration tests share. It starts when the first test needs it (5 s and 250 MB). A test
 * uses its own topics and groups there, and starts its own Kafka (`startKafka`) if it would disturb others.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';
import { ensureTopics, type TopicRequest } from '../../src/broker/index.ts';
import { type Kafka, type KafkaOptions, startKafka } from '../../src/controlplane/index.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { uniqueName } from './cluster.ts';

export { type Kafka, type KafkaOptions, startKafka } from '../../src/controlplane/index.ts';

export interface SharedKafka {
  readonly bootstrapServers: readonly string[];
  /** Creates a topic that no other test uses. */
  makeTopic(prefix: string, options?: Omit<TopicRequest, 'name'>): Promise<string>;
}

export async function useKafka(): Promise<SharedKafka> {
  const answer = await fetch(inject('kafka'));
  if (!answer.ok) throw new Error(`Kafka could not be started: ${await answer.text()}`);
  const { bootstrapServers } = (await answer.json()) as { bootstrapServers: string[] };
  return {
    bootstrapServers,
    async makeTopic(prefix, options = {}) {
      const name = uniqueName(prefix);
      const topics = [{ name, partitions: 3, ...options }];
      await ensureTopics({ bootstrapServers, clientId: 'test', log: silentLogger, topics });
      return name;
    },
  };
}

/** Starts a second broker for a Kafka without TLS: it stores messages, while the first one stays the controller. */
export async function joinKafka(first: Kafka, directory: string, id: number): Promise<Kafka> {
  const lineOf = async (file: string, key: string) =>
    (await readFile(join(first.directory, file), 'utf8')).split('\n').find((line) => line.startsWith(`${key}=`));
  const storage = join(directory, 'storage');
  await mkdir(storage, { recursive: true });
  const identity = ['version=1', await lineOf('storage/meta.properties', 'cluster.id'), `node.id=${id}`];
  await writeFile(join(storage, 'meta.properties'), `${identity.join('\n')}\n`);
  const port = await freePort();
  const [, voters = ''] = (await lineOf('server.properties', 'controller.quorum.voters'))?.split('=') ?? [];
  const settings = {
    'process.roles': 'broker',
    'node.id': String(id),
    'controller.quorum.voters': voters,
    listeners: `CLIENT://127.0.0.1:${port}`,
  };
  return startKafka({ directory, port, settings });
}

/** For the global setup: returns the address of Kafka, and starts it at the first request. */
export async function serveKafka(options: KafkaOptions): Promise<{ url: string; stop(): Promise<void> }> {
  let kafka: Promise<Kafka> | undefined;
  const server = createServer((_request, response) => {
    kafka ??= startKafka(options);
    kafka.then(
      ({ bootstrapServers }) => response.end(JSON.stringify({ bootstrapServers })),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await kafka?.then(
        (running) => running.stop(),
        () => undefined,
      );
    },
  };
}
