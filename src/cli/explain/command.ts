/** The flags and the help of `kidp explain`. */
import { type Command, Option } from 'commander';
import { repeated } from '../common/flags.ts';
import { terminal } from '../common/streams.ts';
import type { ExplainOptions } from './run.ts';

/** Declares `kidp explain`; `done` gets the exit code. */
export function declareExplain(command: Command, done: (code: number) => void): void {
  command
    .description('Explain a decision: what matched, and the value of every sub-expression')
    .requiredOption(
      '-f, --filename <path...>',
      'Read policies and objects from files, directories, or - for standard input',
    )
    .option('--policy <name>', 'Explain only this policy')
    .option('--rule <name>', 'Explain only this rule')
    .option('--old <path...>', 'Read the current state of the objects from these files and explain changes as updates')
    .option('--params <path...>', 'Read objects that policies use as params')
    .option('--operation <name>', 'Explain as CREATE, UPDATE or DELETE')
    .option('--user <name>', 'Explain for this user')
    .option('--group <name...>', 'Evaluate as a member of this group')
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
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format').choices(['text', 'json']).default('text'),
    )
    .addHelpText('after', '\nExit codes: 0 explained, whatever the decision, 2 bad input.')
    .action(async (options: ExplainOptions) => {
      const { explain } = await import('./run.ts');
      done(await explain(options, terminal));
    });
}
