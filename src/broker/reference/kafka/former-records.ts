/** The records of other brokers of the same Kafka, for what was taken over from them: read, and never written. */
import type { KafkaRecord } from '@platformatic/kafka';
import type { Clock } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import type { KafkaConnection } from '../../kafka/connection.ts';
import type { DeploymentRecord } from '../record.ts';
import type { TopicAdmin } from './admin.ts';
import { type CommittedReader, committedReader, endOfCommitted } from './committed.ts';

/** The topic that a broker keeps its records in. */
export const recordsTopicOf = (broker: string): string => `kidp-broker-records-${broker}`;

export interface FormerRecords {
  /** What a broker knows about an object. `unseen`: it has never kept records in this Kafka. */
  of(broker: string, uid: string): Promise<DeploymentRecord | 'unseen' | undefined>;
  stop(): Promise<void>;
}

interface Followed {
  readonly reader: CommittedReader;
  /** As they are stored, by uid. */
  readonly texts: Map<string, string>;
  readonly reading: Promise<void>;
}

const lookAgainMilliseconds = 50;

export function formerRecords(
  options: KafkaConnection & { readonly clock: Clock; readonly admin: Pick<TopicAdmin, 'exists'> },
): FormerRecords {
  const { clock, admin } = options;
  const stopping = new AbortController();
  /** Thousands may be taken over from one broker: its topic is read once, and followed from then on. */
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
