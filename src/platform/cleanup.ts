/** Shutdown steps, collected while things start and run in reverse order. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Cleanup {
  /** Adds a step. A step may resolve with lines for the user, such as what it left in place on purpose. */
  add(name: string, step: () => Promise<unknown>): void;
  /**
   * Runs all steps once, the last one first, and resolves with what the user should know. A step that fails or hangs is reported and
   * does not keep the others from running.
   */
  run(): Promise<string[]>;
}

const timeoutMilliseconds = 20_000;

export function createCleanup(timeout: number = timeoutMilliseconds): Cleanup {
  const steps: { name: string; step: () => Promise<unknown> }[] = [];
  return {
    add(name, step) {
      steps.push({ name, step });
    },
    async run() {
      const notes: string[] = [];
      for (let next = steps.pop(); next !== undefined; next = steps.pop()) {
        const { name, step } = next;
        try {
          const outcome = await withTimeout(step(), timeout);
          if (Array.isArray(outcome)) notes.push(...outcome.map(String));
        } catch (error) {
          notes.push(`${name}: ${messageOf(error)}`);
        }
      }
      return notes;
    },
  };
}

async function withTimeout<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const done = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: done.signal }).then(() => {
    throw Object.assign(new Error(`timed out after ${milliseconds / 1000} s`), { code: 'up/late' });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    done.abort();
  }
}

/** An error without a code is a bug: its stack belongs in the report. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? error.message : (error.stack ?? error.message);
}
