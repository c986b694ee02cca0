/** The words of `kidp rollout`, and what each is for. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { rolloutPhases } from '../../api/index.ts';
import { output, type ShowFlags, where } from '../common/management.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { ChangeFlags, Control } from './change.ts';
import type { DecideFlags, Decision } from './decide.ts';
import type { ListFlags } from './show.ts';
import type { WatchFlags } from './watch.ts';

/** `done` gets the exit code. What it takes is loaded only when it is asked for. */
export function declareRollout(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('operators on their way to clusters: OperatorDeployments (docs/rollouts.md)');

  where(command.command('list'))
    .description('tell which rollouts there are and how far they are')
    .option('--operator <name>', 'only of this Operator')
    .addOption(new Option('--phase <name>', 'only in this phase').choices(rolloutPhases))
    .addOption(output())
    .action(async (options: ListFlags) => {
      const { listRollouts } = await import('./show.ts');
      done(await listRollouts(options, streams));
    });

  where(command.command('status'))
    .description('tell all about one rollout; exit code 1 where it has failed')
    .argument('<name>', 'of the OperatorDeployment')
    .addOption(output())
    .action(async (name: string, options: ShowFlags) => {
      const { rolloutStatus } = await import('./show.ts');
      done(await rolloutStatus(name, options, streams));
    });

  where(command.command('watch'))
    .description('follow a rollout to its end: exit code 0 where it is completed, 1 where it failed or was rolled back')
    .argument('<name>', 'of the OperatorDeployment')
    .option('--interval <seconds>', 'how often to look', interval, 1)
    .action(async (name: string, options: WatchFlags) => {
      const { watchRollout } = await import('./watch.ts');
      done(await watchRollout(name, options, streams));
    });

  for (const [word, decision, text] of [
    ['approve', 'Approve', 'agree to a rollout that waits for it'],
    ['reject', 'Reject', 'refuse a rollout: one refusal ends it'],
  ] as const satisfies readonly (readonly [string, Decision, string])[]) {
    where(command.command(word))
      .description(text)
      .argument('<name>', 'of an Approval, or of an OperatorDeployment for all that it waits for')
      .option('--reason <text>', 'why, for the record')
      .action(async (name: string, options: DecideFlags) => {
        const { decide } = await import('./decide.ts');
        done(await decide(name, decision, options, streams));
      });
  }

  for (const [word, text] of [
    ['promote', 'go on with the stage that is under way without waiting for the rest of its evaluation; switch over'],
    ['pause', 'begin nothing new; what has begun on a cluster is finished'],
    ['resume', 'go on after a pause'],
    ['abort', 'stop where it is and leave every cluster as it is; it cannot be taken back'],
    ['rollback', 'take every cluster that was touched back to what was there before; it cannot be taken back'],
  ] as const satisfies readonly (readonly [Control, string])[]) {
    const declared = where(command.command(word))
      .description(text)
      .argument('<name>', 'of the OperatorDeployment')
      .action(async (name: string, options: ChangeFlags) => {
        const { changeRollout } = await import('./change.ts');
        done(await changeRollout(name, word, options, streams));
      });
    if (word === 'promote') declared.option('--stage <number>', 'which one (default: the one under way)', stage);
  }
}

function interval(text: string): number {
  const number = Number(text);
  if (!(number >= 0.1 && number <= 3600)) throw new InvalidArgumentError('seconds, from 0.1 to 3600');
  return number;
}

function stage(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 1000) {
    throw new InvalidArgumentError('a whole number, counted from 1');
  }
  return number;
}
