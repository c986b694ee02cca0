/** The words of `kidp test`, and what each is for. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TestOptions } from './run.ts';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareTest(command: Command, done: (code: number) => void): void {
  command
    .description('run the tests that policies carry, check them against schemas, and tell what no test reaches')
    .argument('<path...>', 'policies and CustomResourceDefinitions: files, directories, or - for standard input')
    .addOption(new Option('-o, --output <format>', 'how to answer').choices(['text', 'json', 'junit']).default('text'))
    .option('--coverage', 'tell which rules and which parts of expressions no test reaches')
    .option('--min-coverage <percent>', 'fail where the tests of a policy reach less of it', percentage)
    .addHelpText('after', '\nExit codes: 0 all is well, 1 a test or a check fails, 2 bad input.')
    .action(async (paths: string[], options: Omit<TestOptions, 'paths'>) => {
      const { test } = await import('./run.ts');
      done(await test({ ...options, paths }, { out: process.stdout, err: process.stderr, in: process.stdin }));
    });
}

function percentage(text: string): number {
  const number = Number(text);
  if (!(number >= 0 && number <= 100)) throw new InvalidArgumentError('a percentage is a number from 0 to 100');
  return number;
}
