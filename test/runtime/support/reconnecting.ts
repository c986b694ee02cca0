/**
 * A process that follows ConfigMaps and says of each watch that it is open, in lines on stdout; whoever reads them cuts it off (see
 * test/soak/reflector.ts). At three moments it looks at its own memory, and at the end prints what it found. A process of its own, so
 * that nothing else is in that memory.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, connect, loadKubeconfig, Reflector } from '../../../src/runtime/index.ts';
import { configMaps } from './churn.ts';

/** What this process has in its hands, in bytes. */
export interface Memory {
  /** Of JavaScript, and what hangs on it outside (buffers and the like). */
  readonly reachable: number;
  readonly arrayBuffers: number;
  /** All of it, OpenSSL's too. */
  readonly resident: number;
}

export type Line =
  | { readonly event: 'open' | 'changed' }
  | {
      readonly event: 'end';
      /** After the warm-up, half-way, and at the end. */
      readonly looks: readonly Memory[];
      readonly sockets: number;
    };

const [kubeconfig = '', server = '', namespace = '', warmUp = '0', times = '0'] = process.argv.slice(2);
process.stdin.resume().on('end', () => process.exit(0));
const say = (line: Line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const { origin: _file, ...config } = loadKubeconfig({ file: kubeconfig });
const client = connect({ ...config, server });
const opens = { count: 0 };
const counted: Client = {
  ...client,
  watch: (resource, options = {}) =>
    client.watch(resource, {
      ...options,
      onOpen() {
        options.onOpen?.();
        void opened();
      },
    }),
};
const reflector = new Reflector({
  client: counted,
  resource: configMaps,
  namespace,
  backoff: { baseMilliseconds: 0, maximumMilliseconds: 0 },
  handlers: { added: () => say({ event: 'changed' }), updated: () => say({ event: 'changed' }) },
});
const moments = [0, Number(times) >> 1, Number(times)].map((moment) => Number(warmUp) + moment);
const looks: Memory[] = [];
reflector.start();

async function opened(): Promise<void> {
  opens.count += 1;
  // Nobody cuts it off before it has said that it is open, so it is at rest while it looks.
  if (moments.includes(opens.count)) looks.push(await look());
  if (looks.length < moments.length) {
    say({ event: 'open' });
    return;
  }
  await reflector.stop();
  await client.close();
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
  // The kernel's side of a reset is seen a moment later, on a loaded machine many moments; what leaks stays for good.
  for (let attempt = 0; sockets() > 0 && attempt < 200; attempt += 1) await sleep(50);
  process.stdout.write(`${JSON.stringify({ event: 'end', looks, sockets: sockets() } satisfies Line)}\n`, () =>
    process.exit(0),
  );
}

/** The least of several looks: what is under way for a moment is not what is kept. */
async function look(): Promise<Memory> {
  const least = { reachable: Number.POSITIVE_INFINITY, arrayBuffers: Number.POSITIVE_INFINITY, resident: 0 };
  for (let round = 0; round < 8; round += 1) {
    globalThis.gc?.();
    const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
    least.reachable = Math.min(least.reachable, heapUsed + external);
    least.arrayBuffers = Math.min(least.arrayBuffers, arrayBuffers);
    least.resident = rss;
    await sleep(20);
  }
  return least;
}
