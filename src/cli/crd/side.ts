/**
 * One side of a comparison, from the word that names it: a file, a directory, `-`, `git:REVISION:PATH`, `cluster:[NAME]`,
 * `revision:NAME[@NUMBER]` or a Helm chart.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { checkOutBase } from '../check/base.ts';
import { filesOf } from '../documents/origins.ts';
import { build, shownPath } from '../documents/sources.ts';
import { type LocatedObject, type Manifests, type Problem, parseSource, readManifests } from '../documents.ts';
import { InputError } from '../failure.ts';
import { chartTexts, isArchive } from './chart.ts';
import { acceptDocument, type Definition, definitionsOf, isDefinition } from './definitions.ts';

export interface Side {
  /** As the user has named it. */
  readonly word: string;
  readonly definitions: readonly Definition[];
  readonly problems: readonly Problem[];
  /** What could not be looked at, in words. */
  readonly notes: readonly string[];
  /** One text, as a file is: whoever names one means what is in it, and not that all else is to be deleted. */
  readonly isText: boolean;
}

export interface SideOptions {
  readonly standardInput: NodeJS.ReadableStream;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** For helm. */
  readonly values?: readonly string[];
  readonly set?: readonly string[];
}

/** Asks a cluster for what the other side names, so that one is read after the other. */
export async function readSides(words: readonly [string, string], options: SideOptions): Promise<[Side, Side]> {
  const [old, now] = words;
  if (old === '-' && now === '-') {
    throw new InputError('option', 'both sides are standard input: name a file for one of them.');
  }
  if (isWholeCluster(old) && isWholeCluster(now)) {
    throw new InputError(
      'option',
      'both sides are the cluster: name definitions, a file or a revision for one of them.',
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
  return readPaths([word], word, options);
}

/** What it takes to speak to a cluster is loaded only when one is asked. */
async function readLive(word: string, options: SideOptions, others: readonly Definition[]): Promise<Side> {
  const { withClient } = await import('../client.ts');
  if (word.startsWith('revision:')) {
    const { definitionAt } = await import('./revisions.ts');
    const found = await withClient(clusterOf(options), (client) => definitionAt(client, word));
    return { word, ...found, notes: [], isText: true };
  }
  const { clusterDefinitions } = await import('./cluster.ts');
  const name = word.slice('cluster:'.length);
  const names = name === '' ? others.map((each) => each.name) : [name];
  const found = await withClient(clusterOf(options), (client) => clusterDefinitions(client, names, name !== ''));
  return { word, ...found, notes: [], isText: name !== '' };
}

export const clusterOf = ({ kubeconfig, context }: Pick<SideOptions, 'kubeconfig' | 'context'>) => ({
  ...(kubeconfig === undefined ? {} : { file: kubeconfig }),
  ...(context === undefined ? {} : { context }),
});

async function readRevision(word: string, options: SideOptions): Promise<Side> {
  const [, revision, path] = /^git:([^:]+):(.*)$/.exec(word) ?? [];
  if (revision === undefined || path === undefined) {
    throw new InputError('option', `"${word}" cannot be read: write git:REVISION:PATH, for example git:main:crds/.`);
  }
  return readAt(revision, [path === '' ? '.' : path], word, options);
}

/** Paths as they were at a revision of git. What was not there then is no problem for `check`, where it may be new. */
export async function readAt(
  revision: string,
  paths: readonly string[],
  word: string,
  options: SideOptions & { readonly mayBeMissing?: boolean; readonly label?: string },
): Promise<Side> {
  const files = checkOutBase(revision, paths, options.mayBeMissing === true ? '--base' : word);
  try {
    if (files.paths.length < paths.length && options.mayBeMissing !== true) {
      throw new InputError('no-such-file', `${word}: there was no ${paths.join(', ')} at ${revision}.`);
    }
    const side = await readPaths(files.paths, word, options);
    return relabelled(side, files.tree, `git:${options.label ?? revision}:`);
  } finally {
    files.remove();
  }
}

export async function readPaths(paths: readonly string[], word: string, options: SideOptions): Promise<Side> {
  const notes: string[] = [];
  const manifests: Manifests = { objects: [], problems: [] };
  let isText = paths.length === 1;
  for (const path of paths) {
    const isDirectory = path !== '-' && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    const isChart = isArchive(path) ? existsSync(path) : isDirectory && existsSync(join(path, 'Chart.yaml'));
    isText &&= !isDirectory && !isChart;
    const chart = (directory: string, problems: Problem[]) =>
      chartTexts(directory, { flags: helmFlags(options), problems, notes });
    if (isChart) {
      for (const text of chart(path, manifests.problems)) parseSource(text, manifests, acceptDocument(false));
      continue;
    }
    const read = await readManifests([path], options.standardInput, undefined, {
      accept: acceptDocument(!isDirectory),
      renderers: { helm: chart, kustomize: (directory, problems) => built(directory, problems, notes) },
    });
    if (!isDirectory) demandDefinition(path, read);
    manifests.objects.push(...read.objects);
    manifests.problems.push(...read.problems.filter(({ code }) => !isDirectory || code !== 'nothing'));
  }
  const { definitions, problems } = definitionsOf(manifests.objects.filter(isDefinition));
  return { word, definitions, problems: [...manifests.problems, ...problems], notes, isText };
}

/** A file that was named and holds something else is a mistake; a bundle that holds definitions among other things is none. */
function demandDefinition(path: string, { objects, problems }: Manifests): void {
  if (problems.length > 0 || objects.some(isDefinition)) return;
  const [first] = objects;
  const file = path === '-' ? '<stdin>' : path;
  problems.push(
    first === undefined
      ? { code: 'not-a-crd', file, line: 1, column: 1, message: 'there is no CustomResourceDefinition in there.' }
      : { code: 'not-a-crd', file: first.file, ...first.place('kind'), message: notADefinition(first) },
  );
}

const notADefinition = ({ object }: LocatedObject): string =>
  `this is a ${object.kind}, not a CustomResourceDefinition: give one of apiextensions.k8s.io/v1.`;

/** Where there is no kustomize, the files it builds upon are read as they are: better than nothing, and it is said. */
function built(directory: string, problems: Problem[], notes: string[]) {
  const own: Problem[] = [];
  const texts = build(directory, own);
  if (own.some(({ code }) => code === 'no-kustomize')) {
    notes.push(`${directory}: neither kustomize nor kubectl is on the PATH: files are compared as they are before it.`);
    return filesOf(resolve(directory)).map((file) => ({ file: shownPath(file), text: readFileSync(file, 'utf8') }));
  }
  problems.push(...own);
  return texts;
}

const helmFlags = ({ values = [], set = [] }: SideOptions): string[] => [
  ...values.flatMap((file) => ['--values', file]),
  ...set.flatMap((pair) => ['--set', pair]),
];

/** What was laid out in a directory of its own is told by where it is in the repository. */
function relabelled(side: Side, tree: string, label: string): Side {
  const renamed = (file: string) => {
    const way = relative(tree, file);
    return way.startsWith('..') ? file : `${label}${way}`;
  };
  const inWords = (message: string) => message.replaceAll(`${tree}/`, label);
  return {
    ...side,
    definitions: side.definitions.map((each) => ({ ...each, origin: placed(each, renamed) })),
    problems: side.problems.map((each) => ({ ...each, file: renamed(each.file), message: inWords(each.message) })),
    notes: side.notes.map(inWords),
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
