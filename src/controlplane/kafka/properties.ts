/** The server.properties of one Kafka that is broker and controller in one, on loopback, for a machine that has other things to do. */

interface PropertiesOptions {
  /** Where the log is. */
  storage: string;
  ports: KafkaPorts;
  /** Files: the server's key and certificates in one, and the authority whose clients may connect. */
  tls?: { keyStore: string; trustStore: string } | undefined;
  /** More settings; they win over our own. */
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
    // One node cannot hold three copies.
    'default.replication.factor': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.num.partitions': '1',
    // A topic is made on purpose, with the partitions it is to have.
    'auto.create.topics.enable': 'false',
    // By default the first member of a group waits 3 s for others, and none may be given up before 6 s.
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    // After a kill it may come back only when its former life is given up: after 9 s by default.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    // Threads and buffers for a machine that it shares: the defaults are for one of its own.
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
