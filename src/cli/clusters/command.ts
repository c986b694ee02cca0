/** The words of `kidp clusters`, and what each is for. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { output, type WhereFlags, where } from '../common/management.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { AddFlags } from './add.ts';
import type { KeygenFlags } from './keygen.ts';
import type { ListFlags, RemoveFlags } from './options.ts';

/** `done` gets the exit code. What it takes is loaded only when it is asked for. */
export function declareClusters(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('the clusters that operators are rolled out to (docs/rollouts.md)');

  where(command.command('add'))
    .description('register a cluster: its kubeconfig is tried, sealed on this machine, and sent only sealed')
    .argument('<name>', 'of the Cluster')
    .requiredOption('--from <file>', 'the kubeconfig of the cluster; - reads standard input')
    .option('--from-context <name>', 'the context of that kubeconfig (default: the current one)')
    .addOption(new Option('--environment <name>', 'what it is for').choices(['Dev', 'Staging', 'Production']))
    .option('--description <text>', 'what runs there')
    .option('--contact <text>', 'whom to ask; it is erased with the Cluster')
    .option('--label <key=value...>', 'labels, for the selectors of rollouts', pairs)
    .option('--namespace <name>', 'of the platform itself', 'kidp-system')
    .option('--sealing-key <file>', 'the public key of the platform (default: the one that it publishes)')
    .option('--replace', 'the Cluster is there: only seal another kubeconfig for it')
    .option('--skip-check', 'this machine does not reach the cluster: leave the first try to the platform')
    .option('--dry-run', 'print what would be made')
    .action(async (name: string, options: AddFlags) => {
      const { addCluster } = await import('./add.ts');
      done(await addCluster(name, options, streams));
    });

  where(command.command('list'))
    .description('tell which clusters there are and how they fare')
    .addOption(new Option('--environment <name>', 'only of these').choices(['Dev', 'Staging', 'Production']))
    .addOption(output())
    .action(async (options: ListFlags) => {
      const { listClusters } = await import('./show.ts');
      done(await listClusters(options, streams));
    });

  where(command.command('status'))
    .description('tell all about one cluster, and the operators on it')
    .argument('<name>', 'of the Cluster')
    .addOption(output())
    .action(async (name: string, options: ListFlags) => {
      const { clusterStatus } = await import('./show.ts');
      done(await clusterStatus(name, options, streams));
    });

  where(command.command('remove'))
    .description(
      'forget a cluster: its credentials and all that was made for them are erased; what is installed there stays',
    )
    .argument('<name>', 'of the Cluster')
    .option('--no-wait', 'do not wait until it is gone')
    .option('--timeout <seconds>', 'how long to wait', seconds, 600)
    .action(async (name: string, options: RemoveFlags) => {
      const { removeCluster } = await import('./change.ts');
      done(await removeCluster(name, options, streams));
    });

  for (const [word, paused, text] of [
    ['pause', true, 'roll nothing new out to a cluster: a rollout that comes to it goes on without it'],
    ['resume', false, 'let rollouts reach a cluster again'],
  ] as const) {
    where(command.command(word))
      .description(text)
      .argument('<name>', 'of the Cluster')
      .action(async (name: string, options: WhereFlags) => {
        const { pauseCluster } = await import('./change.ts');
        done(await pauseCluster(name, paused, options, streams));
      });
  }

  command
    .command('keygen')
    .description('make the key that kubeconfigs are sealed with, for --cluster-keys of `kidp serve`')
    .option('--out <file>', 'where to; another file is made in its place with the new key first (default: print it)')
    .option('--keep <file>', 'the keys of before, which go on opening what they sealed (default: those in --out)')
    .action(async (options: KeygenFlags) => {
      const { keygen } = await import('./keygen.ts');
      done(await keygen(options, streams));
    });
}

function pairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('write it as key=value');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function seconds(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 86_400) {
    throw new InvalidArgumentError('a whole number of seconds, at most a day');
  }
  return number;
}
