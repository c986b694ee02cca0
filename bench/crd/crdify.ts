/** crdify as bench/crd/go has it: asked a pair at a time in one process, or run on files as in CI. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build, cacheDirectory } from '../../src/controlplane/index.ts';
import type { Pair } from './pairs.ts';

/** Of go.mod. */
export const crdifyVersion = '0.6.0';

export interface Crdify {
  /** The program. */
  readonly program: string;
  /** Nanoseconds of CPU time for one comparison, from the text of both files to a report. */
  measure(pair: Pair, iterations: number): Promise<number>;
  stop(): void;
}

export async function startCrdify(log: (line: string) => void): Promise<Crdify> {
  const folder = await build(
    {
      asset: 'crdify-bench',
      version: crdifyVersion,
      package: '.',
      variables: {},
      output: 'crdify-bench',
      programs: ['crdify-bench'],
      gigabytes: 3,
    },
    {
      sources: join(import.meta.dirname, 'go'),
      cache: join(cacheDirectory(process.env), 'assets'),
      environment: process.env,
      onProgress: ({ step, done, total }) => {
        if (step !== 'done' && done === 0) log(`building crdify: ${step} of ${total}`);
      },
    },
  );
  const program = join(folder, 'crdify-bench');
  const child = spawn(program, ['serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    program,
    async measure(pair, iterations) {
      child.stdin.write(`${JSON.stringify({ old: pair.old, new: pair.new, iterations })}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error('crdify ended');
      const { nanoseconds, error } = JSON.parse(value) as { nanoseconds: number; error?: string };
      if (error !== undefined) throw new Error(`crdify on ${pair.name}: ${error}`);
      return nanoseconds;
    },
    stop: () => child.stdin.end(),
  };
}
