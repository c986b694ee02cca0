// Runs a program on another Node as if it were this process. Holds on any Node >= 18.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Signals are passed on, and the exit code back. A Ctrl-C in a terminal reaches both processes, so the program gets it twice: what runs
 * here takes a second one for the first (src/cli/common/stop.ts). Should this process be killed, the program sees its channel close.
 */
export function handOver(node, args, onError) {
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', onError);
  child.on('close', (code, signal) => {
    // As a shell would say it.
    process.exitCode = signal ? 128 + constants.signals[signal] : (code ?? 1);
  });
  return child;
}
