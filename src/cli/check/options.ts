/** The words of the command line, as values; what cannot be one is bad input. */
import type { Operation, UserInfo } from '../../policy/index.ts';
import { InputError } from '../common/failure.ts';
import { type OutputFormat, outputFormats } from './output/format.ts';

/** As commander gives them. */
export interface CheckOptions {
  filename: string[];
  old?: string[];
  base?: string;
  params?: string[];
  output?: string;
  user?: string;
  group?: string[];
  namespaceLabels?: string[];
  operation?: string;
  kubeconfig?: string;
  serverDryRun?: boolean;
  now?: string;
  failOn?: string;
  exceptionNamespace?: string[];
  quiet?: boolean;
}

export interface Settings {
  readonly output: OutputFormat;
  readonly failOn: 'deny' | 'warn';
  /** In milliseconds since 1970. */
  readonly now: number;
  readonly operation?: Operation;
  readonly user?: UserInfo;
  /** Labels by namespace. */
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly quiet: boolean;
}

const operations: readonly Operation[] = ['CREATE', 'UPDATE', 'DELETE'];

export function settingsOf(options: CheckOptions, clock: () => number = Date.now): Settings {
  const user = userOf(options);
  return {
    output: oneOf('--output', options.output ?? 'text', outputFormats),
    failOn: oneOf('--fail-on', options.failOn ?? 'deny', ['deny', 'warn'] as const),
    now: options.now === undefined ? clock() : dateOf(options.now),
    ...(options.operation === undefined
      ? {}
      : { operation: oneOf('--operation', options.operation.toUpperCase(), operations) }),
    ...(user === undefined ? {} : { user }),
    namespaceLabels: namespaceLabelsOf(options.namespaceLabels ?? []),
    quiet: options.quiet ?? false,
  };
}

export function oneOf<Word extends string>(flag: string, given: string, known: readonly Word[]): Word {
  const found = known.find((word) => word === given);
  if (found !== undefined) return found;
  throw new InputError('option', `${flag} "${given}" is unknown: want ${list(known)}.`);
}

const list = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

function dateOf(text: string): number {
  const milliseconds = /^\d{4}-\d{2}-\d{2}(?:T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(milliseconds)) {
    throw new InputError('option', `--now "${text}" is not a date: want 2026-01-31 or 2026-01-31T12:00:00Z.`);
  }
  return milliseconds;
}

/** Includes the groups that an API server adds automatically. */
function userOf({ user, group = [] }: CheckOptions): UserInfo | undefined {
  if (user === undefined) {
    if (group.length === 0) return undefined;
    throw new InputError('option', '--group requires --user.');
  }
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(user) ?? [];
  const own = namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const everybody = user === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  return { username: user, groups: [...new Set([...group, ...own, everybody])] };
}

/** `team-a=environment=production,tier=1`. */
function namespaceLabelsOf(words: readonly string[]): Map<string, Record<string, string>> {
  const all = new Map<string, Record<string, string>>();
  for (const word of words) {
    const [, namespace, pairs] = /^([^=,]+)=(.+)$/.exec(word) ?? [];
    const labels = (pairs ?? '').split(',').map((pair) => /^([^=]+)=(.*)$/.exec(pair));
    if (namespace === undefined || labels.some((label) => label === null)) {
      throw new InputError(
        'option',
        `--namespace-labels "${word}" is invalid: want namespace=key=value, with further labels after a comma.`,
      );
    }
    const known = all.get(namespace) ?? {};
    for (const label of labels) if (label?.[1] !== undefined) known[label[1]] = label[2] ?? '';
    all.set(namespace, known);
  }
  return all;
}
