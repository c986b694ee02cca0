/** The flags and the help of `kidp up`. */
import type { Command } from 'commander';
import { type CrdGateFlags, declareCrdGate } from '../common/crd-gate-flags.ts';
import { port } from '../common/flags.ts';

export interface UpFlags extends CrdGateFlags {
  reset?: boolean;
  kubeconfig?: string;
  directory: string;
  port?: number;
  webhookPort?: number;
  webhookHost?: string;
}

/** Declares `kidp up`; `done` gets the exit code. */
export function declareUp(command: Command, done: (code: number) => void): void {
  declareCrdGate(command)
    .description('Start a local control plane with kidp in it, or join an existing cluster')
    .option('--reset', 'Delete the state of earlier runs first')
    .option('--kubeconfig <file>', 'Join this cluster instead of starting one; kidp removes itself when stopped')
    .option('--directory <path>', 'Keep state between runs in this directory', '.kidp')
    .option('--port <number>', 'Set the port of the API server (default: the last one used, or a free one)', port(1))
    .option('--webhook-port <number>', 'Set the port of the admission webhook (default: a free one)', port(1))
    .option(
      '--webhook-host <name>',
      'Set the name or address at which the cluster reaches this machine (default: the loopback address)',
    )
    .action(async (flags: UpFlags) => {
      const { up } = await import('./run.ts');
      done(await up(flags));
    });
}
