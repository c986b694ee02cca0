/** The flags and the help of `kidp uninstall`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { where } from '../common/management-flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { UninstallOptions } from './run.ts';

/** Declares `kidp uninstall`; `done` gets the exit code. */
export function declareUninstall(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  where(command)
    .description('Stop kidp in a cluster so that nothing is left behind that only kidp could remove')
    .addOption(
      new Option(
        '--finalizers <mode>',
        'Remove the finalizers and leave what brokers deployed, or delete the objects',
      ).choices(['release', 'delete']),
    )
    .option('--namespace <name>', 'Set the namespace of kidp', 'kidp-system')
    .option('--timeout <seconds>', 'Wait this long for deletions, and for the replicas to stop', seconds, 240)
    .addHelpText(
      'after',
      `
Lists the objects with finalizers of kidp, and stops if there are any: nobody would remove these finalizers, and the objects could not
be deleted. Otherwise it stops the replicas and deletes their webhook configurations. The chart runs it before "helm uninstall". CRDs,
objects and namespaces stay.

Exit codes: 0 kidp can be removed, 1 objects are left, 2 bad input.`,
    )
    .action(async (options: UninstallOptions) => {
      const { uninstall } = await import('./run.ts');
      done(await uninstall(options, streams));
    });
}

function seconds(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= 86_400) return number;
  throw new InvalidArgumentError('want a whole number of seconds from 1 to 86400');
}
