/** The management cluster, which holds Operators, Clusters and rollouts: the flags that select it, and the output of its objects. */
import { type Command, Option } from 'commander';
import type { Client } from '../../runtime/index.ts';
import { plainLine, plainValues } from '../../runtime/internal.ts';
import { withClient } from './client.ts';
import type { Streams } from './streams.ts';
import { safeYaml } from './yaml.ts';

export interface WhereFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface ShowFlags extends WhereFlags {
  readonly output: 'table' | 'json' | 'yaml';
}

export function where(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'Use this management cluster (default: $KUBECONFIG, or ~/.kube/config)')
    .option('--context <name>', 'Use this context of the kubeconfig (default: the current one)');
}

export const output = (): Option =>
  new Option('-o, --output <format>', 'Choose the output format: table, json or yaml')
    .choices(['table', 'json', 'yaml'])
    .default('table');

/** `withManagement` runs a task with a client of the management cluster and closes the client afterwards. */
export function withManagement<Answer>(
  { kubeconfig, context }: WhereFlags,
  task: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  return withClient(
    { ...(kubeconfig === undefined ? {} : { file: kubeconfig }), ...(context === undefined ? {} : { context }) },
    task,
  );
}

/** `print` writes a value as JSON or YAML, or the text for people. */
export function print(value: unknown, text: () => string, { output: format }: ShowFlags, { out }: Streams): void {
  if (format === 'json') out.write(`${JSON.stringify(value, null, 2)}\n`);
  else if (format === 'yaml') out.write(safeYaml(value));
  else out.write(text());
}

export function table(heads: readonly string[], given: readonly (readonly string[])[]): string {
  const rows = plainValues(given);
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [heads, ...rows]
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** `facts` writes one labelled value per line and omits undefined ones. */
export function facts(all: readonly (readonly [string, string | undefined])[]): string {
  return all
    .flatMap(([label, value]) => (value === undefined ? [] : [`${label.padEnd(16)} ${plainLine(value)}\n`]))
    .join('');
}
