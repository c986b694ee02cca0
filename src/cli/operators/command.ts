/** The words of `kidp operators`, and what each is for. */
import type { Command } from 'commander';
import { output, type ShowFlags, where } from '../common/management.ts';
import { type Streams, terminal } from '../common/streams.ts';

/** `done` gets the exit code. What it takes is loaded only when it is asked for. */
export function declareOperators(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('the operators that can be rolled out, and how they fare (docs/rollouts.md)');

  where(command.command('list'))
    .description('tell which operators there are, on how many clusters, and on how many they are well')
    .addOption(output())
    .action(async (options: ShowFlags) => {
      const { listOperators } = await import('./show.ts');
      done(await listOperators(options, streams));
    });

  where(command.command('status'))
    .description('tell all about one operator: its versions, and how it fares on each cluster')
    .argument('<name>', 'of the Operator')
    .addOption(output())
    .action(async (name: string, options: ShowFlags) => {
      const { operatorStatus } = await import('./show.ts');
      done(await operatorStatus(name, options, streams));
    });
}
