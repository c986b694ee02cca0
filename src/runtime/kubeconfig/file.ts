/** Reads a kubeconfig file: YAML with clusters, users and contexts, each by name. */
import { readFileSync, statSync } from 'node:fs';
import { type Document, LineCounter } from 'yaml';
import { ConfigError } from '../errors.ts';
import { faultIn, parseDocuments, TooDeep } from '../yaml/index.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A cluster, user or context by its name, and the file that has it. */
export interface NamedEntry {
  name: string;
  fields: Fields;
  file: string;
}

export interface Kubeconfig {
  clusters: Map<string, NamedEntry>;
  users: Map<string, NamedEntry>;
  contexts: Map<string, NamedEntry>;
  current: string | undefined;
}

/** Adds what a file names to what was read before. */
export function mergeInto(merged: Kubeconfig, file: string): void {
  const parsed = parseFile(file);
  const collect = (target: Map<string, NamedEntry>, list: string, field: string) => {
    const entries = parsed[list];
    if (entries === undefined || entries === null) return;
    if (!Array.isArray(entries)) throw notAKubeconfig(file, `"${list}" is not a list`);
    for (const entry of entries) {
      if (!isFields(entry) || typeof entry.name !== 'string')
        throw notAKubeconfig(file, `"${list}" has an entry without a name`);
      const fields = entry[field];
      // The first file that names something wins, as with kubectl.
      if (!target.has(entry.name))
        target.set(entry.name, { name: entry.name, fields: isFields(fields) ? fields : {}, file });
    }
  };
  collect(merged.clusters, 'clusters', 'cluster');
  collect(merged.users, 'users', 'user');
  collect(merged.contexts, 'contexts', 'context');
  const current = parsed['current-context'];
  if (merged.current === undefined && typeof current === 'string' && current !== '') merged.current = current;
}

function parseFile(file: string): Fields {
  let content: string;
  try {
    if (statSync(file).isDirectory()) {
      throw new ConfigError({ code: 'unreadable', message: `${file} is a directory`, hint: 'Name a kubeconfig file' });
    }
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new ConfigError({
      code: missing ? 'missing-file' : 'unreadable',
      message: missing
        ? `There is no kubeconfig at ${file}`
        : `The kubeconfig ${file} cannot be read: ${String((cause as NodeJS.ErrnoException).code)}`,
      hint: missing ? 'Check the path, or KUBECONFIG' : 'Check its permissions',
      cause,
    });
  }
  const document = documentIn(content, file);
  const value = document === undefined ? undefined : contentOf(document, file);
  if (value === null || value === undefined) {
    throw new ConfigError({
      code: 'empty',
      message: `The kubeconfig ${file} is empty`,
      hint: 'Re-create it, or name another with --kubeconfig',
    });
  }
  if (!isFields(value)) throw notAKubeconfig(file, 'it is not a map');
  return value;
}

function documentIn(content: string, file: string): Document | undefined {
  const lines = new LineCounter();
  const unparsable = (offset: number, what: string) => {
    const { line, col } = lines.linePos(offset);
    return new ConfigError({
      code: 'unparsable',
      message: `The kubeconfig ${file} does not parse at line ${line}, column ${col}: ${what.replaceAll('\n', ' ')}`,
      hint: 'Correct it there',
    });
  };
  try {
    const [document, second] = parseDocuments(content, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    if (document === undefined) return undefined;
    const [error] = document.errors;
    if (error !== undefined) throw unparsable(error.pos[0], error.message);
    if (second !== undefined) throw unparsable(second.range[0], 'it has more than one document');
    const fault = faultIn(document);
    if (fault !== undefined) throw unparsable(fault.offset, fault.message);
    return document;
  } catch (error) {
    throw error instanceof TooDeep ? unparsable(error.offset, error.message) : error;
  }
}

function notAKubeconfig(file: string, what: string): ConfigError {
  return new ConfigError({
    code: 'not-a-kubeconfig',
    message: `${file} is not a kubeconfig: ${what}`,
    hint: 'Name a file with clusters, users and contexts',
  });
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Aliases are resolved here: one that leads nowhere, or far too many of them, is the file's fault. */
function contentOf(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    throw new ConfigError({
      code: 'unparsable',
      message: `The kubeconfig ${file} does not parse: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: 'Correct its aliases',
      cause,
    });
  }
}
