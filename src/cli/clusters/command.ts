/** The flags and the help of `kidp clusters`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { output, type WhereFlags, where } from '../common/management-flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { AddFlags } from './add.ts';
import type { KeygenFlags } from './keygen.ts';
import type { ListFlags, RemoveFlags } from './options.ts';

/** Declares `kidp clusters`; `done` gets the exit code. */
export function declareClusters(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('Register and manage the clusters that operators are rolled out to');

  where(command.command('add'))
    .description('Register a cluster; its kubeconfig is tested and encrypted on this machine before it is sent')
    .argument('<name>', 'name of the Cluster')
    .requiredOption('--from <file>', 'Read the kubeconfig of the cluster from this file; - for standard input')
    .option('--from-context <name>', 'Use this context of that kubeconfig (default: the current one)')
    .addOption(
      new Option('--environment <name>', 'Set the environment of the cluster').choices([
        'Dev',
        'Staging',
        'Production',
      ]),
    )
    .option('--description <text>', 'Describe the cluster')
    .option('--contact <text>', 'Name a contact; it is erased together with the Cluster')
    .option('--label <key=value...>', 'Set labels, for the selectors of rollouts', pairs)
    .option('--namespace <name>', 'Set the namespace of the platform', 'kidp-system')
    .option('--sealing-key <file>', 'Encrypt with this public key of the platform (default: the published one)')
    .option('--replace', 'Replace the kubeconfig of an existing Cluster')
    .option('--skip-check', 'Skip the connection test, if this machine cannot reach the cluster')
    .option('--dry-run', 'Print the objects without creating them')
    .action(async (name: string, options: AddFlags) => {
      const { addCluster } = await import('./add.ts');
      done(await addCluster(name, options, streams));
    });

  where(command.command('list'))
    .description('List clusters and their health')
    .addOption(
      new Option('--environment <name>', 'List only clusters of this environment').choices([
        'Dev',
        'Staging',
        'Production',
      ]),
    )
    .addOption(output())
    .action(async (options: ListFlags) => {
      const { listClusters } = await import('./show.ts');
      done(await listClusters(options, streams));
    });

  where(command.command('status'))
    .description('Show one cluster and the operators on it')
    .argument('<name>', 'name of the Cluster')
    .addOption(output())
    .action(async (name: string, options: ListFlags) => {
      const { clusterStatus } = await import('./show.ts');
      done(await clusterStatus(name, options, streams));
    });

  where(command.command('remove'))
    .description('Remove a cluster and erase its credentials; installed operators stay on it')
    .argument('<name>', 'name of the Cluster')
    .option('--no-wait', 'Return before the removal has finished')
    .option('--timeout <seconds>', 'Wait this long', seconds, 600)
    .action(async (name: string, options: RemoveFlags) => {
      const { removeCluster } = await import('./change.ts');
      done(await removeCluster(name, options, streams));
    });

  for (const [word, paused, text] of [
    ['pause', true, 'Pause a cluster; rollouts skip it'],
    ['resume', false, 'Resume a cluster, so that rollouts reach it again'],
  ] as const) {
    where(command.command(word))
      .description(text)
      .argument('<name>', 'name of the Cluster')
      .action(async (name: string, options: WhereFlags) => {
        const { pauseCluster } = await import('./change.ts');
        done(await pauseCluster(name, paused, options, streams));
      });
  }

  command
    .command('keygen')
    .description('Generate the key that encrypts kubeconfigs, for --cluster-keys of `kidp serve`')
    .option('--out <file>', 'Write to this file; an existing file is replaced, with the new key first (default: print)')
    .option('--keep <file>', 'Keep the keys of this file for decryption (default: those in --out)')
    .action(async (options: KeygenFlags) => {
      const { keygen } = await import('./keygen.ts');
      done(await keygen(options, streams));
    });
}

function pairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('want key=value');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function seconds(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 86_400) {
    throw new InvalidArgumentError('want a whole number of seconds from 1 to 86400');
  }
  return number;
}
