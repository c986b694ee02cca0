/**
 * Examines one Policy at a time. Examining takes up to seconds of processor time, which other reviews need too. Network
 * addresses take turns, so that a client that sends many Policies delays its own.
 */
import { Shares } from '../../runtime/internal.ts';
import { HttpError } from '../review/http-error.ts';

interface Examinations {
  /** Runs `examine` when it is its turn. It rejects if too many wait, or if the deadline passes before. */
  run<T>(address: string, deadline: number, examine: () => Promise<T>): Promise<T>;
}

interface Waiting {
  readonly address: string;
  begin(): void;
  refuse(): void;
}

/** Enough for a directory of Policies that is applied at once; the API server retries the others. */
const mostWaitingByDefault = 32;

export function startExaminations(mostWaiting: number = mostWaitingByDefault): Examinations {
  const waiting = new Shares<Waiting>();
  let isBusy = false;

  const turn = (address: string, deadline: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const refuse = () => {
        clearTimeout(late);
        waiting.delete(entry);
        reject(busy());
      };
      const begin = () => {
        clearTimeout(late);
        resolve();
      };
      const entry: Waiting = { address, begin, refuse };
      const late = setTimeout(refuse, Math.max(0, deadline - Date.now()));
      waiting.add(entry);
      // The newest of the address that waits for the most examinations.
      if (waiting.size > mostWaiting) [...waiting.ofLargest()].at(-1)?.refuse();
    });

  return {
    async run(address, deadline, examine) {
      if (isBusy) await turn(address, deadline);
      isBusy = true;
      try {
        return await examine();
      } finally {
        const next = waiting.take('oldest');
        // It stays busy for the next one.
        if (next === undefined) isBusy = false;
        else next.begin();
      }
    },
  };
}

/** The API server retries after the given time. */
const busy = (): HttpError =>
  new HttpError(429, 'Too many Policies are being examined; retry in a second', { 'retry-after': '1' });
