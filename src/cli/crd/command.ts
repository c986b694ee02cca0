/** The flags and the help of `kidp crd`. */
import type { Command } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { HistoryOptions } from './history.ts';
import type { CheckOptions, CompareOptions } from './options.ts';

const SIDES = `
OLD and NEW are each one of
  FILE, DIRECTORY or -      definitions in YAML or JSON; a directory may use kustomize or hold Helm charts
  CHART or CHART.tgz        a Helm chart: crds/ and, if helm is on the PATH, its rendered templates
  git:REVISION:PATH         the same at a git revision
  cluster:NAME, cluster:    the definition of that name in the cluster, or all that the other side names
  revision:NAME[@NUMBER]    an earlier revision in the cluster (kidp crd history)
Definitions are paired by name, or by path if several have the same name. A definition only in OLD counts as deleted, one only in NEW
as created. In a directory, files without definitions are ignored; a file given by name must contain one.
`;
const EXIT_CODES = '\nExit codes: 0 safe or risky, 1 breaking (with --fail-on risky also risky), 2 bad input.';

/** Declares `kidp crd`; `done` gets the exit code. */
export function declareCrd(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command.description('Compare versions of CustomResourceDefinitions and classify the changes');

  answering(located(command.command('diff')))
    .description('Compare two versions of definitions')
    .argument('<old>')
    .argument('<new>')
    .option('--name <name>', 'Compare only the definition of this name')
    .addHelpText('after', SIDES + EXIT_CODES)
    .action(async (old: string, now: string, options: CompareOptions) => {
      const { diff } = await import('./run.ts');
      done(await diff(old, now, options, streams));
    });

  answering(located(command.command('check')))
    .description('Compare the definitions of the work tree with those of a git revision, for CI')
    .argument(
      '[path...]',
      'files, directories and charts (default: the current directory, which may be the root of a repository)',
    )
    .option(
      '--base <revision>',
      'Compare with this git revision (default: the merge base with origin/HEAD, origin/main or origin/master, else HEAD)',
    )
    .option('--name <name>', 'Compare only the definition of this name')
    .addHelpText('after', EXIT_CODES)
    .action(async (paths: string[], options: CheckOptions) => {
      const { check } = await import('./run.ts');
      done(await check(paths.length === 0 ? ['.'] : paths, options, streams));
    });

  located(command.command('migrate'))
    .description('Draft a migration for a breaking change: a new version, its conversion and the steps')
    .argument('<old>')
    .argument('<new>')
    .option('--name <name>', 'Compare only the definition of this name')
    .option(
      '-o, --output <format>',
      'Choose the output format: markdown, yaml (the definition alone) or json',
      'markdown',
    )
    .addHelpText('after', `${SIDES}\nExit codes: 0 success, 2 bad input.`)
    .action(async (old: string, now: string, options: CompareOptions) => {
      const { migrate } = await import('./migrate.ts');
      done(await migrate(old, now, options, streams));
    });

  command
    .command('history')
    .description('List the stored revisions of a definition and the verdict on each change')
    .argument('<name>', 'name of the CustomResourceDefinition, such as widgets.example.com')
    .option('--kubeconfig <file>', 'Read from this cluster (default: as for kubectl)')
    .option('--context <name>', 'Use this context of the kubeconfig')
    .option('-o, --output <format>', 'Choose the output format: text, json or yaml', 'text')
    .addHelpText('after', '\nExit codes: 0 success, 2 bad input.')
    .action(async (name: string, options: HistoryOptions) => {
      const { history } = await import('./history.ts');
      done(await history(name, options, streams));
    });
}

/** Adds the flags that say where definitions are found. */
const located = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'Use this cluster for cluster: and revision: (default: as for kubectl)')
    .option('--context <name>', 'Use this context of the kubeconfig')
    .option('--values <file...>', 'Render charts with these values files')
    .option('--set <key=value...>', 'Render charts with these values');

/** Adds the flags for the result. */
const answering = (command: Command): Command =>
  command
    .option(
      '--objects <path...>',
      'Validate existing objects against the new definition: files, directories, or cluster:',
    )
    .option('-o, --output <format>', 'Choose the output format: text, json, yaml, sarif, github or markdown', 'text')
    .option('--fail-on <class>', 'Fail on breaking changes, or on risky ones too', 'breaking')
    .option('-q, --quiet', 'Print failures only');
