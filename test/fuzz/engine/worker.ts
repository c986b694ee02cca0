/** Explores one target in a thread of its own, so that an input that hangs or takes all memory ends only the thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { readCorpus, readCrashes, targetFile } from './corpus.ts';
import { Explorer } from './explore.ts';
import { instrumentImports } from './instrument.ts';
import { randomFrom } from './mutate.ts';
import { type Target, tryInput } from './target.ts';

export interface WorkerInput {
  readonly name: string;
  readonly milliseconds: number;
  readonly seed: number;
  /** The current input, for the case that the thread does not survive it: its length, then its bytes. */
  readonly current: SharedArrayBuffer;
}

export interface Progress {
  readonly executions: number;
  readonly covered: number;
  readonly branches: number;
  readonly features: number;
  readonly corpus: readonly Uint8Array[];
  readonly findings: readonly { readonly cause: string; readonly message: string; readonly input: Uint8Array }[];
}

const reportMilliseconds = 30_000;
const mostMilliseconds = 2_000;
const mostBytes = 4_096;

const { name, milliseconds, seed, current } = workerData as WorkerInput;
const coverage = instrumentImports(new URL('../../../src/', import.meta.url).href);
const { target } = (await import(targetFile(name))) as { target: Target };
const covered = [...coverage]
  .filter(([url]) => target.modules.some((each) => url.includes(`/${each}`)))
  .map(([, each]) => each);
const place = Buffer.from(current, 4);
const length = new Int32Array(current, 0, 1);
const explorer = new Explorer({
  run(input) {
    length[0] = input.length;
    place.set(input);
    return tryInput(target, input);
  },
  counters: covered.map(({ counters }) => counters),
  words: [...(target.words ?? []), ...covered.flatMap(({ words }) => [...words])],
  isJson: target.isJson === true,
  mostBytes: target.mostBytes ?? mostBytes,
  random: randomFrom(seed),
  mostMilliseconds,
});

function report(): void {
  const progress: Progress = {
    executions: explorer.executions,
    covered: explorer.covered,
    branches: covered.reduce((sum, { counters }) => sum + counters.length, 0),
    features: explorer.features,
    corpus: explorer.corpus(),
    findings: [...explorer.findings.values()],
  };
  parentPort?.postMessage(progress);
}

const started = performance.now();
const seeds = [...target.seeds(), ...readCorpus(name), ...readCrashes(name).map(({ input }) => input)];
for (const each of seeds) await explorer.seed(Buffer.from(each));
for (let reported = started; performance.now() - started < milliseconds; ) {
  await explorer.step();
  if (performance.now() - reported < reportMilliseconds) continue;
  reported = performance.now();
  report();
}
report();
// A target may hold timers and sockets.
process.exit(0);
