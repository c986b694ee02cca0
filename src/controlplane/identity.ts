/** The identity of a process: its id alone can be reused, its id with its start time cannot. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  pid: number;
  /** Opaque; equal only for the same process. Empty if the system does not provide it. */
  startTime: string;
}

export function identityOf(pid: number): ProcessIdentity | undefined {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return startTimeOf(identity.pid) === identity.startTime;
}

/**
 * Signals the process group that this process leads, if it is still the same process. Returns whether it was signalled.
 */
export function signalGroup(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(identity) && signalled(-identity.pid, signal);
}

/** Does the same for this process alone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(identity) && signalled(identity.pid, signal);
}

function signalled(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch {
    return false;
  }
}

function startTimeOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The command is in parentheses and can contain spaces and parentheses, so fields are counted after the last one.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // A zombie has exited, but its parent has not collected it yet.
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? undefined : line.slice(line.indexOf(' ')).trim();
  } catch {
    return undefined;
  }
}
