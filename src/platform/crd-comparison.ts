/** Definitions that the REST API is asked about, compared in a thread: the webhook of the same process must not wait for that. */
import { startComparers } from '../admission/index.ts';
import type { RestOptions } from '../rest/index.ts';

interface Comparing {
  readonly compare: NonNullable<RestOptions['compare']>;
  stop(): Promise<void>;
}

export function startComparing(): Comparing {
  // One of its own, so that those who only ask do not hold up those who change something.
  const comparers = startComparers(1);
  return {
    async compare(before, after, signal) {
      const comparer = await comparers.take(signal);
      try {
        const compared = await comparer.compare(JSON.stringify(before), JSON.stringify(after));
        if ('verdict' in compared) return compared.verdict;
        throw new Error(`a definition that was read before cannot be read any more (${compared.unreadable})`);
      } finally {
        comparer.release();
      }
    },
    stop: () => comparers.stop(),
  };
}
