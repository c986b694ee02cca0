/** Reads data for expressions from YAML or JSON files, with integers as exact as in Kubernetes. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type Document, LineCounter } from 'yaml';
import { DecodeError, decodeJson, hostValue, INT_MAX, INT_MIN, NonValue, type Value } from '../../cel/index.ts';
import { faultIn, parseDocuments, TooDeep } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';

export async function readValue(path: string, standardInput: NodeJS.ReadableStream): Promise<Value> {
  return path === '-' ? parseValue(await text(standardInput), '<stdin>') : parseValue(readText(path), path);
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new InputError('no-such-file', `${path}: cannot be read (${error.message}): check the path and its mode.`);
  }
}

/** `parseValue` parses the single document in `source`. */
export function parseValue(source: string, file: string): Value {
  return (/^\s*[[{]/.test(source) ? parseJson(source) : undefined) ?? parseYaml(source, file);
}

/** `parseJson` returns undefined if the source is not JSON: YAML may start with a bracket too. */
function parseJson(source: string): Value | undefined {
  try {
    return decodeJson(source);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function parseYaml(source: string, file: string): Value {
  const lines = new LineCounter();
  const documents = documentsOf(source, file, lines);
  const full = documents.filter(({ contents, errors }) => contents !== null || errors.length > 0);
  const [document] = full;
  if (document === undefined) throw new InputError('nothing', `${file}: the file is empty.`);
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new InputError(
      'yaml',
      `${file}:${line}:${col}: ${error.message.replace(/\.?$/, '.')} Correct the YAML there.`,
    );
  }
  if (full.length > 1) {
    throw new InputError('several', `${file}: there are ${full.length} documents, want one: remove the others.`);
  }
  const value = hostValue(contentOf(document, file));
  if (value instanceof NonValue) throw new InputError('yaml', `${file}: ${String(value)}. Correct the YAML there.`);
  return value;
}

function documentsOf(source: string, file: string, lines: LineCounter): ReturnType<typeof parseDocuments> {
  try {
    return parseDocuments(source, { lineCounter: lines, intAsBigInt: true });
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    const { line, col } = lines.linePos(error.offset);
    throw new InputError('yaml', `${file}:${line}:${col}: ${error.message}. Correct the YAML there.`);
  }
}

function contentOf(document: Document, file: string): unknown {
  try {
    const fault = faultIn(document);
    if (fault !== undefined) throw new Error(fault.message);
    return document.toJS({ maxAliasCount: 100, reviver: (_, value) => fitInteger(value) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new InputError('yaml', `${file}: ${message}. Correct the YAML there.`);
  }
}

/** `fitInteger` converts integers beyond int64 to a double, as Kubernetes does. */
function fitInteger(value: unknown): unknown {
  return typeof value === 'bigint' && (value < INT_MIN || value > INT_MAX) ? Number(value) : value;
}
