/** The progress of `kidp up`: each step is printed with the time it took. */

export interface Steps {
  /** Runs the work, and prints its name and time when it is done. Rejects with `Interrupted` as soon as a stop is requested. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** The same for work that must not be cut off: it runs to its end, and only then rejects. */
  whole<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** The seconds since the first step started. */
  seconds(): number;
}

/** Thrown when the user stops `kidp up` before it is ready. */
export class Interrupted extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`stopped (${reason}) before it was ready`);
    this.name = 'Interrupted';
    this.reason = reason;
  }
}

export function startSteps(
  output: { write(text: string): unknown },
  stopped: Promise<string>,
  now: () => number = Date.now,
): Steps {
  const began = now();
  const interrupted = stopped.then((reason): never => {
    throw new Interrupted(reason);
  });
  interrupted.catch(() => undefined);
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const started = now();
    const result = await work();
    output.write(`  ${name.padEnd(62)} ${format(now() - started)}\n`);
    return result;
  };
  return {
    step: (name, work) => timed(name, () => Promise.race([interrupted, work()])),
    whole: (name, work) => timed(name, async () => Promise.race([interrupted, await work()])),
    seconds: () => (now() - began) / 1000,
  };
}

function format(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
