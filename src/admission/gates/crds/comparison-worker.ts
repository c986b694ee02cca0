/** The worker thread of comparison-pool.ts. It handles one comparison at a time, by messages. */
import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Comparison } from './comparison.ts';
import type { Answer, Call } from './comparison-pool.ts';

const { compileCache } = workerData as { readonly compileCache: string | undefined };
// Most of the start-up time is loading source files; the compile cache of the process avoids that.
if (compileCache !== undefined) enableCompileCache(compileCache);
const { startComparison } = await import('./comparison.ts');

let comparison: Comparison = startComparison();

parentPort?.on('message', (call: Call) => {
  parentPort?.postMessage(answered(call));
});

function answered({ call, texts }: Call): Answer {
  try {
    switch (call) {
      case 'begin':
        comparison = startComparison();
        return { value: undefined };
      case 'compare':
        return { value: comparison.compare(texts[0], texts[1]) };
      case 'add':
        return { value: comparison.add(texts[0] ?? '') };
    }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}
