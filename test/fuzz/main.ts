/**
 * `npm run fuzz [-- TARGET …] [--minutes N] [--seed N] [--list]` feeds mutated inputs to the parsers of outside input, one after another, and
 * keeps those that reach new code (docs/security/fuzzing.md). Exit code 1: an input broke a rule.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { targetFile, targetNames, writeCorpus, writeCrash } from './engine/corpus.ts';
import { digestOf } from './engine/explore.ts';
import type { Target } from './engine/target.ts';
import type { Progress, WorkerInput } from './engine/worker.ts';

/** An input that does not end within this time hangs; a slow one is reported by the worker. */
const hangMilliseconds = 60_000;
const mostMemoryMegabytes = 1_024;
const mostInputBytes = 1024 * 1024;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    list: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const unknown = positionals.filter((name) => !targetNames.includes(name));
if (unknown.length > 0 || !(minutes > 0) || !Number.isInteger(seed)) {
  const problem =
    unknown.length > 0
      ? `unknown fuzz target ${unknown.join(', ')}, want one of ${targetNames.join(', ')}`
      : '--minutes must be a number greater than 0, and --seed an integer';
  process.stderr.write(`kidp: ${problem}\n`);
  process.exit(2);
}
if (values.list) {
  for (const name of targetNames) {
    const { target } = (await import(targetFile(name))) as { target: Target };
    print(`${name.padEnd(20)} ${target.about}`);
  }
  process.exit(0);
}

let failed = false;
for (const name of positionals.length > 0 ? positionals : targetNames) failed = (await fuzz(name)) || failed;
process.exit(failed ? 1 : 0);

/** Returns whether an input broke a rule. */
async function fuzz(name: string): Promise<boolean> {
  const started = Date.now();
  const end = started + minutes * 60_000;
  const seen = new Set<string>();
  let last: Progress | undefined;
  let executions = 0;
  for (let round = 0; round === 0 || Date.now() < end; round++) {
    const current = new SharedArrayBuffer(4 + mostInputBytes);
    const input: WorkerInput = { name, milliseconds: end - Date.now(), seed: seed + round, current };
    let known: Progress | undefined;
    const fatal = await explore(input, (progress) => {
      known = progress;
      keep(name, progress, seen);
    });
    last = known ?? last;
    executions += known?.executions ?? 0;
    if (fatal === undefined) break;
    seen.add(fatal);
    const bytes = Buffer.from(Buffer.from(current).subarray(4, 4 + (new Int32Array(current, 0, 1)[0] ?? 0)));
    print(`${name}: FOUND ${fatal}\n  kept as ${writeCrash(name, `crash-${digestOf(bytes)}`, bytes)}`);
    // It would end the next worker, too: that one begins with the same inputs.
    if (known === undefined) break;
  }
  const seconds = Math.round((Date.now() - started) / 1000);
  print(
    `${name}: ${seconds} s, ${executions} executions, ${last?.covered ?? 0} of ${last?.branches ?? 0} branches, ` +
      `${last?.features ?? 0} features, corpus ${last?.corpus.length ?? 0}, findings ${seen.size}, seed ${seed}`,
  );
  return seen.size > 0;
}

/** Writes the corpus, and the findings that are not in `seen`. */
function keep(name: string, { executions, covered, branches, corpus, findings }: Progress, seen: Set<string>): void {
  print(
    `${name}: ${executions} executions, ${covered} of ${branches} branches, corpus ${corpus.length}, findings ${findings.length}`,
  );
  if (corpus.length > 0) writeCorpus(name, corpus);
  for (const { cause, message, input } of findings) {
    if (seen.has(cause)) continue;
    seen.add(cause);
    const file = writeCrash(name, `crash-${digestOf(Buffer.from(input))}`, input);
    print(`${name}: FOUND ${cause}\n  ${message.replaceAll('\n', '\n  ')}\n  kept as ${file}`);
  }
}

/** Runs one worker until its time is over, or until an input ends it. Returns how it did. */
function explore(input: WorkerInput, onProgress: (progress: Progress) => void): Promise<string | undefined> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('./engine/worker.ts', import.meta.url), {
      workerData: input,
      resourceLimits: { maxOldGenerationSizeMb: mostMemoryMegabytes },
    });
    let fatal: string | undefined;
    let heard = Date.now();
    // The worker reports every 30 seconds, after an input; one that hangs does not.
    const watch = setInterval(() => {
      if (Date.now() - heard < hangMilliseconds + 30_000) return;
      fatal = `hang: no end within ${hangMilliseconds / 1000} s`;
      void worker.terminate();
    }, 1_000);
    worker.on('message', (progress: Progress) => {
      heard = Date.now();
      onProgress(progress);
    });
    worker.on('error', (error) => {
      fatal = `the worker ended: ${error.stack ?? error.message}`;
    });
    worker.on('exit', () => {
      clearInterval(watch);
      resolve(fatal);
    });
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
