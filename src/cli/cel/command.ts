/** The words of `kidp cel`. Only words: what they do is loaded when one of them is called. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CelOptions } from './session.ts';

/** Gives `cel` its subcommands; `report` gets the exit code of the one that ran. */
export function declareCel(cel: Command, report: (code: number) => void): void {
  cel.description("evaluate, check and explain expressions of Kubernetes' policies, without a cluster");
  const streams = { in: process.stdin, out: process.stdout, err: process.stderr };

  withData(cel.command('eval'))
    .description('print the value of an expression as JSON')
    .argument('[expression]', 'the expression; after -- when it starts with a minus')
    .option('--batch', 'read JSON lines {"expr", "object", …variables} from standard input and answer each with a line')
    .action(async (expression: string | undefined, options: CelOptions & { batch?: boolean }) => {
      const { evaluateBatch, evaluateOne } = await import('./run.ts');
      report(await (options.batch === true ? evaluateBatch : evaluateOne)(expression, options, streams));
    });

  withData(cel.command('check'))
    .description('say everything that is wrong with an expression, or its type and what it may cost')
    .argument('<expression>')
    .action(async (expression: string, options: CelOptions) => {
      const { checkOne } = await import('./run.ts');
      report(await checkOne(expression, options, streams));
    });

  withData(cel.command('explain'))
    .description('draw the value of each part of an expression under it')
    .argument('<expression>')
    .action(async (expression: string, options: CelOptions) => {
      const { explainOne } = await import('./run.ts');
      report(await explainOne(expression, options, streams));
    });

  withData(cel.command('repl'))
    .description('evaluate line by line; `name = expression` keeps a value, :help shows what else there is')
    .argument('[expression]', 'evaluated first')
    .action(async (expression: string | undefined, options: CelOptions) => {
      const { repl } = await import('./run.ts');
      report(await repl(expression, options, streams));
    });

  withLanguage(cel.command('format'))
    .description('write an expression in the one style; comments are not kept')
    .argument('<expression>', 'the expression, or - for standard input')
    .action(async (expression: string, options: CelOptions) => {
      const { formatOne } = await import('./run.ts');
      report(await formatOne(expression, options, streams));
    });
}

function withData(command: Command): Command {
  return withLanguage(command)
    .option('-f, --filename <path>', 'the object, as YAML or JSON; - for standard input')
    .option('--old <path>', 'the object as it was: oldObject')
    .option('--params <path>', 'the parameters of a policy: params')
    .option('--var <name=json>', 'another variable, such as request={"operation":"DELETE"}; may be repeated', variable)
    .option('--schema <path>', 'a CustomResourceDefinition: types object and oldObject')
    .option('--schema-version <name>', 'the version of it (default: the one that is stored)');
}

function withLanguage(command: Command): Command {
  return command
    .addOption(
      new Option('--environment <name>', 'the functions there are')
        .choices(['kubernetes-1.36', 'extended'])
        .default('kubernetes-1.36'),
    )
    .addOption(new Option('-o, --output <format>', 'how to answer').choices(['text', 'json']).default('text'));
}

function variable(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const match = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text);
  if (match === null) throw new InvalidArgumentError('a variable is given as name=JSON');
  return { ...earlier, [match[1] as string]: match[2] as string };
}
