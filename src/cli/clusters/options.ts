/** What the commands of `kidp clusters` are given. */
import type { Environment } from '../../api/index.ts';
import type { ShowFlags, WhereFlags } from '../common/management-flags.ts';

export interface ListFlags extends ShowFlags {
  readonly environment?: Environment;
}

export interface RemoveFlags extends WhereFlags {
  readonly wait: boolean;
  readonly timeout: number;
}
