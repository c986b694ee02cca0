/** The flags and the help of `kidp cost`. */
import { type Command, Option } from 'commander';
import { type Streams, terminal } from '../common/streams.ts';
import type { CostOptions } from './run.ts';

/** Declares `kidp cost`; `done` gets the exit code. */
export function declareCost(command: Command, done: (code: number) => void, streams: Streams = terminal): void {
  command
    .description('Report the costs of teams for a month, by resource, including deleted ones')
    .option('--team <name>', 'Report only this Team, by its name or namespace (default: all)')
    .option('--month <month>', 'Choose the month in UTC, such as 2026-01 (default: this month)')
    .option('--kubeconfig <file>', 'Read from this cluster (default: $KUBECONFIG, or ~/.kube/config)')
    .option('--context <name>', 'Use this context of the kubeconfig (default: the current one)')
    .option(
      '--namespace <name>',
      'Set the namespace of the platform, which holds the costs of deleted resources',
      'kidp-system',
    )
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format: table, csv or json')
        .choices(['table', 'csv', 'json'])
        .default('table'),
    )
    .action(async (options: CostOptions) => {
      const { cost } = await import('./run.ts');
      done(await cost(options, streams));
    });
}
