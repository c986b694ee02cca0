/** What one instance takes while it works: the platform and this program that drives it are one process, so that it is rather less. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Figure } from './figures.ts';
import type { Stage } from './stage.ts';

const table = 'Resource limits of an instance';

export interface Resources {
  figures(): Figure[];
  stop(): void;
}

export function watchResources({ targets }: Stage): Resources {
  const ports = new Set(targets.map(({ plane }) => Number(new URL(plane.url).port)));
  const began = { cpu: process.cpuUsage(), at: performance.now() };
  let [connections, memory] = [0, 0];
  const look = () => {
    connections = Math.max(connections, openConnections(ports));
    memory = Math.max(memory, process.memoryUsage().rss);
  };
  const timer = setInterval(look, 500);
  return {
    figures() {
      const { user, system } = process.cpuUsage(began.cpu);
      const share = ((user + system) / 1000 / (performance.now() - began.at)) * 100;
      return [
        { table, what: 'connections to clusters, at most', value: connections, unit: '', target: ['<', 100] },
        { table, what: 'memory, at most (75 % of 4 GB)', value: memory / 2 ** 20, unit: 'MB', target: ['<', 3072] },
        { table, what: 'of a core, on average', value: share, unit: '%', target: ['<', 80] },
      ];
    },
    stop: () => clearInterval(timer),
  };
}

/** Of this process, to these ports. */
function openConnections(ports: ReadonlySet<number>): number {
  const own = new Set<string>();
  for (const file of readdirSync('/proc/self/fd')) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${file}`)) ?? [];
      if (inode !== undefined) own.add(inode);
    } catch {
      // It was closed meanwhile.
    }
  }
  const lines = readFileSync('/proc/self/net/tcp', 'utf8').trim().split('\n').slice(1);
  return lines.filter((line) => {
    const [, , remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
    return state === '01' && own.has(inode) && ports.has(Number.parseInt(remote.split(':')[1] ?? '', 16));
  }).length;
}
