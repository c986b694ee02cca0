/** The flags and the help of `kidp rbac`. */
import type { Command } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { RbacOptions } from './run.ts';

/** Declares `kidp rbac`; `done` gets the exit code. */
export function declareRbac(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('Print the ClusterRole with the read access that policies need')
    .requiredOption(
      '-f, --filename <path...>',
      'Read policies, and CRDs whose objects are read, from files, directories, or - for standard input',
    )
    .option('--include-secrets', 'Also grant read access to the Secrets of Kubernetes')
    .option('--name <name>', 'Set the name of the ClusterRole', 'kidp-read-policies')
    .option('--kubeconfig <file>', 'Resolve wildcards and plurals with the kinds that this cluster serves')
    .addHelpText(
      'after',
      `
Apply the result as an administrator: kidp rbac -f policies/ | kubectl apply -f -
Kubernetes aggregates it into the ClusterRole kidp-read. kidp itself cannot write it.

Exit codes: 0 printed, 2 bad input.`,
    )
    .action(async (options: RbacOptions) => {
      const { rbac } = await import('./run.ts');
      done(await rbac(options, streams));
    });
}
