/** Who runs a Helm: so that whoever comes after a crash can tell a run that goes on from one that never will. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** This process, and no other of the same number before or after it. */
export const currentRunner = (): string => [hostname(), process.pid, startOf(process.pid) ?? 'unknown'].join('/');

/** False where that cannot be told from here. */
export function hasExited(runner: string | undefined): boolean {
  const [host, pid, start] = (runner ?? '').split('/');
  if (host !== hostname() || pid === undefined || !/^\d+$/.test(pid) || start === 'unknown') return false;
  return startOf(Number(pid)) !== start;
}

/** In ticks since the machine was started: the 22nd field, counted behind the name, which may hold anything. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
