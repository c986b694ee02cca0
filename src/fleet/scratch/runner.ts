/**
 * Identifies the process that runs Helm, so that after a crash an active run can be distinguished from an abandoned
 * one.
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** This process, distinct from others with the same pid. */
export const currentRunner = (): string => [hostname(), process.pid, startOf(process.pid) ?? 'unknown'].join('/');

/** `hasExited` returns false if that cannot be determined from here. */
export function hasExited(runner: string | undefined): boolean {
  const [host, pid, start] = (runner ?? '').split('/');
  if (host !== hostname() || pid === undefined || !/^\d+$/.test(pid) || start === 'unknown') return false;
  return startOf(Number(pid)) !== start;
}

/** The start time in ticks since boot: field 22, counted after the process name, which may contain anything. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
