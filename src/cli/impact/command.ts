/** The words of `kidp impact`, and what each is for. */
import { type Command, InvalidArgumentError } from 'commander';
import { repeated } from '../common/flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { ImpactOptions } from './run.ts';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareImpact(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('tell what policies would deny of what is there already')
    .requiredOption('-f, --filename <path...>', 'policies, and the manifests to judge: files, directories, or -')
    .option('--kubeconfig <file>', 'judge the objects of this cluster instead of the manifests')
    .option('--params <path...>', 'objects that policies read as params; they are not judged themselves')
    .option(
      '--namespace-labels <namespace=key=value,...>',
      'labels of a namespace that is not among the files',
      repeated,
    )
    .option('--exception-namespace <name...>', 'where PolicyExceptions are taken from (default: policy-exceptions)')
    .option('--now <date>', 'judge as if it were then: enforceAfter and expiresAt hang on it')
    .option('--first <number>', 'how many of the denied objects are told by name for each rule', amount, 5)
    .option('--for <seconds>', 'stop after this long, and say that the count is not complete', amount)
    .option('-o, --output <format>', 'text or json', 'text')
    .option('-q, --quiet', 'no progress on standard error')
    .action(async (options: ImpactOptions) => {
      const { impact } = await import('./run.ts');
      done(await impact(options, streams));
    });
}

function amount(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0)) throw new InvalidArgumentError('this is a number of 0 or more');
  return number;
}
