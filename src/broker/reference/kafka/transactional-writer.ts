/** Writes keyed values to one topic in transactions, as the only writer: opening it fences every earlier one. */
import { Producer } from '@platformatic/kafka';
import { clientOptions, closeClient, type KafkaConnection } from '../../kafka/connection.ts';
import { NotLeader } from '../provider.ts';

interface PendingWrite {
  readonly key: string;
  readonly value: string | undefined;
  readonly settle: (error?: Error) => void;
}

const batchSize = 500;

export class TransactionalWriter {
  readonly #connection: KafkaConnection;
  readonly #topic: string;
  readonly #onFailure: (reason: string) => void;
  readonly #pending: PendingWrite[] = [];
  #producer: Producer<Buffer, Buffer, Buffer, Buffer> | undefined;
  #writing: Promise<void> | undefined;

  constructor(connection: KafkaConnection, topic: string, onFailure: (reason: string) => void) {
    this.#connection = connection;
    this.#topic = topic;
    this.#onFailure = onFailure;
  }

  open(): void {
    this.#producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
      ...clientOptions(this.#connection),
      idempotent: true,
      acks: -1,
      transactionalId: this.#topic,
      // By default the client asks for producer id 0; -1 lets Kafka assign one.
      producerId: -1n,
      producerEpoch: -1,
    });
  }

  /** Resolves once the value is committed. An undefined value deletes the key. */
  write(key: string, value: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ key, value, settle: (error) => (error === undefined ? resolve() : reject(error)) });
      this.#writing ??= this.#writeAll();
    });
  }

  rejectPending(): void {
    for (const { settle } of this.#pending.splice(0)) settle(new NotLeader());
  }

  async close(): Promise<void> {
    await this.#writing;
    if (this.#producer !== undefined) await closeClient(this.#producer);
  }

  /** Writes of the same turn of the event loop share a transaction. */
  async #writeAll(): Promise<void> {
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, batchSize);
      try {
        await this.#transact(batch);
        for (const { settle } of batch) settle();
      } catch (error) {
        // Whether the batch was written is unknown: the instance gives up, and the next leader reads the topic.
        this.#onFailure(`a write failed: ${(error as Error).message}`);
        for (const { settle } of batch) settle(new NotLeader());
      }
    }
    this.#writing = undefined;
  }

  async #transact(batch: readonly PendingWrite[]): Promise<void> {
    if (this.#producer === undefined) throw new NotLeader();
    const transaction = await this.#producer.beginTransaction();
    const messages = batch.map(({ key, value }) => ({
      topic: this.#topic,
      key: Buffer.from(key),
      ...(value === undefined ? {} : { value: Buffer.from(value) }),
    }));
    await transaction.send({ messages, acks: -1 });
    await transaction.commit();
  }
}
