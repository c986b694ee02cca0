/** Gathers the evidence to judge: from the API server, from Kafka and from the witness. */
import { Admin } from '@platformatic/kafka';
import type { DeploymentRecord } from '../../../src/broker/index.ts';
import { topicAdmin } from '../../../src/broker/reference/kafka/admin.ts';
import { committedReader, endOfCommitted } from '../../../src/broker/reference/kafka/committed.ts';
import type { Deployable } from '../../../src/reconcile/index.ts';
import { type Client, type KubernetesObject, silentLogger, systemClock } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import type { Evidence, Thing } from './invariants.ts';
import { KAFKA_BROKER, NAMESPACE, type Stage, THINGS_NAMESPACE, TOPIC_PREFIX } from './stage.ts';
import type { Witness } from './witness.ts';
import { resourceOf, type Workload } from './workload.ts';

interface KubernetesSecret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

const kubernetesSecrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const uidLabel = 'broker.platform.company.com/resource-uid';

export async function gather(stage: Stage, workload: Workload, witness: Witness): Promise<Evidence> {
  const { client, kafka } = stage;
  const lists = await Promise.all(['Secret', 'Topic'].map((kind) => objectsOf(client, kind)));
  const stored = lists.flatMap(({ objects }) => objects);
  const topicRecords = await recordsInKafka(kafka.bootstrapServers);
  const secrets = await secretsMade(client);
  const things = [...secrets.things, ...(await topicsMade(kafka.bootstrapServers, topicRecords))];
  const connections = await connectionsOf(client);
  // The witness must have seen every object read above: a record that it has not seen yet would look like a missing one.
  const newest = Math.max(secrets.revision, ...lists.map(({ revision }) => revision));
  await eventually(() => witness.failure !== undefined || witness.revision() >= newest, { within: 180_000, every: 50 });
  const { records, intents, executions, departures } = witness;
  return {
    expected: [...workload.expected.values()],
    stored,
    records: [...records, ...topicRecords],
    things,
    connections,
    intents,
    executions,
    departures,
  };
}

/** Returns the objects of a kind and the etcd revision of the list. */
async function objectsOf(client: Client, kind: string): Promise<{ objects: Deployable[]; revision: number }> {
  const { items, metadata } = await client.list<Deployable>(resourceOf(kind), { namespace: NAMESPACE });
  return { objects: items.map((object) => ({ ...object, kind })), revision: Number(metadata.resourceVersion) };
}

async function secretsMade(client: Client): Promise<{ things: Thing[]; revision: number }> {
  const list = await client.list<KubernetesSecret>(kubernetesSecrets, { namespace: THINGS_NAMESPACE });
  const things = list.items.map(({ metadata, data = {} }) => ({
    uid: metadata.labels?.[uidLabel],
    name: `Secret ${metadata.name}`,
    shape: { keys: Object.keys(data) },
  }));
  return { things, revision: Number(list.metadata.resourceVersion) };
}

async function connectionsOf(client: Client): Promise<Map<string, string[]>> {
  const { items } = await client.list<KubernetesSecret>(kubernetesSecrets, { namespace: NAMESPACE });
  return new Map(
    items.flatMap(({ metadata, data = {} }) =>
      (metadata.ownerReferences ?? []).map(({ uid }) => [uid, Object.keys(data)] as const),
    ),
  );
}

const connection = (bootstrapServers: readonly string[]) => ({
  bootstrapServers,
  clientId: 'chaos',
  log: silentLogger,
});

/** Kafka does not know the owner of a topic; the newest record that names the topic does. */
async function topicsMade(bootstrapServers: readonly string[], records: readonly DeploymentRecord[]): Promise<Thing[]> {
  const admin = topicAdmin(connection(bootstrapServers));
  const lister = new Admin({ clientId: 'chaos', bootstrapBrokers: [...bootstrapServers] });
  try {
    const names = (await lister.listTopics()).filter((name) => name.startsWith(TOPIC_PREFIX));
    const owners = new Map(records.map(({ uid, notes }) => [notes.topic, uid]));
    return [...(await admin.read(names))].map(([name, { partitions, config }]) => ({
      uid: owners.get(name),
      name: `topic ${name}`,
      shape: { partitions, config },
    }));
  } finally {
    await lister.close();
    await admin.close();
  }
}

/** Returns every state of every record: a run is too short for the topic to be compacted. */
async function recordsInKafka(bootstrapServers: readonly string[]): Promise<DeploymentRecord[]> {
  const log = { ...connection(bootstrapServers), topic: `kidp-broker-records-${KAFKA_BROKER}` };
  const next = await endOfCommitted(log);
  const records: DeploymentRecord[] = [];
  const reader = committedReader({ ...log, clock: systemClock });
  const done = new AbortController();
  const reading = reader.read(done.signal, ({ value }) => {
    const text = value?.toString('utf8') ?? '';
    if (text.startsWith('{"version":1')) records.push(JSON.parse(text) as DeploymentRecord);
  });
  try {
    await eventually(() => reader.position >= next, { within: 180_000, every: 50 });
  } finally {
    done.abort();
    await reading;
  }
  return records;
}
