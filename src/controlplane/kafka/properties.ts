/** The server.properties of a single Kafka node that is broker and controller, on loopback, on a shared machine. */

interface PropertiesOptions {
  /** The folder of the log. */
  storage: string;
  ports: KafkaPorts;
  /** The file with the server's key and certificates, and the file with the CA of clients. */
  tls?: { keyStore: string; trustStore: string } | undefined;
  /** Further settings; they take precedence over the built-in ones. */
  settings?: Readonly<Record<string, string>> | undefined;
}

export interface KafkaPorts {
  client: number;
  controller: number;
}

export const nodeId = 1;

export function serverProperties({ storage, ports, tls, settings }: PropertiesOptions): string {
  const properties: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': String(nodeId),
    'controller.quorum.voters': `${nodeId}@127.0.0.1:${ports.controller}`,
    listeners: `CLIENT://127.0.0.1:${ports.client},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `CLIENT://127.0.0.1:${ports.client}`,
    'listener.security.protocol.map':
      tls === undefined ? 'CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT' : 'CLIENT:SSL,CONTROLLER:SSL',
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': storage,
    // A single node cannot hold three replicas.
    'default.replication.factor': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.num.partitions': '1',
    // Topics are created explicitly, with their number of partitions.
    'auto.create.topics.enable': 'false',
    // By default the first member of a group waits 3 s for others, and session timeouts below 6 s are rejected.
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    // After a kill, the node can rejoin only after its previous session expires, by default after 9 s.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    // The defaults of threads and buffers are for a dedicated machine.
    'num.network.threads': '2',
    'num.io.threads': '4',
    'background.threads': '2',
    'log.cleaner.dedupe.buffer.size': String(4 * 1024 * 1024),
    'log.index.size.max.bytes': String(1024 * 1024),
    ...(tls === undefined ? {} : tlsProperties(tls)),
    ...settings,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

function tlsProperties({ keyStore, trustStore }: { keyStore: string; trustStore: string }): Record<string, string> {
  return {
    'ssl.client.auth': 'required',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keyStore,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': trustStore,
    'ssl.enabled.protocols': 'TLSv1.3',
  };
}
