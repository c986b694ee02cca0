/**
 * What one instance takes while it works. The platform and this program that drives it are one process, so that the
 * platform itself takes rather less; the runs of Helm that it has started are counted with it, those by hand are not.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { type Figure, mebibytes, say } from './figures.ts';
import { ownConnections, type Stage } from './stage.ts';

const table = 'Resource limits of an instance';
/** Helm is there for a second or two. */
const everyMilliseconds = 200;
const pageBytes = 4096;
const ticksInASecond = 100;

export interface Resources {
  figures(): Figure[];
  stop(): void;
}

export function watchResources({ targets }: Stage): Resources {
  const ports = new Set(targets.map(({ plane }) => Number(new URL(plane.url).port)));
  const began = { cpu: process.cpuUsage(), at: performance.now() };
  let [connections, memory, runs] = [0, 0, 0];
  /** Seconds of CPU, by process, when it was last seen. */
  const ofHelm = new Map<number, number>();
  const look = () => {
    const helms = ownHelms();
    const all = [process.pid, ...helms];
    runs = Math.max(runs, helms.length);
    connections = Math.max(
      connections,
      all.reduce((sum, pid) => sum + openConnections(pid, ports), 0),
    );
    memory = Math.max(
      memory,
      all.reduce((sum, pid) => sum + residentBytes(pid), 0),
    );
    for (const pid of helms) ofHelm.set(pid, Math.max(ofHelm.get(pid) ?? 0, cpuSeconds(pid)));
  };
  const timer = setInterval(look, everyMilliseconds);
  return {
    figures() {
      const { user, system } = process.cpuUsage(began.cpu);
      const passed = (performance.now() - began.at) / 1000;
      const share = ((user + system) / 1_000_000 / passed) * 100;
      const helm = [...ofHelm.values()].reduce((sum, each) => sum + each, 0);
      say(
        `resources, looked at every ${everyMilliseconds} ms: at most ${runs} runs of Helm at once, which took at least ${((helm / passed) * 100).toFixed(0)} % of a core`,
      );
      return [
        {
          table,
          what: `connections to clusters, with those of Helm and up to ${2 * ownConnections + 2} of this program, at most`,
          value: connections,
          unit: '',
          target: ['<', 100],
        },
        {
          table,
          what: 'memory, with that of Helm, at most (75 % of 4 GB)',
          value: mebibytes(memory),
          unit: 'MB',
          target: ['<', 3072],
        },
        { table, what: 'of a core, on average, without Helm', value: share, unit: '%', target: ['<', 80] },
      ];
    },
    stop: () => clearInterval(timer),
  };
}

/** The platform runs each in a folder of its own; by hand they run where we do. */
function ownHelms(): number[] {
  return readdirSync('/proc/self/task')
    .flatMap((task) => textOf(`/proc/self/task/${task}/children`).split(' '))
    .filter((pid) => pid !== '' && basename(linkOf(`/proc/${pid}/exe`)) === 'helm')
    .filter((pid) => linkOf(`/proc/${pid}/cwd`) !== process.cwd())
    .map(Number);
}

const residentBytes = (pid: number): number => Number(textOf(`/proc/${pid}/statm`).split(' ')[1] ?? 0) * pageBytes;

/** Of the fields behind the name, which may hold anything: the 12th and 13th. */
function cpuSeconds(pid: number): number {
  const stat = textOf(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksInASecond;
}

/** To these ports. */
function openConnections(pid: number, ports: ReadonlySet<number>): number {
  const own = new Set<string>();
  for (const file of filesOf(pid)) {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${file}`)) ?? [];
    if (inode !== undefined) own.add(inode);
  }
  const lines = textOf(`/proc/${pid}/net/tcp`).trim().split('\n').slice(1);
  return lines.filter((line) => {
    const [, , remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
    return state === '01' && own.has(inode) && ports.has(Number.parseInt(remote.split(':')[1] ?? '', 16));
  }).length;
}

/** What has ended, or was closed, meanwhile is not there. */
const orNothing = <T>(read: () => T, nothing: T): T => {
  try {
    return read();
  } catch {
    return nothing;
  }
};
const textOf = (file: string): string => orNothing(() => readFileSync(file, 'utf8'), '');
const linkOf = (file: string): string => orNothing(() => readlinkSync(file), '');
const filesOf = (pid: number): string[] => orNothing(() => readdirSync(`/proc/${pid}/fd`), []);
