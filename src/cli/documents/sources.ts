/**
 * Reads the paths of a command line: files, directories, standard input, and the output of kustomize and Helm for their directories if
 * the tool is installed.
 */
import { spawnSync } from 'node:child_process';
import { type Dirent, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseYaml } from '../../runtime/internal.ts';
import type { Problem } from './document.ts';

/** A text that contains manifests. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  /** The directory from which a tool rendered the text: its lines are in no file. */
  readonly renderedFrom?: { readonly tool: 'kustomize' | 'helm'; readonly directory: string };
}

export interface Sources {
  readonly texts: SourceText[];
  readonly problems: Problem[];
}

/** `Render` renders the directory of a tool; on failure it adds the reason to `problems`. */
type Render = (directory: string, problems: Problem[]) => SourceText[];

interface Renderers {
  readonly kustomize: Render;
  readonly helm: Render;
}

interface SourceOptions {
  /** Replacements for kustomize and Helm. */
  readonly renderers?: Partial<Renderers>;
  /** Files in directories that do not contain this string are skipped. */
  readonly mentioning?: string;
}

/** The state while reading; `seen` ensures that a file given by two paths is read once. */
interface Reading extends Sources {
  readonly seen: Set<string>;
  readonly renderers: Renderers;
  readonly mentioning: string;
}

export async function readSources(
  paths: readonly string[],
  standardInput: NodeJS.ReadableStream,
  { renderers = {}, mentioning = '' }: SourceOptions = {},
): Promise<Sources> {
  const tools = { kustomize: build, helm: template, ...renderers };
  const sources: Reading = { texts: [], problems: [], seen: new Set(), renderers: tools, mentioning };
  for (const path of paths) {
    if (path === '-') sources.texts.push({ file: '<stdin>', text: await text(standardInput) });
    else readPath(path, sources);
  }
  return sources;
}

function readPath(path: string, into: Reading): void {
  let isDirectory: boolean;
  try {
    isDirectory = statSync(path).isDirectory();
  } catch {
    into.problems.push({ code: 'no-such-file', file: path, message: 'no such file or directory.' });
    return;
  }
  if (!isDirectory) {
    readFile(path, { ...into, mentioning: '' });
    return;
  }
  const found: Found = { files: [], kustomizations: [], charts: [] };
  const unreadable = into.problems.length;
  walk(path, found, into);
  const used = new Set(found.kustomizations.flatMap(usedBy));
  const patches = new Set(found.kustomizations.flatMap(patchesOf));
  for (const file of found.files) if (!patches.has(resolve(file))) readFile(file, into);
  for (const directory of found.kustomizations) {
    // A base of another kustomization is not applied on its own.
    const isPart = used.has(resolve(directory)) || isComponent(directory) || into.seen.has(resolve(directory));
    into.seen.add(resolve(directory));
    if (!isPart) into.texts.push(...into.renderers.kustomize(directory, into.problems));
  }
  for (const directory of found.charts) into.texts.push(...into.renderers.helm(directory, into.problems));
  if (into.problems.length === unreadable && Object.values(found).every((list) => list.length === 0)) {
    into.problems.push({
      code: 'nothing',
      file: path,
      message: 'no .yaml, .yml or .json file below this directory: choose one that has manifests.',
    });
  }
}

function readFile(file: string, into: Reading): void {
  if (into.seen.has(resolve(file))) return;
  into.seen.add(resolve(file));
  try {
    const content = readFileSync(file);
    if (content.includes(into.mentioning)) into.texts.push({ file, text: content.toString('utf8') });
  } catch (error) {
    into.problems.push({ file, ...whyUnreadable(error) });
  }
}

function whyUnreadable(error: unknown): Pick<Problem, 'code' | 'message'> {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ELOOP') {
    return { code: 'broken-link', message: 'this link is broken: remove it, or restore its target.' };
  }
  if (code === 'ERR_STRING_TOO_LONG' || code === 'ERR_FS_FILE_TOO_LARGE') {
    return { code: 'too-large', message: 'this file is too large to read: split it.' };
  }
  return { code: 'unreadable', message: `cannot be read (${message}): fix its owner or mode.` };
}

interface Found {
  files: string[];
  kustomizations: string[];
  charts: string[];
}

/** `walk` collects files in a stable order. It skips hidden directories and node_modules, which contain no manifests of the user. */
function walk(directory: string, found: Found, into: Reading, onlyTools = false): void {
  const isKustomization = kustomizationIn(directory) !== undefined;
  if (existsSync(join(directory, 'Chart.yaml'))) {
    found.charts.push(directory);
    return;
  }
  if (isKustomization) found.kustomizations.push(directory);
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    into.problems.push({
      code: 'unreadable',
      file: directory,
      message: `cannot be read (${reason}): fix its owner or mode.`,
    });
    return;
  }
  // Files beside a kustomization may be patches and values: only kustomize reads them.
  const filesToo = !onlyTools && !isKustomization;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!entry.name.startsWith('.') && entry.name !== 'node_modules') walk(path, found, into, !filesToo);
    } else if (filesToo && MANIFEST.test(entry.name) && isReadable(entry, path)) found.files.push(path);
  }
}

/** `isReadable` accepts only files and links to files, because a pipe would never end. A broken link is reported later. */
function isReadable(entry: { isFile(): boolean; isSymbolicLink(): boolean }, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile();
  try {
    return statSync(path).isFile();
  } catch {
    return true;
  }
}

const MANIFEST = /\.(?:ya?ml|json)$/;
const KUSTOMIZATIONS = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];

export function kustomizationIn(directory: string): string | undefined {
  return KUSTOMIZATIONS.map((name) => join(directory, name)).find((file) => existsSync(file));
}

interface Kustomization {
  kind?: unknown;
  resources?: unknown;
  bases?: unknown;
  components?: unknown;
  patches?: unknown;
  patchesStrategicMerge?: unknown;
  patchesJson6902?: unknown;
}

function kustomizationOf(directory: string): Kustomization {
  try {
    const read: unknown = parseYaml(readFileSync(kustomizationIn(directory) ?? '', 'utf8'));
    return typeof read === 'object' && read !== null ? read : {};
  } catch {
    // kustomize reports the error better when it builds the directory.
    return {};
  }
}

/** `usedBy` returns the resources, bases and components of a kustomization as absolute paths. */
export function usedBy(directory: string): string[] {
  const { resources, bases, components } = kustomizationOf(directory);
  return pathsIn([resources, bases, components], directory);
}

/** `patchesOf` returns the patch files of a kustomization: they may look like objects, but are none. */
function patchesOf(directory: string): string[] {
  const { patches, patchesStrategicMerge, patchesJson6902 } = kustomizationOf(directory);
  return pathsIn([patches, patchesStrategicMerge, patchesJson6902], directory);
}

/** `pathsIn` returns the paths of entries that are a path or have a field `path`. */
const pathsIn = (lists: readonly unknown[], directory: string): string[] =>
  lists
    .flatMap((list): unknown[] => (Array.isArray(list) ? list : []))
    .map((entry): unknown => (typeof entry === 'object' && entry !== null && 'path' in entry ? entry.path : entry))
    .filter((entry) => typeof entry === 'string')
    .map((entry) => resolve(directory, entry));

const isComponent = (directory: string): boolean => kustomizationOf(directory).kind === 'Component';

export function build(directory: string, problems: Problem[]): SourceText[] {
  const file = kustomizationIn(directory) ?? directory;
  const tried = firstThatRuns([
    ['kustomize', 'build', directory],
    ['kubectl', 'kustomize', directory],
  ]);
  if (tried === undefined) {
    problems.push({
      code: 'no-kustomize',
      file,
      message: `this is built by kustomize, and neither kustomize nor kubectl is on the PATH: install one, or check its output with "kustomize build ${directory} | kidp check -f -".`,
    });
    return [];
  }
  return rendered(tried, file, { tool: 'kustomize', directory }, problems);
}

function template(directory: string, problems: Problem[]): SourceText[] {
  const file = join(directory, 'Chart.yaml');
  const tried = helmTemplate(directory);
  if (tried === undefined) {
    problems.push({
      code: 'no-helm',
      file,
      message: `this is a Helm chart, and helm is not on the PATH: install it, or check its output with "helm template ${directory} | kidp check -f -".`,
    });
    return [];
  }
  return rendered(tried, file, { tool: 'helm', directory }, problems);
}

/** `helmTemplate` renders a chart, a directory or an archive; undefined if helm is not installed. */
export function helmTemplate(chart: string, flags: readonly string[] = []): Run | undefined {
  const [, release = 'release'] = /^([a-z0-9](?:[-a-z0-9]{0,50}[a-z0-9])?)/.exec(basename(resolve(chart))) ?? [];
  return firstThatRuns([['helm', 'template', release, chart, ...flags]]);
}

interface Run {
  readonly words: readonly string[];
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `firstThatRuns` runs the first installed program; undefined if none is installed. */
function firstThatRuns(commands: readonly (readonly [string, ...string[]])[]): Run | undefined {
  for (const [program, ...words] of commands) {
    const run = spawnSync(program, words, { encoding: 'utf8', maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe'] });
    if (run.error === undefined) return { words: [program, ...words], ...run };
    if ((run.error as NodeJS.ErrnoException).code !== 'ENOENT') throw run.error;
  }
  return undefined;
}

export function rendered(
  run: Run,
  file: string,
  renderedFrom: NonNullable<SourceText['renderedFrom']>,
  problems: Problem[],
): SourceText[] {
  if (run.status === 0) return [{ file, text: run.stdout, renderedFrom }];
  problems.push({
    code: renderedFrom.tool,
    file,
    message: `"${run.words.join(' ')}" failed: ${run.stderr.trim() || `exit code ${run.status}`}.`,
  });
  return [];
}

/** `templateFile` returns the file that a comment of Helm names: its first segment is the chart, not the directory. */
export function templateFile(directory: string, source: string): string {
  return shownPath(join(directory, source.split('/').slice(1).join('/')));
}

/** `shownPath` returns a path relative to the working directory if it is below it, else the absolute path. */
export function shownPath(path: string): string {
  const way = relative('.', path);
  return way.startsWith('..') ? resolve(path) : way;
}
