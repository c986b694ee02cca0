/** Parses the command-line options of `kidp crd`; an invalid value is bad input. */
import type { ChangeClass } from '../../crd-compat/index.ts';
import { oneOf } from '../check/options.ts';
import { type CrdFormat, crdFormats } from './output/format.ts';

/** The options that select a cluster, as commander parses them. */
export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

export interface CompareOptions extends ClusterOptions {
  name?: string;
  objects?: string[];
  values?: string[];
  set?: string[];
  output?: string;
  failOn?: string;
  quiet?: boolean;
}

export interface CheckOptions extends CompareOptions {
  base?: string;
}

export interface Settings {
  readonly output: CrdFormat;
  readonly failOn: Exclude<ChangeClass, 'safe'>;
  readonly quiet: boolean;
}

export function settingsOf(options: CompareOptions): Settings {
  return {
    output: oneOf('--output', options.output ?? 'text', crdFormats),
    failOn: oneOf('--fail-on', options.failOn ?? 'breaking', ['breaking', 'risky'] as const),
    quiet: options.quiet ?? false,
  };
}
