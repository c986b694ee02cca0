/**
 * Kubernetes objects from files, directories, standard input, kustomize and Helm, each with the place it came from.
 *
 * All that is wrong with the input is found in one go and is a value; an object can tell the line and column of any field, which is
 * only worked out when somebody asks.
 */
import type { UnknownObject } from '../../runtime/index.ts';
import { InputError } from '../common/failure.ts';
import type { Place, Problem, SourceDocument } from './document.ts';
import type { FieldPath } from './field-path.ts';
import { Origins } from './origins.ts';
import { readSources, type SourceText, templateFile } from './sources.ts';
import { documentsOf } from './split.ts';

export type { Place, Problem, SourceDocument } from './document.ts';
export type { SourceText } from './sources.ts';

export interface LocatedObject {
  readonly object: UnknownObject;
  readonly file: string;
  /** Of the object's first field. */
  readonly line: number;
  /** Helm's template, where the text came from `helm template`. */
  readonly source?: string | undefined;
  /** Where a field stands, or the nearest thing around it that is there. */
  place(field?: string): Place;
  /** Where a line and column of a field's text stand, both from 1: for expressions. */
  placeInText(field: string, line?: number, column?: number): Place;
  /** What stands in a line of its file; undefined where a tool has made the text on the way. */
  lineAt(line: number): string | undefined;
}

export interface Manifests {
  readonly objects: LocatedObject[];
  readonly problems: Problem[];
}

/** How to read, for who wants only some of what is there. */
interface ReadingOptions {
  /** Asked before a document is parsed: whether it is wanted at all, or why it cannot be. */
  readonly accept?: (document: SourceDocument) => boolean | Problem;
  /** Asked about a document that is no object: whether it may be left alone. */
  readonly excuse?: (problem: Problem, document: SourceDocument) => boolean;
}

/** Every object below the given paths, in a stable order, and all that is wrong there. A `List` is taken apart. */
export async function readManifests(
  paths: readonly string[],
  standardInput: NodeJS.ReadableStream,
  progress: (text: SourceText) => void = () => {},
): Promise<Manifests> {
  const { texts, problems } = await readSources(paths, standardInput);
  const manifests: Manifests = { objects: [], problems };
  for (const source of texts) {
    progress(source);
    parseSource(source, manifests);
  }
  return manifests;
}

/** The same for who cannot go on without: problems are thrown, all in one error. */
export async function readObjects(
  paths: readonly string[],
  standardInput: NodeJS.ReadableStream,
): Promise<LocatedObject[]> {
  const { objects, problems } = await readManifests(paths, standardInput);
  if (problems.length > 0) throw inputErrorOf(problems);
  return objects;
}

export function parseObjects(text: string, file: string): LocatedObject[] {
  const manifests: Manifests = { objects: [], problems: [] };
  parseSource({ file, text }, manifests);
  if (manifests.problems.length > 0) throw inputErrorOf(manifests.problems);
  return manifests.objects;
}

/** One error for all of them, a line each. */
export function inputErrorOf(problems: readonly Problem[]): InputError {
  return new InputError(problems[0]?.code ?? 'input', problems.map(describeProblem).join('\n'));
}

export function describeProblem({ file, line, column, message }: Problem): string {
  return `${[file, line, column].filter((part) => part !== undefined).join(':')}: ${message}`;
}

export function problemAt(located: LocatedObject, code: string, field: string, message: string): Problem {
  return { code, file: located.file, ...located.place(field), message };
}

export function parseSource(
  source: SourceText,
  into: Manifests,
  { accept = () => true, excuse = () => false }: ReadingOptions = {},
): void {
  const origins = source.renderedFrom?.tool === 'kustomize' ? new Origins(source.renderedFrom.directory) : undefined;
  for (const document of documentsOf(source.file, source.text)) {
    const refuse = (problem: Problem) => {
      if (!excuse(problem, document)) into.problems.push(problem);
    };
    const accepted = accept(document);
    if (typeof accepted === 'object') refuse(accepted);
    if (accepted !== true) continue;
    const read = document.read();
    if ('problem' in read) refuse(read.problem);
    else if (read.value !== undefined) takeObjects(read.value, { source, document, within: [], origins, refuse }, into);
  }
}

interface Origin {
  readonly source: SourceText;
  readonly document: SourceDocument;
  /** The way to the object within the document. */
  readonly within: FieldPath;
  /** Of what kustomize has built. */
  readonly origins: Origins | undefined;
  readonly refuse: (problem: Problem) => void;
}

function takeObjects(value: unknown, origin: Origin, into: Manifests): void {
  const problem = (code: string, message: string) =>
    origin.refuse({ code, file: origin.document.file, ...placeOf(origin), message });
  if (!isObject(value)) {
    problem('not-an-object', 'this is no Kubernetes object: it wants apiVersion, kind and metadata.name.');
    return;
  }
  if (value.kind.endsWith('List') && Array.isArray(value.items)) {
    value.items.forEach((item: unknown, index) => {
      takeObjects(item, { ...origin, within: [...origin.within, 'items', index] }, into);
    });
    return;
  }
  const { name, generateName } = isFields(value.metadata) ? value.metadata : {};
  if ((typeof name !== 'string' || name === '') && typeof generateName !== 'string') {
    problem('no-name', `${value.kind} has no metadata.name: give it one.`);
    return;
  }
  into.objects.push(new FoundObject(value, origin));
}

class FoundObject implements LocatedObject {
  readonly object: UnknownObject;
  readonly #origin: Origin;

  constructor(object: UnknownObject, origin: Origin) {
    this.object = object;
    this.#origin = origin;
  }

  get file(): string {
    const { renderedFrom, file } = this.#origin.source;
    if (this.#written !== undefined) return this.#written.file;
    const template = this.#origin.document.source;
    if (renderedFrom?.tool === 'helm' && template !== undefined) return templateFile(renderedFrom.directory, template);
    return file;
  }

  get line(): number {
    return this.place().line;
  }

  get source(): string | undefined {
    return this.#origin.document.source;
  }

  place(field = ''): Place {
    return this.#written === undefined ? placeOf(this.#origin, field) : this.#written.place(field);
  }

  placeInText(field: string, line?: number, column = 1): Place {
    const { source, document, within } = this.#origin;
    if (line === undefined) return this.place(field);
    if (this.#written !== undefined) return this.#written.placeInText(field, { line, column });
    if (source.renderedFrom !== undefined) return this.place(field);
    return document.placeInText(field, { line, column }, within);
  }

  lineAt(line: number): string | undefined {
    if (this.#written !== undefined) return this.#written.lineAt(line);
    const { source, document } = this.#origin;
    return source.renderedFrom === undefined ? document.lineAt(line) : undefined;
  }

  /** The document that kustomize has taken it from, where that can be told. */
  get #written(): SourceDocument | undefined {
    return this.#origin.origins?.find(this.object.kind, this.object.metadata.name);
  }
}

function placeOf({ source, document, within }: Origin, field = ''): Place {
  // Nobody can open what a tool has made on the way: the file it began with is all that can be named.
  if (source.renderedFrom !== undefined) return { line: 1, column: 1 };
  return within.length === 0 && field === '' ? document.start() : document.place(field, within);
}

function isObject(value: unknown): value is UnknownObject {
  if (!isFields(value)) return false;
  return typeof value.apiVersion === 'string' && typeof value.kind === 'string';
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
