// Runs a program on another Node in place of this process. Runs on any Node >= 18.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * `runOnNode` forwards signals to the program and exits with its exit code. Ctrl-C in a terminal reaches both processes, so the program gets
 * it twice and ignores the second one (src/cli/common/stop.ts). If this process is killed, the program sees its IPC channel close.
 */
export function runOnNode(node, args, onError) {
  // Before the start: a signal that arrives right after it would end this process, and not reach the program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  child.on('error', onError);
  child.on('close', (code, signal) => {
    // The exit code that a shell reports for a signal.
    process.exitCode = signal ? 128 + constants.signals[signal] : (code ?? 1);
  });
  return child;
}
