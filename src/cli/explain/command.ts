/** The words of `kidp explain`, and what each is for. */
import { type Command, Option } from 'commander';
import { repeated } from '../common/flags.ts';
import type { ExplainOptions } from './run.ts';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareExplain(command: Command, done: (code: number) => void): void {
  command
    .description('show how policies come to what they say about objects: what matched, and the value of every part')
    .requiredOption('-f, --filename <path...>', 'policies and objects: files, directories, or - for standard input')
    .option('--policy <name>', 'only this policy')
    .option('--rule <name>', 'only this rule')
    .option('--old <path...>', 'the same objects as they are now: the change is explained as an update')
    .option('--params <path...>', 'objects that policies read as params')
    .option('--operation <name>', 'explain as CREATE, UPDATE or DELETE')
    .option('--user <name>', 'who applies')
    .option('--group <name...>', 'a group that the user is in')
    .option(
      '--namespace-labels <namespace=key=value,...>',
      'labels of a namespace that is not among the files',
      repeated,
    )
    .option('--exception-namespace <name...>', 'where PolicyExceptions are taken from (default: policy-exceptions)')
    .option('--now <date>', 'explain as if it were then: enforceAfter and expiresAt hang on it')
    .addOption(new Option('-o, --output <format>', 'how to answer').choices(['text', 'json']).default('text'))
    .addHelpText('after', '\nExit codes: 0 explained, whatever the answer is, 2 bad input.')
    .action(async (options: ExplainOptions) => {
      const { explain } = await import('./run.ts');
      done(await explain(options, { out: process.stdout, err: process.stderr, in: process.stdin }));
    });
}
