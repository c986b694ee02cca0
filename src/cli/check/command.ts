/** The flags and the help of `kidp check`. */
import type { Command } from 'commander';
import { repeated } from '../common/flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { CheckOptions } from './options.ts';

/** Declares `kidp check`; `done` gets the exit code. */
export function declareCheck(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('Evaluate manifests against policies offline, exactly as admission would')
    .requiredOption(
      '-f, --filename <path...>',
      'Read policies and manifests from files, directories (also kustomize and Helm), or - for standard input',
    )
    .option('--old <path...>', 'Read the current state of the objects from these files and evaluate changes as updates')
    .option(
      '--base <revision>',
      'Report violations that exist at this git revision as known; they do not fail the check',
    )
    .option('--params <path...>', 'Read objects that policies use as params; they are not evaluated themselves')
    .option('--operation <name>', 'Evaluate as CREATE, UPDATE or DELETE')
    .option('--user <name>', 'Evaluate rules about users as this user')
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
    .option('--kubeconfig <file>', 'Read namespaces, params, context and the current objects from this cluster')
    .option('--server-dry-run', 'Send the objects to the API server as a server-side dry run; nothing is stored')
    .option('--now <date>', 'Evaluate enforceAfter and expiresAt as of this date')
    .option('-o, --output <format>', 'Choose the output format: text, json, yaml, sarif, junit or github', 'text')
    .option('--fail-on <level>', 'Fail on deny (objects that admission would deny) or on warn (every finding)', 'deny')
    .option('-q, --quiet', 'Print failures only')
    .addHelpText('after', '\nExit codes: 0 clean, 1 violations, 2 bad input.')
    .action(async (options: CheckOptions) => {
      const { check } = await import('./run.ts');
      done(await check(options, streams));
    });
}
