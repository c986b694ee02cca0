// Who a process is and where it comes from, on any Node >= 18.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A number may be given to another process, a number with its start time never is. Undefined where it has ended or the system does not say. */
export function startTimeOf(pid) {
  if (process.platform === 'linux') return statOf(pid)?.startTime;
  const line = (spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '').trim();
  return line === '' || line.startsWith('Z') ? undefined : line.slice(line.indexOf(' ')).trim();
}

/**
 * This process's parents up to the npm that runs it: a word that changes when one of them ends. npm runs scripts in a shell, and not every
 * shell makes way for what it runs; which one it is can be seen on Linux.
 */
export function parents() {
  const parent = process.ppid;
  const stat = process.platform === 'linux' ? statOf(parent) : undefined;
  return stat === undefined || /^(npm|node)/.test(stat.command) ? `${parent}` : `${parent} of ${stat.parent}`;
}

/** From `/proc`. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command is in parentheses and may hold spaces and parentheses itself: count fields after the last one.
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    // A zombie has ended; only its parent has not looked yet.
    if (fields[0] === 'Z') return undefined;
    return { command: stat.slice(stat.indexOf('(') + 1, end), parent: fields[1], startTime: fields[19] };
  } catch {
    return undefined;
  }
}
