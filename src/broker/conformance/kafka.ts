/**
 * Verifies the contract through Kafka: a signed request is carried out and reported with a signature, a forged one is
 * not.
 */
import { randomUUID } from 'node:crypto';
import { CompactSign, generateKeyPair } from 'jose';
import { silentLogger } from '../../runtime/index.ts';
import { brokerEventKinds, encodeEvent, readEvent } from '../contract/index.ts';
import { type BrokerVerifier, IdentityError } from '../identity/index.ts';
import {
  consume,
  deadLetterTopicOf,
  type KafkaTls,
  kafkaProducer,
  REQUEST_TOPIC,
  STATUS_TOPIC,
} from '../kafka/index.ts';
import type { BrokerEvent, RequestEvent } from '../messages.ts';
import type { Check } from './checks.ts';
import type { SigningIdentity } from './identity.ts';
import { assert, type Subject } from './subject.ts';

export interface ConformanceKafka {
  readonly bootstrapServers: readonly string[];
  readonly tls?: (() => KafkaTls) | undefined;
  readonly requestTopic?: string | undefined;
  readonly statusTopic?: string | undefined;
}

export interface KafkaChecks {
  readonly checks: readonly Check[];
  stop(): Promise<void>;
}

/**
 * Opens the Kafka checks. `received` gets each report with a valid signature, `refused` the reason for an invalid one.
 */
export async function openKafkaChecks(
  options: ConformanceKafka,
  identity: SigningIdentity,
  verifier: BrokerVerifier,
  received: (event: BrokerEvent) => void,
  refused: (why: string) => void,
): Promise<KafkaChecks> {
  const { requestTopic = REQUEST_TOPIC, statusTopic = STATUS_TOPIC } = options;
  const connection = {
    bootstrapServers: options.bootstrapServers,
    tls: options.tls,
    clientId: 'kidp-conformance',
    log: silentLogger,
  };
  const producer = kafkaProducer(connection);
  const consumer = consume({
    ...connection,
    groupId: `kidp-conformance-${randomUUID()}`,
    topics: [statusTopic],
    deadLetterTopic: deadLetterTopicOf(statusTopic),
    async handle({ value, headers }) {
      const read = readEvent(value, brokerEventKinds);
      if ('problem' in read) return;
      try {
        await verifier.signature(value, headers.get('signature') ?? '');
        received(read.event);
      } catch (error) {
        // All brokers share the topic: only an invalid report in the name of this broker counts.
        if (error instanceof IdentityError && error.claimed !== undefined) refused(`${error.reason}: ${error.message}`);
      }
    },
  });
  await consumer.ready();

  async function send(event: RequestEvent, key: SigningIdentity['privateKey']): Promise<void> {
    const value = encodeEvent(event);
    const { keyId, issuer } = identity;
    const jws = await new CompactSign(value)
      .setProtectedHeader({ alg: 'EdDSA', kid: keyId, iss: issuer, sub: issuer })
      .sign(key);
    const [head, , tail] = jws.split('.');
    await producer.send({
      topic: requestTopic,
      key: event.data.resource.uid,
      value,
      headers: { signature: `${head}..${tail}` },
    });
  }
  const eventFor = (subject: Subject, uid: string, more: Parameters<Subject['event']>[0] = {}) =>
    subject.event({
      uid,
      name: `conformance-${uid.slice(0, 8)}`,
      data: { replyTo: { statusTopic, encryptionKey: subject.keys.encryptionKey() } },
      ...more,
    });

  return {
    checks: [
      {
        id: 'kafka-deploy',
        title: 'a signed request through Kafka is carried out, and reported there with a signature',
        async run(subject) {
          const uid = randomUUID();
          await send(eventFor(subject, uid), identity.privateKey);
          await send(eventFor(subject, uid), identity.privateKey);
          await subject.waitForReport(uid, 'is ready', ({ phase }) => phase === 'ready');
          await send(eventFor(subject, uid, { generation: 2, action: 'Delete' }), identity.privateKey);
          await subject.waitForReport(uid, 'is deleted', ({ phase }) => phase === 'deleted');
        },
      },
      {
        id: 'kafka-forged',
        title: 'a request through Kafka that another key signed is not carried out',
        async run(subject) {
          const uid = randomUUID();
          const stranger = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
          await send(eventFor(subject, uid), stranger.privateKey);
          // The same message key, so the broker reads it after the forged one.
          await send(eventFor(subject, uid, { action: 'Query' }), identity.privateKey);
          await subject.waitForReport(uid, 'is absent', ({ phase }) => phase === 'absent');
          const record = await subject.get(`/v1/deployments/${uid}`, await subject.token());
          assert(
            record.status === 404,
            `must not have accepted it; GET /v1/deployments/${uid} answered ${record.status}`,
          );
        },
      },
    ],
    async stop() {
      await consumer.stop();
      await producer.close();
    },
  };
}
