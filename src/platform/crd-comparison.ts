/** Compares CRDs for the REST API in a worker thread, so that the webhook in the same process is not delayed. */
import { startComparers } from '../admission/index.ts';
import type { RestOptions } from '../rest/index.ts';

interface Comparing {
  readonly compare: NonNullable<RestOptions['compare']>;
  stop(): Promise<void>;
}

export function startComparing(): Comparing {
  // The REST API has a thread of its own, so that dry runs do not delay admission.
  const comparers = startComparers(1);
  return {
    async compare(before, after, signal) {
      const comparer = await comparers.take(signal);
      try {
        const compared = await comparer.compare(JSON.stringify(before), JSON.stringify(after));
        if ('verdict' in compared) return compared.verdict;
        throw new Error(`a definition that was readable before is unreadable now: ${compared.unreadable}`);
      } finally {
        comparer.release();
      }
    },
    stop: () => comparers.stop(),
  };
}
