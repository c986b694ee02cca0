/** The flags and the help of `kidp impact`. */
import { type Command, InvalidArgumentError } from 'commander';
import { repeated } from '../common/flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { ImpactOptions } from './run.ts';

/** Declares `kidp impact`; `done` gets the exit code. */
export function declareImpact(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('Report which existing objects a policy would deny')
    .requiredOption(
      '-f, --filename <path...>',
      'Read policies, and manifests to evaluate, from files, directories, or - for standard input',
    )
    .option('--kubeconfig <file>', 'Evaluate the objects of this cluster instead of manifests')
    .option('--params <path...>', 'Read objects that policies use as params; they are not evaluated themselves')
    .option(
      '--namespace-labels <namespace=key=value,...>',
      'Set the labels of a namespace that is not among the files',
      repeated,
    )
    .option(
      '--exception-namespace <name...>',
      'Honor PolicyExceptions in these namespaces (default: policy-exceptions)',
    )
    .option('--now <date>', 'Evaluate enforceAfter and expiresAt as of this date')
    .option('--first <number>', 'List this many denied objects by name for each rule', amount, 5)
    .option('--for <seconds>', 'Stop after this many seconds and report that the count is incomplete', amount)
    .option('-o, --output <format>', 'Choose the output format: text or json', 'text')
    .option('-q, --quiet', 'Print no progress on standard error')
    .action(async (options: ImpactOptions) => {
      const { impact } = await import('./run.ts');
      done(await impact(options, streams));
    });
}

function amount(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0)) throw new InvalidArgumentError('want a number of 0 or more');
  return number;
}
