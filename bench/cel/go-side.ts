/** cel-go and Kubernetes' environment, built from bench/cel/go and asked a task at a time. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build, cacheDirectory } from '../../src/controlplane/index.ts';
import { cases, subject } from './cases.ts';

export const goEngines = ['cel-go', 'kubernetes'] as const;
export type GoEngine = (typeof goEngines)[number];

export interface GoSide {
  /** Nanoseconds of CPU time for one of `iterations`, or undefined where the engine cannot do the case. */
  measure(
    engine: GoEngine,
    what: 'evaluate' | 'compile',
    index: number,
    iterations: number,
  ): Promise<number | undefined>;
  stop(): void;
}

export async function startGoSide(log: (line: string) => void): Promise<GoSide> {
  const folder = await build(
    {
      asset: 'cel-bench',
      version: '1.36.3',
      package: '.',
      variables: {},
      output: 'cel-bench',
      programs: ['cel-bench'],
      gigabytes: 3,
    },
    {
      sources: join(import.meta.dirname, 'go'),
      cache: join(cacheDirectory(process.env), 'assets'),
      environment: process.env,
      onProgress: ({ step, done, total }) => {
        if (step !== 'done' && done === 0) log(`building cel-go: ${step} of ${total}`);
      },
    },
  );
  const child = spawn(join(folder, 'cel-bench'), { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.write(`${JSON.stringify(cases.map(({ expression }) => ({ expression, object: subject })))}\n`);
  return {
    async measure(engine, what, index, iterations) {
      child.stdin.write(`${JSON.stringify({ engine, do: what, case: index, iterations })}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the Go side of the benchmark ended');
      const result = JSON.parse(value) as { nanoseconds: number; missing?: string };
      return result.missing === undefined ? result.nanoseconds / iterations : undefined;
    },
    stop: () => child.stdin.end(),
  };
}
