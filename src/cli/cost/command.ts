/** The words of `kidp cost`, and what each is for. */
import { type Command, Option } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { CostOptions } from './run.ts';

/** `done` gets the exit code. What it takes to answer is loaded only when it is asked. */
export function declareCost(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('tell what teams have to pay for, resource by resource, those that are gone included')
    .option('--team <name>', 'only this Team, by its name or namespace (default: all)')
    .option('--month <month>', 'as 2026-01, in UTC (default: this month)')
    .option('--kubeconfig <file>', 'the cluster to ask (default: $KUBECONFIG, or ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig (default: the current one)')
    .option('--namespace <name>', 'of the platform, where the costs of what is gone are kept', 'kidp-system')
    .addOption(
      new Option('-o, --output <format>', 'table, csv or json').choices(['table', 'csv', 'json']).default('table'),
    )
    .action(async (options: CostOptions) => {
      const { cost } = await import('./run.ts');
      done(await cost(options, streams));
    });
}
