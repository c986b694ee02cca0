/** The words of `kidp check`, and what each is for. */
import type { Command } from 'commander';
import { repeated } from '../common/flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { CheckOptions } from './options.ts';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareCheck(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('decide about manifests as admission would, without a cluster')
    .requiredOption(
      '-f, --filename <path...>',
      'policies and manifests: files, directories (also of kustomize and Helm), or - for standard input',
    )
    .option('--old <path...>', 'the same objects as they are now: changes are judged as updates')
    .option('--base <revision>', 'of git: what was wrong there already is told, and does not fail')
    .option('--params <path...>', 'objects that policies read as params; they are not judged themselves')
    .option('--operation <name>', 'judge as CREATE, UPDATE or DELETE')
    .option('--user <name>', 'who applies: rules about users are judged for this one')
    .option('--group <name...>', 'a group that the user is in')
    .option(
      '--namespace-labels <namespace=key=value,...>',
      'labels of a namespace that is not among the files',
      repeated,
    )
    .option('--exception-namespace <name...>', 'where PolicyExceptions are taken from (default: policy-exceptions)')
    .option('--kubeconfig <file>', 'read namespaces, params, context and the objects as they are from this cluster')
    .option('--server-dry-run', 'ask the API server of the cluster, with all that runs there; nothing is stored')
    .option('--now <date>', 'judge as if it were then: enforceAfter and expiresAt hang on it')
    .option('-o, --output <format>', 'text, json, yaml, sarif, junit or github', 'text')
    .option('--fail-on <level>', 'deny: what admission would refuse; warn: every finding', 'deny')
    .option('-q, --quiet', 'tell only what fails')
    .addHelpText('after', '\nExit codes: 0 clean, 1 violations, 2 bad input.')
    .action(async (options: CheckOptions) => {
      const { check } = await import('./run.ts');
      done(await check(options, streams));
    });
}
