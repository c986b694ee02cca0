/**
 * Reads the definitions below paths. A file or chart given by name must be valid as a whole; in a directory, everything that is not a
 * definition is ignored.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { type LocatedObject, type Manifests, type Problem, parseSource, type SourceText } from '../documents/index.ts';
import { filesOf } from '../documents/origins.ts';
import { build, readSources, type Sources, shownPath } from '../documents/sources.ts';
import { chartTexts, isArchive, type TakeNote } from './chart.ts';
import { acceptDocument, type Definition, definitionIn, isDefinition } from './definitions.ts';
import { isBeside, isUnfinished, MENTION, mayBuildDefinitions } from './directory.ts';

export interface PathOptions {
  readonly standardInput: NodeJS.ReadableStream;
  /** The values files and values for helm. */
  readonly values?: readonly string[];
  readonly set?: readonly string[];
  /** Returns the common prefix of the definitions below a path; without it, their paths are relative to that path. */
  readonly prefixOf?: (path: string) => string;
}

/** A problem with the path of its file, if that was found in a directory. */
export interface FoundProblem extends Problem {
  readonly path?: string;
}

/** A note about input that was not compared. */
interface Note {
  readonly file: string;
  readonly path?: string;
  readonly message: string;
}

export interface PathsRead {
  readonly definitions: readonly Definition[];
  readonly problems: readonly FoundProblem[];
  /** Files that mention definitions but are none. */
  readonly leftAlone: readonly FoundProblem[];
  readonly notes: readonly Note[];
  /** Whether the side is a single file: definitions that it does not contain do not count as deleted. */
  readonly isText: boolean;
}

interface Reading {
  readonly definitions: Definition[];
  readonly problems: FoundProblem[];
  readonly leftAlone: FoundProblem[];
  readonly notes: Note[];
  readonly options: PathOptions;
}

type PathKind = 'file' | 'directory' | 'chart';

export async function readPaths(paths: readonly string[], options: PathOptions): Promise<PathsRead> {
  const reading: Reading = { definitions: [], problems: [], leftAlone: [], notes: [], options };
  for (const path of paths) await readPath(path, reading);
  const { definitions, problems, leftAlone, notes } = reading;
  const isText = paths.length === 1 && paths.every((path) => kindOf(path) === 'file');
  return { definitions, problems, leftAlone, notes, isText };
}

function kindOf(path: string): PathKind {
  if (path === '-') return 'file';
  if (isArchive(path)) return existsSync(path) ? 'chart' : 'file';
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return 'file';
  return existsSync(join(path, 'Chart.yaml')) ? 'chart' : 'directory';
}

interface Named {
  readonly path: string;
  readonly kind: PathKind;
  /** Returns the path of a file for pairing: the same on both sides of a comparison, unless the file was moved. */
  pathOf(file: string): string;
}

async function readPath(path: string, into: Reading): Promise<void> {
  const prefix = into.options.prefixOf?.(path) ?? '';
  const pathOf = (file: string) =>
    join(prefix, file.startsWith(`${path}:`) ? file.slice(path.length + 1) : relative(resolve(path), resolve(file)));
  const named: Named = { path, kind: kindOf(path), pathOf };
  const [definitions, problems] = [into.definitions.length, into.problems.length];
  const sources = await sourcesOf(named, into);
  into.problems.push(...sources.problems);
  const objects = sources.texts.flatMap((source) => readText(source, named, into));
  if (named.kind === 'file' && into.problems.length === problems) {
    demandDefinition(path, objects, into.definitions.slice(definitions), into);
  }
}

async function sourcesOf({ path, kind, pathOf }: Named, { options, notes, leftAlone }: Reading): Promise<Sources> {
  const note = (file: string, message: string) =>
    notes.push({ file, message, ...(kind === 'directory' ? { path: pathOf(file) } : {}) });
  const helm = (isNamed: boolean) => (directory: string, problems: Problem[]) =>
    chartTexts(directory, { flags: helmFlags(options), problems, note, isNamed });
  if (kind === 'chart') {
    const problems: Problem[] = [];
    return { texts: helm(true)(path, problems), problems };
  }
  const kustomize = (directory: string, problems: Problem[]) =>
    built(directory, problems, note, resolve(directory) === resolve(path));
  const renderers = { helm: helm(false), kustomize };
  const read = await readSources([path], options.standardInput, { renderers, mentioning: MENTION });
  if (kind === 'file') return read;
  const isBesides = ({ code }: Problem) => code === 'broken-link' || code === 'too-large';
  const located = (problem: Problem) => ({ ...problem, path: pathOf(problem.file) });
  leftAlone.push(...read.problems.filter(isBesides).map(located));
  return {
    ...read,
    problems: read.problems.filter((each) => !isBesides(each) && each.code !== 'nothing').map(located),
  };
}

/** `readText` adds the definitions of a text to `into`, and returns all of its objects. */
function readText(source: SourceText, { kind, pathOf }: Named, into: Reading): LocatedObject[] {
  const inDirectory = kind === 'directory';
  const placed = (problem: Problem): FoundProblem =>
    inDirectory ? { ...problem, path: pathOf(source.file) } : problem;
  const manifests: Manifests = { objects: [], problems: [] };
  parseSource(source, manifests, {
    accept: acceptDocument(kind === 'file'),
    excuse(problem, document) {
      if (!inDirectory || !isBeside(problem, document)) return false;
      if (problem.code !== 'not-an-object') into.leftAlone.push(placed(problem));
      return true;
    },
  });
  into.problems.push(...manifests.problems.map(placed));
  for (const located of manifests.objects.filter((each) => isDefinition(each, !inDirectory))) {
    // A definition built by kustomize belongs to the kustomization, not to its source file: two overlays may share one file.
    const file = source.renderedFrom?.tool === 'kustomize' ? source.file : located.file;
    const { definition, problems } = definitionIn(located, pathOf(file));
    if (definition !== undefined) into.definitions.push(definition);
    const [problem] = problems;
    if (problem !== undefined && inDirectory && isUnfinished(located)) into.leftAlone.push(placed(problem));
    else into.problems.push(...problems.map(placed));
  }
  return manifests.objects;
}

/** `demandDefinition` reports a file given by name without any definition; a bundle may contain other objects too. */
function demandDefinition(
  path: string,
  [first]: readonly LocatedObject[],
  found: readonly Definition[],
  { problems }: Reading,
): void {
  const file = path === '-' ? '<stdin>' : path;
  if (found.length > 0) problems.push(...repeated(found));
  else if (first === undefined) {
    problems.push({
      code: 'not-a-crd',
      file,
      line: 1,
      column: 1,
      message: 'no CustomResourceDefinition found.',
    });
  } else problems.push({ code: 'not-a-crd', file: first.file, ...first.place('kind'), message: notADefinition(first) });
}

const notADefinition = ({ object }: LocatedObject): string =>
  `this is a ${object.kind}, want a CustomResourceDefinition of apiextensions.k8s.io/v1.`;

/** `repeated` reports definitions of the same name in one file: it is ambiguous which of them applies. */
function repeated(definitions: readonly Definition[]): Problem[] {
  const first = new Map<string, Definition>();
  return definitions.flatMap((each) => {
    const other = first.get(each.name);
    if (other !== undefined) return [twice(each, other)];
    first.set(each.name, each);
    return [];
  });
}

export function twice({ name, origin }: Definition, other: Definition): Problem {
  const { line } = other.origin.place('') ?? { line: 1 };
  return {
    code: 'twice',
    file: origin.file,
    ...origin.place('metadata.name'),
    message: `${name} is already defined in ${other.origin.file}:${line}: keep one of the two documents.`,
  };
}

/** `built` runs kustomize. If that is not possible, it reads the source files unbuilt and adds a note. */
function built(directory: string, problems: Problem[], note: TakeNote, isNamed: boolean): SourceText[] {
  if (!isNamed && !mayBuildDefinitions(directory)) return [];
  const own: Problem[] = [];
  const texts = build(directory, own);
  const [problem] = own;
  if (problem === undefined) return texts;
  if (problem.code !== 'no-kustomize' && isNamed) {
    problems.push(problem);
    return [];
  }
  const why =
    problem.code === 'no-kustomize' ? 'neither kustomize nor kubectl is on the PATH' : 'kustomize cannot build it';
  note(directory, `${why}: source files are compared as they are.`);
  return filesOf(resolve(directory)).map((file) => ({ file: shownPath(file), text: readFileSync(file, 'utf8') }));
}

const helmFlags = ({ values = [], set = [] }: PathOptions): string[] => [
  ...values.flatMap((file) => ['--values', file]),
  ...set.flatMap((pair) => ['--set', pair]),
];
