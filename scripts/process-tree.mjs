// The identity of a process and its parents. Runs on any Node >= 18.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * `startTimeOf` returns the start time of a process, or undefined if it has exited or the system does not report it. A PID is reused, a PID
 * with its start time is not.
 */
export function startTimeOf(pid) {
  if (process.platform === 'linux') return statOf(pid)?.startTime;
  const line = (spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '').trim();
  return line === '' || line.startsWith('Z') ? undefined : line.slice(line.indexOf(' ')).trim();
}

/**
 * `parents` returns a text for the parents of this process up to npm; it changes when one of them exits. npm runs scripts in a shell, and
 * not every shell replaces itself with its command. Only Linux shows which shell does.
 */
export function parents() {
  const parent = process.ppid;
  const stat = process.platform === 'linux' ? statOf(parent) : undefined;
  return stat === undefined || /^(npm|node)/.test(stat.command) ? `${parent}` : `${parent} of ${stat.parent}`;
}

/** `statOf` reads `/proc/PID/stat`. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command is in parentheses and may hold spaces and parentheses itself: count fields after the last one.
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    // A zombie has exited; only its parent has not waited for it yet.
    if (fields[0] === 'Z') return undefined;
    return { command: stat.slice(stat.indexOf('(') + 1, end), parent: fields[1], startTime: fields[19] };
  } catch {
    return undefined;
  }
}
