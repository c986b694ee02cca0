/** The flags and the help of `kidp graph`. */
import { type Command, Option } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { GraphOptions } from './run.ts';

/** Declares `kidp graph`; `done` gets the exit code. */
export function declareGraph(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('Show owners and dependencies, and suggest missing dependencies')
    .option(
      '-f, --filename <path...>',
      'Read manifests instead of a cluster: files, directories, or - for standard input',
    )
    .option('--kubeconfig <file>', 'Read from this cluster (default: $KUBECONFIG, or ~/.kube/config)')
    .option('--context <name>', 'Use this context of the kubeconfig (default: the current one)')
    .option('--team <name>', 'Show only the objects of this Team, their dependencies and their dependents')
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format: text, dot (Graphviz), mermaid or json')
        .choices(['text', 'dot', 'mermaid', 'json'])
        .default('text'),
    )
    .action(async (options: GraphOptions) => {
      const { graph } = await import('./run.ts');
      done(await graph(options, streams));
    });
}
