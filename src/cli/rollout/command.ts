/** The flags and the help of `kidp rollout`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { rolloutPhases } from '../../api/index.ts';
import { output, type ShowFlags, where } from '../common/management-flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { ChangeFlags, Control } from './change.ts';
import type { DecideFlags, Decision } from './decide.ts';
import type { ListFlags } from './show.ts';
import type { WatchFlags } from './watch.ts';

/** Declares `kidp rollout`; `done` gets the exit code. */
export function declareRollout(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('Watch and control rollouts of operators (OperatorDeployments)');

  where(command.command('list'))
    .description('List rollouts and their progress')
    .option('--operator <name>', 'List only rollouts of this Operator')
    .addOption(new Option('--phase <name>', 'List only rollouts in this phase').choices(rolloutPhases))
    .addOption(output())
    .action(async (options: ListFlags) => {
      const { listRollouts } = await import('./show.ts');
      done(await listRollouts(options, streams));
    });

  where(command.command('status'))
    .description('Show one rollout; exit code 1 if it failed')
    .argument('<name>', 'name of the OperatorDeployment')
    .addOption(output())
    .action(async (name: string, options: ShowFlags) => {
      const { rolloutStatus } = await import('./show.ts');
      done(await rolloutStatus(name, options, streams));
    });

  where(command.command('watch'))
    .description('Watch a rollout until it ends; exit code 0 if it completed, 1 if it failed or was rolled back')
    .argument('<name>', 'name of the OperatorDeployment')
    .option('--interval <seconds>', 'Refresh at this interval', interval, 1)
    .action(async (name: string, options: WatchFlags) => {
      const { watchRollout } = await import('./watch.ts');
      done(await watchRollout(name, options, streams));
    });

  for (const [word, decision, text] of [
    ['approve', 'Approve', 'Approve a rollout that waits for approval'],
    ['reject', 'Reject', 'Reject a rollout; a single rejection ends it'],
  ] as const satisfies readonly (readonly [string, Decision, string])[]) {
    where(command.command(word))
      .description(text)
      .argument('<name>', 'name of an Approval, or of an OperatorDeployment for all its pending Approvals')
      .option('--reason <text>', 'Record this reason')
      .action(async (name: string, options: DecideFlags) => {
        const { decide } = await import('./decide.ts');
        done(await decide(name, decision, options, streams));
      });
  }

  for (const [word, text] of [
    ['promote', 'Finish the current stage without waiting for the rest of its evaluation, or switch over'],
    ['pause', 'Pause a rollout; steps already started on a cluster finish'],
    ['resume', 'Resume a paused rollout'],
    ['abort', 'Stop a rollout and leave every cluster as it is; this cannot be undone'],
    ['rollback', 'Roll back every changed cluster to its previous version; this cannot be undone'],
  ] as const satisfies readonly (readonly [Control, string])[]) {
    const declared = where(command.command(word))
      .description(text)
      .argument('<name>', 'name of the OperatorDeployment')
      .action(async (name: string, options: ChangeFlags) => {
        const { changeRollout } = await import('./change.ts');
        done(await changeRollout(name, word, options, streams));
      });
    if (word === 'promote') declared.option('--stage <number>', 'Promote this stage (default: the current one)', stage);
  }
}

function interval(text: string): number {
  const number = Number(text);
  if (!(number >= 0.1 && number <= 3600)) throw new InvalidArgumentError('want seconds from 0.1 to 3600');
  return number;
}

function stage(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 1000) {
    throw new InvalidArgumentError('want a whole number, counted from 1');
  }
  return number;
}
