/** Runs `kidp broker` as a separate process. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { eventuallyFrom, startTestProcess, whileRunning } from '../../support/test-process.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const children = new Set<ChildProcess>();

export interface BrokerProcess {
  /** The current URL: a broker that lost its lease restarts its server, on another port if none is configured. */
  readonly url: string;
  /** `whileRunning` returns the result of a wait, or rejects at once if the broker exits first. */
  whileRunning<T>(wait: Promise<T>): Promise<T>;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
}

/** `endBrokerProcesses` kills all broker processes after the tests of the file. */
export function endBrokerProcesses(): void {
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
  });
}

export async function startBrokerProcess(words: readonly string[]): Promise<BrokerProcess> {
  const broker = startTestProcess('kidp broker', process.execPath, ['src/cli/main.ts', 'broker', ...words], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(broker.child);
  const served = () => [...broker.output().matchAll(/"url":"([^"]+)","message":"serving"/g)].at(-1)?.[1];
  // Several processes start at once on a busy machine.
  const patient = { within: 180_000, waitedFor: 'its URL' };
  let url = await eventuallyFrom(broker, () => served() ?? false, patient);
  return {
    get url() {
      url = served() ?? url;
      return url;
    },
    whileRunning: (wait) => whileRunning(broker, wait),
    async kill(signal) {
      children.delete(broker.child);
      return (await broker.kill(signal)).code;
    },
  };
}
