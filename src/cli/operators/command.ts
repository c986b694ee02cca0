/** The flags and the help of `kidp operators`. */
import type { Command } from 'commander';
import { output, type ShowFlags, where } from '../common/management-flags.ts';
import { type Streams, terminal } from '../common/streams.ts';

/** Declares `kidp operators`; `done` gets the exit code. */
export function declareOperators(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('List operators and their health');

  where(command.command('list'))
    .description('List operators, with the number of clusters they are installed on and healthy on')
    .addOption(output())
    .action(async (options: ShowFlags) => {
      const { listOperators } = await import('./show.ts');
      done(await listOperators(options, streams));
    });

  where(command.command('status'))
    .description('Show one operator: its versions and its health on each cluster')
    .argument('<name>', 'name of the Operator')
    .addOption(output())
    .action(async (name: string, options: ShowFlags) => {
      const { operatorStatus } = await import('./show.ts');
      done(await operatorStatus(name, options, streams));
    });
}
