/** Messages that a test sends and gets back, so that none is missed, doubled in effect or out of order without it being seen. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { consume, IncomingMessage, KafkaProducer } from '../../../src/broker/index.ts';

/** `key:number`; the id of its effect. */
const textOf = (key: string, number: number): string => `${key}:${number}`;

export interface Load {
  /** Acknowledged, in the order of their numbers for each key. */
  readonly acknowledged: ReadonlySet<string>;
  /** How often a send failed, by the kind of failure. */
  readonly failures: Readonly<Record<string, number>>;
  /** Resolves when so many more have been acknowledged. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Sends for several keys at a time. What is not acknowledged is sent again, as an outbox does. */
export function startLoad(producer: KafkaProducer, topic: string, keys = ['a', 'b', 'c', 'd', 'e']): Load {
  const acknowledged = new Set<string>();
  const failures: Record<string, number> = {};
  let stopped = false;
  const send = async (key: string) => {
    for (let number = 0; !stopped; ) {
      try {
        await producer.send({ topic, key, value: Buffer.from(textOf(key, number)) });
        acknowledged.add(textOf(key, number++));
      } catch (error) {
        const { failure } = error as { failure: string };
        failures[failure] = (failures[failure] ?? 0) + 1;
        await sleep(50);
      }
      await sleep(2);
    }
  };
  const senders = keys.map(send);
  return {
    acknowledged,
    failures,
    async more(count) {
      const wanted = acknowledged.size + count;
      while (acknowledged.size < wanted) await sleep(20);
    },
    async stop() {
      stopped = true;
      await Promise.all(senders);
    },
  };
}

/** What consumers did, each effect known by its id. */
export class Ledger {
  readonly effects = new Map<string, number>();
  readonly outOfOrder: string[] = [];
  readonly #highest = new Map<string, number>();

  /** A first effect must come after those of all messages before it; a repetition has none. */
  record(message: IncomingMessage): void {
    const text = String(message.value);
    const seen = this.effects.get(text) ?? 0;
    this.effects.set(text, seen + 1);
    if (seen > 0) return;
    const [key = '', number = ''] = text.split(':');
    if (Number(number) !== (this.#highest.get(key) ?? -1) + 1) this.outOfOrder.push(text);
    this.#highest.set(key, Number(number));
  }

  missing(wanted: ReadonlySet<string>): string[] {
    return [...wanted].filter((text) => !this.effects.has(text));
  }
}

/** Joins quickly and gives up quickly, for tests. */
export const quickly = {
  sessionTimeoutMilliseconds: 5_000,
  backoff: { firstMilliseconds: 20, longestMilliseconds: 500 },
} satisfies Partial<Parameters<typeof consume>[0]>;

/** For tests of what is taken once: on a machine that stands still for a while nobody is taken for gone, and good-byes arrive. */
export const unhurried = {
  ...quickly,
  sessionTimeoutMilliseconds: 15_000,
  closeTimeoutMilliseconds: 15_000,
} satisfies Partial<Parameters<typeof consume>[0]>;
