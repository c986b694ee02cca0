/**
 * Finds the file of an object that kustomize built: the resource of the kustomization or of its bases that has the same kind and name.
 * If there is none or more than one (a prefix, a generator), the origin is unknown.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SourceDocument } from './document.ts';
import { shownPath, usedBy } from './sources.ts';
import { documentsOf } from './split.ts';

export class Origins {
  readonly #directory: string;
  #byName: Map<string, SourceDocument | undefined> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns undefined if the origin is unknown. */
  find(kind: string, name: string): SourceDocument | undefined {
    this.#byName ??= index(this.#directory);
    return this.#byName.get(`${kind}/${name}`);
  }
}

function index(directory: string): Map<string, SourceDocument | undefined> {
  const found = new Map<string, SourceDocument | undefined>();
  for (const file of filesOf(resolve(directory))) {
    for (const document of documentsOf(shownPath(file), readFileSync(file, 'utf8'))) {
      const read = document.read();
      const key = 'value' in read ? keyOf(read.value) : undefined;
      // With two candidates the origin is ambiguous.
      if (key !== undefined) found.set(key, found.has(key) ? undefined : document);
    }
  }
  return found;
}

/** `filesOf` lists the resources of a kustomization and of its bases. Patches are not resources. */
export function filesOf(directory: string, seen: Set<string> = new Set()): string[] {
  if (seen.has(directory)) return [];
  seen.add(directory);
  return usedBy(directory).flatMap((path) => {
    const kind = statSync(path, { throwIfNoEntry: false });
    if (kind?.isFile() === true) return [path];
    return kind?.isDirectory() === true ? filesOf(path, seen) : [];
  });
}

function keyOf(value: unknown): string | undefined {
  const { kind, metadata } = (value ?? {}) as { kind?: unknown; metadata?: { name?: unknown } };
  return typeof kind === 'string' && typeof metadata?.name === 'string' ? `${kind}/${metadata.name}` : undefined;
}
