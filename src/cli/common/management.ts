/** The management cluster, which holds Operators, Clusters and rollouts: a client for it, and the output of its objects. */
import type { Client } from '../../runtime/index.ts';
import { plainLine, plainValues } from '../../runtime/internal.ts';
import { withClient } from './client.ts';
import type { ShowFlags, WhereFlags } from './management-flags.ts';
import type { Streams } from './streams.ts';
import { safeYaml } from './yaml.ts';

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
