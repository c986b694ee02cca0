// Runs a TypeScript entry of the project on the project's own Node, as if it were this process.
import { spawn } from 'node:child_process';
import { fail } from './install.mjs';

/**
 * The child shares the terminal, so Ctrl-C reaches it directly; this process only waits. Should this process be killed, the
 * child sees its channel close and stops by itself.
 */
export function handOver(node, args) {
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) =>
    fail(`${node} cannot be started (${error.message}): remove node_modules and run the command again.`),
  );
  child.on('close', (code, signal) => {
    if (signal) process.exitCode = 1;
    else process.exitCode = code ?? 1;
  });
}
