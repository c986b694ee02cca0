/** Looks at all topics at once, again and again, and tells of those that are no longer as they were: Kafka itself tells nobody. */
import { createHash } from 'node:crypto';
import type { Clock, Logger } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import { stableJson } from '../record.ts';
import type { TopicAdmin } from './admin.ts';

interface TopicWatchOptions {
  readonly admin: Pick<TopicAdmin, 'read'>;
  /** Uid and name of those to look at; asked each time. */
  readonly topics: () => ReadonlyMap<string, string>;
  readonly changed: (uid: string) => void;
  /** What is changed by hand is to be found within a minute, and to be repaired. */
  readonly everyMilliseconds?: number | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export async function watchTopics(options: TopicWatchOptions): Promise<void> {
  const { admin, changed, everyMilliseconds = 15_000, clock, signal, log } = options;
  let last: ReadonlyMap<string, string> = new Map();
  for (;;) {
    await sleep(clock, everyMilliseconds, signal);
    if (signal.aborted) return;
    try {
      const topics = options.topics();
      const present = await admin.read([...topics.values()]);
      // Only those of this time are remembered, and of each a few bytes.
      const seen = new Map([...topics].map(([uid, name]) => [uid, digest(present.get(name) ?? null)]));
      for (const [uid, as] of seen) if (last.get(uid) !== as) changed(uid);
      last = seen;
    } catch (error) {
      log.warn('topics cannot be looked at, trying again', { error });
    }
  }
}

const digest = (value: unknown): string =>
  createHash('sha256').update(stableJson(value)).digest('base64url').slice(0, 22);
