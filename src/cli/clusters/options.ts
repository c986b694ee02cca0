/** What the commands of `kidp clusters` are given. */
import type { Environment } from '../../api/index.ts';
import type { Client } from '../../runtime/index.ts';
import { withClient } from '../client.ts';

export interface WhereFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface ListFlags extends WhereFlags {
  readonly environment?: Environment;
  readonly output: 'table' | 'json';
}

export interface RemoveFlags extends WhereFlags {
  readonly wait: boolean;
  readonly timeout: number;
}

/** The management cluster, for as long as it takes. */
export function withManagement<Answer>(
  { kubeconfig, context }: WhereFlags,
  task: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  return withClient(
    { ...(kubeconfig === undefined ? {} : { file: kubeconfig }), ...(context === undefined ? {} : { context }) },
    task,
  );
}
