/** What has to be taken back, in reverse order, whatever becomes of each step. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeFailure } from '../failure.ts';

export interface Undo {
  /** Remembers how to take something back; `step` may return what the user should know. */
  add(what: string, step: () => Promise<unknown>): void;
  /** Takes everything back, once. A step that fails or hangs is reported and does not keep the others from running. */
  run(): Promise<string[]>;
}

const patienceMilliseconds = 20_000;

export function startUndo(patience: number = patienceMilliseconds): Undo {
  const steps: { what: string; step: () => Promise<unknown> }[] = [];
  return {
    add(what, step) {
      steps.push({ what, step });
    },
    async run() {
      const notes: string[] = [];
      for (let next = steps.pop(); next !== undefined; next = steps.pop()) {
        const { what, step } = next;
        try {
          const outcome = await inTime(step(), patience);
          if (Array.isArray(outcome)) notes.push(...outcome.map(String));
        } catch (error) {
          notes.push(`${what}: ${describeFailure(error)}`);
        }
      }
      return notes;
    },
  };
}

async function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const enough = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: enough.signal }).then(() => {
    throw Object.assign(new Error(`it has not ended after ${milliseconds / 1000} s`), { code: 'up/late' });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    enough.abort();
  }
}
