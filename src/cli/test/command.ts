/** The flags and the help of `kidp test`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { terminal } from '../common/streams.ts';
import type { TestOptions } from './run.ts';

/** Declares `kidp test`; `done` gets the exit code. */
export function declareTest(command: Command, done: (code: number) => void): void {
  command
    .description('Run the tests embedded in policies, type-check them and report coverage')
    .argument('<path...>', 'policies and CustomResourceDefinitions: files, directories, or - for standard input')
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format')
        .choices(['text', 'json', 'junit'])
        .default('text'),
    )
    .option('--coverage', 'List the rules and sub-expressions that no test covers')
    .option('--min-coverage <percent>', 'Fail if the tests of a policy cover less than this', percentage)
    .addHelpText('after', '\nExit codes: 0 all tests and checks pass, 1 a test or a check fails, 2 bad input.')
    .action(async (paths: string[], options: Omit<TestOptions, 'paths'>) => {
      const { test } = await import('./run.ts');
      done(await test({ ...options, paths }, terminal));
    });
}

function percentage(text: string): number {
  const number = Number(text);
  if (!(number >= 0 && number <= 100)) throw new InvalidArgumentError('want a percentage from 0 to 100');
  return number;
}
