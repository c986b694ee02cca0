/** The words of `kidp graph`, and what each is for. */
import { type Command, Option } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { GraphOptions } from './run.ts';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareGraph(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('show who owns and who uses what, and suggest dependencies')
    .option('-f, --filename <path...>', 'manifests to look at instead of a cluster: files, directories, or -')
    .option('--kubeconfig <file>', 'the cluster to look at (default: $KUBECONFIG, or ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig (default: the current one)')
    .option('--team <name>', 'only what belongs to this Team, and what that uses or is used by')
    .addOption(
      new Option('-o, --output <format>', 'text, dot (Graphviz), mermaid or json')
        .choices(['text', 'dot', 'mermaid', 'json'])
        .default('text'),
    )
    .action(async (options: GraphOptions) => {
      const { graph } = await import('./run.ts');
      done(await graph(options, streams));
    });
}
