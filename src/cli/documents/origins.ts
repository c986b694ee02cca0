/**
 * Where an object that kustomize has built was written: the file below the kustomization, or what that builds upon, that has an
 * object of the same kind and name. Where there is none or more than one (a prefix, a generator), nobody can say.
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

  /** Undefined where it cannot be told. */
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
      // Two of them: it may be either.
      if (key !== undefined) found.set(key, found.has(key) ? undefined : document);
    }
  }
  return found;
}

/** What the kustomization names: files, and directories with a kustomization of their own. Patches are not named as resources. */
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
