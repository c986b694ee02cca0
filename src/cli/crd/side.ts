/**
 * Reads one side of a comparison from its argument: a file, a directory, `-`, `git:REVISION:PATH`, `cluster:[NAME]`,
 * `revision:NAME[@NUMBER]` or a Helm chart.
 */
import { relative } from 'node:path';
import { InputError } from '../common/failure.ts';
import { checkOutBase, type Reason } from '../common/git.ts';
import { describeProblem } from '../documents/index.ts';
import type { Definition } from './definitions.ts';
import { type FoundProblem, type PathOptions, type PathsRead, readPaths } from './paths.ts';

export interface Side extends PathsRead {
  /** The argument that the user gave. */
  readonly word: string;
}

export interface SideOptions extends Omit<PathOptions, 'prefixOf'> {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** `readSides` reads both sides. With `cluster:` it reads the other side first, to get the names of the definitions. */
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

/** `readLive` reads a side from a cluster. It loads the client only when one is needed. */
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

/** `readAt` reads paths at a git revision. With `mayBeMissing`, as in `check`, a path may be newer than the revision. */
export async function readAt(
  revision: string,
  paths: readonly string[],
  word: string,
  options: SideOptions & { readonly mayBeMissing?: boolean; readonly label?: string; readonly reason?: Reason },
): Promise<Side> {
  const files = checkOutBase(revision, paths, options.reason ?? { word, instead: 'name a file' });
  try {
    if (files.paths.length < paths.length && options.mayBeMissing !== true) {
      throw new InputError('no-such-file', `${word}: ${paths.join(', ')} does not exist at ${revision}.`);
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

/** `notesOf` lists what was not compared. A note on both sides is listed once, for the new side. */
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
      ? '1 file that mentions definitions but cannot be read as one was skipped'
      : `${files.size} files that mention definitions but cannot be read as one were skipped, the first`;
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

/** `placed` renames the file of an origin. Positions are computed lazily from the text, after the file may be deleted. */
function placed({ origin }: Definition, renamed: (file: string) => string): Definition['origin'] {
  return {
    file: renamed(origin.file),
    place: (field) => origin.place(field),
    lineAt: (line) => origin.lineAt(line),
  };
}
