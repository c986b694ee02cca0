/** Kubernetes objects from files, directories and standard input, each with the place it came from. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { UnknownObject } from '../runtime/index.ts';
import { InputError } from './failure.ts';

export interface LocatedObject {
  object: UnknownObject;
  file: string;
  line: number;
}

/** Reads every object below the given paths, in a stable order. A `List` is taken apart. */
export async function readObjects(
  paths: readonly string[],
  standardInput: NodeJS.ReadableStream,
): Promise<LocatedObject[]> {
  const objects: LocatedObject[] = [];
  for (const path of paths) {
    if (path === '-') objects.push(...parseObjects(await text(standardInput), '<stdin>'));
    else for (const file of filesBelow(path)) objects.push(...parseObjects(readFileSync(file, 'utf8'), file));
  }
  return objects;
}

export function parseObjects(source: string, file: string): LocatedObject[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(source, { lineCounter: lines });
  return [...documents].flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lines.linePos(error.pos[0]);
      throw new InputError('yaml', `${file}:${line}:${col}: ${error.message.split('\n')[0]} Correct the YAML there.`);
    }
    const value = contentOf(document, file);
    if (value === null || value === undefined) return [];
    const line = lines.linePos(document.contents?.range?.[0] ?? 0).line;
    return asObjects(value, file, line);
  });
}

/** Aliases are resolved here: one that leads nowhere, or far too many of them, is the document's fault. */
function contentOf(document: { toJS(options: { maxAliasCount: number }): unknown }, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new InputError(
      'yaml',
      `${file}: ${error instanceof Error ? error.message : String(error)}. Correct the YAML there.`,
    );
  }
}

function asObjects(value: unknown, file: string, line: number): LocatedObject[] {
  if (!isObject(value)) {
    throw new InputError(
      'not-an-object',
      `${file}:${line}: this is no Kubernetes object: it wants apiVersion, kind and metadata.name.`,
    );
  }
  if (value.kind.endsWith('List') && Array.isArray(value.items)) {
    return value.items.flatMap((item: unknown) => asObjects(item, file, line));
  }
  if (typeof value.metadata?.name !== 'string' && typeof value.metadata?.generateName !== 'string') {
    throw new InputError('no-name', `${file}:${line}: ${value.kind} has no metadata.name: give it one.`);
  }
  return [{ object: value, file, line }];
}

function isObject(value: unknown): value is UnknownObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { apiVersion, kind } = value as Record<string, unknown>;
  return typeof apiVersion === 'string' && typeof kind === 'string';
}

function filesBelow(path: string): string[] {
  let isDirectory: boolean;
  try {
    isDirectory = statSync(path).isDirectory();
  } catch {
    throw new InputError('no-such-file', `${path}: there is no such file or directory.`);
  }
  if (!isDirectory) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
    .map((name) => join(path, name));
}
