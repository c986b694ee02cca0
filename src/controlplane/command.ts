/** Runs a command-line tool to its end. If this process dies, the tool is killed with it. */
import { spawn } from 'node:child_process';
import { identityOf } from './identity.ts';
import { reaper } from './reaper.ts';

interface CommandRun {
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  onOutput?: ((text: string) => void) | undefined;
  onError?: ((text: string) => void) | undefined;
}

export interface CommandOutcome {
  /** Null if a signal ended the tool. */
  code: number | null;
  output: string;
  /** The last part of its standard error. */
  errors: string;
}

/** `runCommand` rejects only if the tool cannot be started. */
export async function runCommand(program: string, flags: readonly string[], run: CommandRun): Promise<CommandOutcome> {
  const watcher = reaper();
  const child = spawn(program, flags, {
    cwd: run.directory,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...run.environment, ...watcher.environment },
  });
  // The promise is awaited at the end and can reject earlier.
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  closed.catch(() => undefined);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    run.onOutput?.(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-20_000);
    run.onError?.(text);
  });
  const identity = child.pid === undefined ? undefined : identityOf(child.pid);
  if (identity !== undefined) await watcher.notify({ started: identity });
  const code = await closed;
  if (identity !== undefined) await watcher.notify({ ended: identity.pid });
  return { code, output, errors };
}
