/** The words of `kidp crd`, and what each is for. */
import type { Command } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { HistoryOptions } from './history.ts';
import type { CheckOptions, CompareOptions } from './options.ts';

const SIDES = `
OLD and NEW are each one of
  FILE, DIRECTORY or -      definitions in YAML or JSON; a directory may be of kustomize or hold Helm charts
  CHART or CHART.tgz        a Helm chart: crds/, and with helm on the PATH what its templates make
  git:REVISION:PATH         the same as it was at a revision of git
  cluster:NAME, cluster:    the definition of that name in the cluster, or all that the other side names
  revision:NAME[@NUMBER]    as the cluster had it before (kidp crd history)
Definitions are paired by name, and by path where several have a name; what is only in OLD is deleted, what is only in NEW is created.
In a directory, what is no definition is left alone; a file that is named must be one.
`;
const EXIT_CODES = '\nExit codes: 0 safe or risky, 1 breaking (with --fail-on risky also risky), 2 bad input.';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareCrd(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('compare CustomResourceDefinitions: what a change does to objects and manifests');

  answering(located(command.command('diff')))
    .description('compare two versions of definitions')
    .argument('<old>')
    .argument('<new>')
    .option('--name <name>', 'only the definition of this name')
    .addHelpText('after', SIDES + EXIT_CODES)
    .action(async (old: string, now: string, options: CompareOptions) => {
      const { diff } = await import('./run.ts');
      done(await diff(old, now, options, streams));
    });

  answering(located(command.command('check')))
    .description('compare the definitions of the work tree with those of a revision of git, for CI')
    .argument(
      '[path...]',
      'files, directories and charts (default: the current directory, which may be the root of a repository)',
    )
    .option(
      '--base <revision>',
      'of git (default: where this branch left origin/HEAD, origin/main or origin/master, else HEAD)',
    )
    .option('--name <name>', 'only the definition of this name')
    .addHelpText('after', EXIT_CODES)
    .action(async (paths: string[], options: CheckOptions) => {
      const { check } = await import('./run.ts');
      done(await check(paths.length === 0 ? ['.'] : paths, options, streams));
    });

  located(command.command('migrate'))
    .description(
      'sketch how a breaking change is made without breaking anybody: a new version, its conversion, the steps',
    )
    .argument('<old>')
    .argument('<new>')
    .option('--name <name>', 'only the definition of this name')
    .option('-o, --output <format>', 'markdown, yaml (the definition alone) or json', 'markdown')
    .addHelpText('after', `${SIDES}\nExit codes: 0 told, 2 bad input.`)
    .action(async (old: string, now: string, options: CompareOptions) => {
      const { migrate } = await import('./migrate.ts');
      done(await migrate(old, now, options, streams));
    });

  command
    .command('history')
    .description('the revisions of a definition that the cluster keeps, and what each change came to')
    .argument('<name>', 'of the CustomResourceDefinition, such as widgets.example.com')
    .option('--kubeconfig <file>', 'the cluster (default: as kubectl finds it)')
    .option('--context <name>', 'of the kubeconfig')
    .option('-o, --output <format>', 'text, json or yaml', 'text')
    .addHelpText('after', '\nExit codes: 0 told, 2 bad input.')
    .action(async (name: string, options: HistoryOptions) => {
      const { history } = await import('./history.ts');
      done(await history(name, options, streams));
    });
}

/** Where definitions are found. */
const located = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'the cluster that cluster: and revision: mean (default: as kubectl finds it)')
    .option('--context <name>', 'of the kubeconfig')
    .option('--values <file...>', 'for helm: values of charts')
    .option('--set <key=value...>', 'for helm: single values of charts');

/** How it is answered. */
const answering = (command: Command): Command =>
  command
    .option(
      '--objects <path...>',
      'objects that exist, checked against the new definition: files, directories, or cluster:',
    )
    .option('-o, --output <format>', 'text, json, yaml, sarif, github or markdown', 'text')
    .option('--fail-on <class>', 'breaking, or risky to fail on either', 'breaking')
    .option('-q, --quiet', 'tell only what fails');
