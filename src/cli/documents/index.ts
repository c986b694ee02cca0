/**
 * Reads Kubernetes objects from files, directories, standard input, kustomize and Helm, each with its source.
 *
 * All problems of the input are collected and returned as values. An object knows the line and column of any field, computed on demand.
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
  /** The line of the object's first field. */
  readonly line: number;
  /** The Helm template, if the text came from `helm template`. */
  readonly source?: string | undefined;
  /** The position of a field, or of its nearest existing parent. */
  place(field?: string): Place;
  /** The position of a line and column inside a field's text, both from 1: for expressions. */
  placeInText(field: string, line?: number, column?: number): Place;
  /** The text of a line of its file; undefined if a tool rendered it. */
  lineAt(line: number): string | undefined;
}

export interface Manifests {
  readonly objects: LocatedObject[];
  readonly problems: Problem[];
}

/** Filters for readers that want only some of the documents. */
interface ReadingOptions {
  /** Called before a document is parsed: whether to read it, or the problem that prevents it. */
  readonly accept?: (document: SourceDocument) => boolean | Problem;
  /** Called for a document that is not an object: whether to ignore it. */
  readonly excuse?: (problem: Problem, document: SourceDocument) => boolean;
}

/** `readManifests` returns every object below the given paths, in a stable order, and all problems. A `List` is expanded. */
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

/** `readObjects` does the same, but throws all problems as one error. */
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

/** `inputErrorOf` makes one error of all problems, one line each. */
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
  /** The path of the object within the document. */
  readonly within: FieldPath;
  /** The sources of a kustomize build. */
  readonly origins: Origins | undefined;
  readonly refuse: (problem: Problem) => void;
}

function takeObjects(value: unknown, origin: Origin, into: Manifests): void {
  const problem = (code: string, message: string) =>
    origin.refuse({ code, file: origin.document.file, ...placeOf(origin), message });
  if (!isObject(value)) {
    problem('not-an-object', 'not a Kubernetes object: want apiVersion, kind and metadata.name.');
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
    problem('no-name', `${value.kind} has no metadata.name: set it.`);
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

  /** The document that kustomize took it from, if known. */
  get #written(): SourceDocument | undefined {
    return this.#origin.origins?.find(this.object.kind, this.object.metadata.name);
  }
}

function placeOf({ source, document, within }: Origin, field = ''): Place {
  // Rendered text is not a file that users can open, so only the first line of its source is named.
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
