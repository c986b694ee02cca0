/** Reads the records of other brokers in the same Kafka cluster, for takeovers. It never writes them. */
import type { KafkaRecord } from '@platformatic/kafka';
import type { Clock } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import type { KafkaConnection } from '../../kafka/connection.ts';
import type { DeploymentRecord } from '../record.ts';
import type { TopicAdmin } from './admin.ts';
import { type CommittedReader, committedReader, endOfCommitted } from './committed.ts';

/** The topic of the records of a broker. */
export const recordsTopicOf = (broker: string): string => `kidp-broker-records-${broker}`;

export interface FormerRecords {
  /** The record that a broker has of an object. `unseen`: the broker has never kept records in this cluster. */
  of(broker: string, uid: string): Promise<DeploymentRecord | 'unseen' | undefined>;
  stop(): Promise<void>;
}

interface Followed {
  readonly reader: CommittedReader;
  /** The stored values by uid. */
  readonly texts: Map<string, string>;
  readonly reading: Promise<void>;
}

const lookAgainMilliseconds = 50;

export function formerRecords(
  options: KafkaConnection & { readonly clock: Clock; readonly admin: Pick<TopicAdmin, 'exists'> },
): FormerRecords {
  const { clock, admin } = options;
  const stopping = new AbortController();
  /** Thousands of objects may be taken over from one broker, so its topic is read once and then followed. */
  const followed = new Map<string, Followed>();

  function follow(topic: string): Followed {
    const reader = committedReader({ ...options, topic });
    const texts = new Map<string, string>();
    const onRecord = ({ key, value }: KafkaRecord) => {
      const uid = key?.toString('utf8') ?? '';
      if (value === null || value.length === 0) texts.delete(uid);
      else texts.set(uid, value.toString('utf8'));
    };
    return { reader, texts, reading: reader.read(stopping.signal, onRecord) };
  }

  function following(topic: string): Followed {
    const found = followed.get(topic) ?? follow(topic);
    followed.set(topic, found);
    return found;
  }

  return {
    async of(broker, uid) {
      const topic = recordsTopicOf(broker);
      if (!followed.has(topic) && !(await admin.exists(topic))) return 'unseen';
      const { reader, texts } = following(topic);
      const end = await endOfCommitted({ ...options, topic });
      while (reader.position < end) {
        stopping.signal.throwIfAborted();
        await sleep(clock, lookAgainMilliseconds, stopping.signal);
      }
      const text = texts.get(uid);
      return text === undefined ? undefined : (JSON.parse(text) as DeploymentRecord);
    },
    async stop() {
      stopping.abort(new Error('the broker was stopped'));
      await Promise.all([...followed.values()].map(({ reading }) => reading));
    },
  };
}
