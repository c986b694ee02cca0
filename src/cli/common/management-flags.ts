/** The flags that select the management cluster and the output. */
import { type Command, Option } from 'commander';

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
