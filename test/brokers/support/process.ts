/** `kidp broker` as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { eventually } from '../../../src/runtime/testing/index.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const children = new Set<ChildProcess>();

export interface BrokerProcess {
  /** Where it serves now: one that lost its lease begins anew, at another port where it was not told which. */
  readonly url: string;
  output(): string;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
}

/** Ends after the tests of the file, whatever becomes of them. */
export function endBrokerProcesses(): void {
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
  });
}

export async function startBrokerProcess(words: readonly string[]): Promise<BrokerProcess> {
  const child = spawn(process.execPath, ['src/cli/main.ts', 'broker', ...words], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let output = '';
  const add = (text: string) => {
    output += text;
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', add);
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  const served = () => [...output.matchAll(/"url":"([^"]+)","message":"serving"/g)].at(-1)?.[1];
  await eventually(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output.slice(-2000)}`);
      if (served() === undefined) throw new Error(`it does not serve yet: ${output.slice(-2000)}`);
      // Several of them start at once on a busy machine.
    },
    { within: 180_000 },
  );
  return {
    get url() {
      return served() ?? '';
    },
    output: () => output,
    kill(signal) {
      child.kill(signal);
      children.delete(child);
      return ended;
    },
  };
}
