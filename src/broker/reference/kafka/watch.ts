/** Polls all topics and reports those that changed: Kafka has no notifications for that. */
import { createHash } from 'node:crypto';
import type { Clock, Logger } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import { stableJson } from '../record.ts';
import type { TopicAdmin } from './admin.ts';

interface TopicWatchOptions {
  readonly admin: Pick<TopicAdmin, 'read'>;
  /** The topics to poll by uid; called each time. */
  readonly topics: () => ReadonlyMap<string, string>;
  readonly changed: (uid: string) => void;
  /** Manual changes must be detected and repaired within a minute. */
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
      // Only the digests of the last poll are kept.
      const seen = new Map([...topics].map(([uid, name]) => [uid, digest(present.get(name) ?? null)]));
      for (const [uid, as] of seen) if (last.get(uid) !== as) changed(uid);
      last = seen;
    } catch (error) {
      log.warn('cannot read the topics; retrying', { error });
    }
  }
}

const digest = (value: unknown): string =>
  createHash('sha256').update(stableJson(value)).digest('base64url').slice(0, 22);
