/**
 * What it costs the API server and us to list 10,000 objects of 2 KB in different ways: why the reflector lists as it does.
 * Nothing is judged.
 */
import { readFileSync } from 'node:fs';
import { startControlPlane } from '../../src/controlplane/index.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { configMaps, listed, objectCount, seed } from '../runtime/objects.ts';

const modes: Record<string, (client: Client) => Promise<number>> = {
  'one page, item by item': (client) => inPages(client, objectCount),
  'pages of 2,500, item by item': (client) => inPages(client, 2_500),
  'pages of 500, item by item': (client) => inPages(client, 500),
  'one page, parsed whole': async (client) => (await client.list(configMaps, { namespace: listed })).items.length,
  'streaming list (sendInitialEvents)': streamed,
};

export async function run(flags: readonly string[]): Promise<boolean> {
  const turns = Number(flags.find((flag) => flag.startsWith('--turns='))?.slice('--turns='.length) ?? 7);
  const controlPlane = await startControlPlane();
  const client = connect(loadKubeconfig({ file: controlPlane.kubeconfig }));
  try {
    await seed(client);
    const results = new Map<string, { wall: number; client: number; server: number }[]>();
    for (let turn = -1; turn < turns; turn += 1) {
      for (const [name, list] of Object.entries(modes)) {
        const server = cpuOf(controlPlane.apiServer.pid);
        const own = process.cpuUsage();
        const started = performance.now();
        const count = await list(client);
        if (count !== objectCount) throw new Error(`${name} gave ${count} objects`);
        const { user, system } = process.cpuUsage(own);
        const wall = performance.now() - started;
        const row = { wall, client: (user + system) / 1000, server: cpuOf(controlPlane.apiServer.pid) - server };
        // The first turn warms up.
        if (turn >= 0) results.set(name, [...(results.get(name) ?? []), row]);
      }
    }
    process.stdout.write(`${'medians, ms'.padEnd(40)}      wall  our CPU  server CPU\n`);
    for (const [name, rows] of results) {
      const middle = (of: 'wall' | 'client' | 'server') =>
        (rows.map((row) => row[of]).sort((a, b) => a - b)[Math.floor(rows.length / 2)] ?? 0).toFixed(0);
      process.stdout.write(
        `${name.padEnd(40)}${middle('wall').padStart(10)}${middle('client').padStart(9)}${middle('server').padStart(12)}\n`,
      );
    }
    return true;
  } finally {
    await client.close();
    await controlPlane.stop();
  }
}

async function inPages(client: Client, limit: number): Promise<number> {
  let count = 0;
  for (let next: string | undefined; ; ) {
    const page = await client.listEach?.(
      configMaps,
      { namespace: listed, limit, omitManagedFields: true, ...(next === undefined ? {} : { continue: next }) },
      () => {
        count += 1;
      },
    );
    next = page?.metadata.continue;
    if (next === undefined || next === '') return count;
  }
}

async function streamed(client: Client): Promise<number> {
  let count = 0;
  const events = client.watch(configMaps, { namespace: listed, allowWatchBookmarks: true, sendInitialEvents: true });
  for await (const event of events) {
    if (event.type === 'ADDED') count += 1;
    else if (event.type === 'BOOKMARK') break;
  }
  return count;
}

/** The CPU time of a process so far, in milliseconds (Linux: ticks of ten). */
function cpuOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
