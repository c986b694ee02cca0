/** The flags and the help of `kidp cel`. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { terminal } from '../common/streams.ts';
import type { CelOptions } from './session.ts';

/** Declares `kidp cel`; `report` gets the exit code. */
export function declareCel(cel: Command, report: (code: number) => void): void {
  cel.description('Evaluate, type-check and explain CEL expressions offline');
  const streams = { in: process.stdin, out: process.stdout, err: terminal.err };

  withData(cel.command('eval'))
    .description('Print the value of an expression as JSON')
    .argument('[expression]', 'the expression; put -- before one that starts with a minus')
    .option('--batch', 'Read JSON lines {"expr", "object", …variables} from standard input and answer each with a line')
    .action(async (expression: string | undefined, options: CelOptions & { batch?: boolean }) => {
      const { evaluateBatch, evaluateOne } = await import('./run.ts');
      report(await (options.batch === true ? evaluateBatch : evaluateOne)(expression, options, streams));
    });

  withData(cel.command('check'))
    .description('List every error in an expression, or print its type and estimated cost')
    .argument('<expression>')
    .action(async (expression: string, options: CelOptions) => {
      const { checkOne } = await import('./run.ts');
      report(await checkOne(expression, options, streams));
    });

  withData(cel.command('explain'))
    .description('Draw the value of every sub-expression under an expression')
    .argument('<expression>')
    .action(async (expression: string, options: CelOptions) => {
      const { explainOne } = await import('./run.ts');
      report(await explainOne(expression, options, streams));
    });

  withData(cel.command('repl'))
    .description('Evaluate interactively; `name = expression` keeps a value, :help lists the commands')
    .argument('[expression]', 'evaluated before the first prompt')
    .action(async (expression: string | undefined, options: CelOptions) => {
      const { repl } = await import('./run.ts');
      report(await repl(expression, options, streams));
    });

  withLanguage(cel.command('format'))
    .description('Format an expression; comments are dropped')
    .argument('<expression>', 'the expression, or - for standard input')
    .action(async (expression: string, options: CelOptions) => {
      const { formatOne } = await import('./run.ts');
      report(await formatOne(expression, options, streams));
    });
}

function withData(command: Command): Command {
  return withLanguage(command)
    .option('-f, --filename <path>', 'Read object from this file, YAML or JSON; - for standard input')
    .option('--old <path>', 'Read oldObject from this file')
    .option('--params <path>', 'Read params from this file')
    .option(
      '--var <name=json>',
      'Set another variable, such as request={"operation":"DELETE"}; may be repeated',
      variable,
    )
    .option('--schema <path>', 'Type object and oldObject by this CustomResourceDefinition')
    .option(
      '--schema-version <name>',
      'Use this version of the CustomResourceDefinition (default: the storage version)',
    );
}

function withLanguage(command: Command): Command {
  return command
    .addOption(
      new Option('--environment <name>', 'Choose the set of functions and libraries')
        .choices(['kubernetes-1.36', 'extended'])
        .default('kubernetes-1.36'),
    )
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format').choices(['text', 'json']).default('text'),
    );
}

function variable(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const match = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text);
  if (match === null) throw new InvalidArgumentError('want name=JSON');
  return { ...earlier, [match[1] as string]: match[2] as string };
}
