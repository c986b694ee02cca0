/**
 * One side of a comparison, from the word that names it: a file, a directory, `-`, `git:REVISION:PATH`, `cluster:[NAME]`,
 * `revision:NAME[@NUMBER]` or a Helm chart.
 */
import { relative } from 'node:path';
import { InputError } from '../common/failure.ts';
import { checkOutBase, type Reason } from '../common/git.ts';
import { describeProblem } from '../documents/index.ts';
import type { Definition } from './definitions.ts';
import { type FoundProblem, type PathOptions, type PathsRead, readPaths } from './paths.ts';

export interface Side extends PathsRead {
  /** As the user has named it. */
  readonly word: string;
}

export interface SideOptions extends Omit<PathOptions, 'prefixOf'> {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Asks a cluster for what the other side names, so that one is read after the other. */
export async function readSides(words: readonly [string, string], options: SideOptions): Promise<[Side, Side]> {
  const [old, now] = words;
  if (old === '-' && now === '-') {
    throw new InputError('option', 'both sides are standard input: use a file for one of them.');
  }
  if (isWholeCluster(old) && isWholeCluster(now)) {
    throw new InputError(
      'option',
      'both sides are the cluster: use definition names, a file or a revision for one of them.',
    );
  }
  if (isWholeCluster(old)) {
    const other = await readSide(now, options);
    return [await readSide(old, options, other.definitions), other];
  }
  const other = await readSide(old, options);
  return [other, await readSide(now, options, other.definitions)];
}

const isWholeCluster = (word: string): boolean => word === 'cluster:';

async function readSide(word: string, options: SideOptions, others: readonly Definition[] = []): Promise<Side> {
  if (/^(?:cluster|revision):/.test(word)) return readLive(word, options, others);
  if (word.startsWith('git:')) return readRevision(word, options);
  return readFiles([word], word, options);
}

/** What it takes to speak to a cluster is loaded only when one is asked. */
async function readLive(word: string, options: SideOptions, others: readonly Definition[]): Promise<Side> {
  const { withClient } = await import('../common/client.ts');
  if (word.startsWith('revision:')) {
    const { definitionAt } = await import('./revisions.ts');
    const found = await withClient(clusterOf(options), (client) => definitionAt(client, word));
    return { word, ...found, leftAlone: [], notes: [], isText: true };
  }
  const { clusterDefinitions } = await import('./cluster.ts');
  const name = word.slice('cluster:'.length);
  const names = name === '' ? others.map((each) => each.name) : [name];
  const found = await withClient(clusterOf(options), (client) => clusterDefinitions(client, names, name !== ''));
  return { word, ...found, leftAlone: [], notes: [], isText: name !== '' };
}

export const clusterOf = ({ kubeconfig, context }: Pick<SideOptions, 'kubeconfig' | 'context'>) => ({
  ...(kubeconfig === undefined ? {} : { file: kubeconfig }),
  ...(context === undefined ? {} : { context }),
});

async function readRevision(word: string, options: SideOptions): Promise<Side> {
  const [, revision, path] = /^git:([^:]+):(.*)$/.exec(word) ?? [];
  if (revision === undefined || path === undefined) {
    throw new InputError('option', `"${word}" is invalid: want git:REVISION:PATH, such as git:main:crds/.`);
  }
  return readAt(revision, [path === '' ? '.' : path], word, options);
}

/** Paths as they were at a revision of git. What was not there then is no problem for `check`, where it may be new. */
export async function readAt(
  revision: string,
  paths: readonly string[],
  word: string,
  options: SideOptions & { readonly mayBeMissing?: boolean; readonly label?: string; readonly reason?: Reason },
): Promise<Side> {
  const files = checkOutBase(revision, paths, options.reason ?? { word, instead: 'name a file' });
  try {
    if (files.paths.length < paths.length && options.mayBeMissing !== true) {
      throw new InputError('no-such-file', `${word}: there was no ${paths.join(', ')} at ${revision}.`);
    }
    const prefixed = options.mayBeMissing === true ? { prefixOf: (path: string) => relative(files.tree, path) } : {};
    const side = await readFiles(files.paths, word, { ...options, ...prefixed });
    return relabelled(side, files.tree, `git:${options.label ?? revision}:`);
  } finally {
    files.remove();
  }
}

export const readFiles = async (
  paths: readonly string[],
  word: string,
  options: SideOptions & Pick<PathOptions, 'prefixOf'>,
): Promise<Side> => ({ word, ...(await readPaths(paths, options)) });

/** What whoever asked should know of what was not compared; what holds for both sides is said once, of the new one. */
export function notesOf(old: Side, now: Side): string[] {
  const notes = new Map(
    [...old.notes, ...now.notes].map((each) => [JSON.stringify([each.path ?? each.file, each.message]), each]),
  );
  return [
    ...[...notes.values()].map(({ file, message }) => `${file}: ${message}`),
    ...leftAloneNote([...old.leftAlone, ...now.leftAlone]),
  ];
}

function leftAloneNote(all: readonly FoundProblem[]): string[] {
  const files = new Map(all.map((each) => [each.path, each]));
  const [first] = [...files.values()].sort((one, other) => (one.file < other.file ? -1 : 1));
  if (first === undefined) return [];
  const counted =
    files.size === 1
      ? '1 file that mentions definitions and cannot be read as one was left alone'
      : `${files.size} files that mention definitions and cannot be read as one were left alone, the first`;
  return [`${counted}: ${describeProblem(first)}`];
}

/** Reports files of a temporary checkout by their paths in the repository. */
function relabelled(side: Side, tree: string, label: string): Side {
  const renamed = (file: string) => {
    const way = relative(tree, file);
    return way.startsWith('..') ? file : `${label}${way}`;
  };
  const inWords = (message: string) => message.replaceAll(`${tree}/`, label);
  const renamedProblem = (each: FoundProblem) => ({
    ...each,
    file: renamed(each.file),
    message: inWords(each.message),
  });
  return {
    ...side,
    definitions: side.definitions.map((each) => ({ ...each, origin: placed(each, renamed) })),
    problems: side.problems.map(renamedProblem),
    leftAlone: side.leftAlone.map(renamedProblem),
    notes: side.notes.map((each) => ({ ...each, file: renamed(each.file) })),
  };
}

/** The places are worked out when they are asked for; the file may be gone by then, its text is not. */
function placed({ origin }: Definition, renamed: (file: string) => string): Definition['origin'] {
  return {
    file: renamed(origin.file),
    place: (field) => origin.place(field),
    lineAt: (line) => origin.lineAt(line),
  };
}
