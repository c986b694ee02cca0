/**
 * Applies JSON patches (RFC 6902) like the API server for its own policies. That is more lenient than the RFC in two
 * ways: `replace` sets an absent field, and a negative index counts from the end.
 */
import { isJsonObject, type JsonObject, sameJson, withField, withoutField } from './json.ts';

/** A patch operation from an expression; `op` can be any string. */
export interface PatchStep {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** The result of a patch. A failed `test` operation changes nothing and is no error. */
type Patched =
  | { readonly document: unknown; readonly error?: undefined }
  | { readonly error: string; readonly testFailed: boolean };

class PatchError extends Error {
  readonly testFailed: boolean;
  constructor(message: string, testFailed = false) {
    super(message);
    this.testFailed = testFailed;
  }
}

/** `applyJsonPatch` returns the document after all operations and does not modify the original. */
export function applyJsonPatch(document: unknown, operations: readonly PatchStep[]): Patched {
  try {
    return { document: operations.reduce(applyOne, document) };
  } catch (error) {
    if (error instanceof PatchError) return { error: error.message, testFailed: error.testFailed };
    throw error;
  }
}

function applyOne(document: unknown, operation: PatchStep): unknown {
  const { op, path } = operation;
  switch (op) {
    case 'add':
      return edit(document, op, path, add(operation.value ?? null));
    case 'remove':
      return edit(document, op, path, remove);
    case 'replace':
      if (path === '') return whole(operation.value);
      return edit(document, op, path, replace(operation.value ?? null));
    case 'move': {
      const moved = valueAt(document, op, operation.from);
      return edit(edit(document, op, operation.from ?? '', remove), op, path, add(moved));
    }
    case 'copy':
      return edit(document, op, path, add(valueAt(document, op, operation.from)));
    case 'test':
      return test(document, operation);
    default:
      throw new PatchError(`Unexpected kind: ${op}`);
  }
}

function whole(value: unknown): unknown {
  if (isJsonObject(value) || Array.isArray(value)) return value;
  throw new PatchError('replace operation value must be object or array');
}

function test(document: unknown, { path, value }: PatchStep): unknown {
  const found = path === '' ? document : (valueAt(document, 'test', path) ?? null);
  if (sameJson(found, value ?? null)) return document;
  throw new PatchError(`testing value ${path} failed: test failed`, true);
}

/** Changes one entry of a list or an object. */
type Edit = (holder: JsonObject | readonly unknown[], key: string) => JsonObject | readonly unknown[];

/** Returns the document with the parent of `path` edited; all ancestors are copied. */
function edit(document: unknown, op: string, path: string, change: Edit): unknown {
  const keys = segments(path);
  const last = keys?.pop();
  if (keys === undefined || last === undefined) throw missing(op, path);
  const inside = (holder: unknown, depth: number): unknown => {
    if (!isJsonObject(holder) && !Array.isArray(holder)) throw missing(op, path);
    const key = keys[depth];
    if (key === undefined) return reported(op, path, () => change(holder, last));
    const child = childOf(holder, key);
    if (child === undefined || child === null) throw missing(op, path);
    const changed = inside(child, depth + 1);
    return Array.isArray(holder) ? holder.with(indexIn(key, holder.length), changed) : withField(holder, key, changed);
  };
  return inside(document, 0);
}

const add =
  (value: unknown): Edit =>
  (holder, key) => {
    if (!Array.isArray(holder)) return withField(holder as JsonObject, key, value);
    if (key === '-') return [...holder, value];
    return holder.toSpliced(indexIn(key, holder.length + 1), 0, value);
  };

const remove: Edit = (holder, key) => {
  if (Array.isArray(holder)) return holder.toSpliced(indexIn(key, holder.length), 1);
  if (!Object.hasOwn(holder, key)) throw new PatchError(`Unable to remove nonexistent key: ${key}: missing value`);
  return withoutField(holder as JsonObject, key);
};

const replace =
  (value: unknown): Edit =>
  (holder, key) =>
    Array.isArray(holder)
      ? holder.with(indexIn(key, holder.length), value)
      : withField(holder as JsonObject, key, value);

function valueAt(document: unknown, op: string, path: string | undefined): unknown {
  if (path === undefined) throw new PatchError(`${op} operation failed to decode from: missing value`);
  const keys = segments(path);
  if (keys === undefined || keys.length === 0) throw missing(op, path);
  let value = document;
  for (const [depth, key] of keys.entries()) {
    if (!isJsonObject(value) && !Array.isArray(value)) throw missing(op, path);
    const holder = value;
    // The last key may be absent; each operation handles that itself.
    value = depth < keys.length - 1 ? childOf(holder, key) : reported(op, path, () => entryOf(holder, key));
  }
  return value;
}

/** Returns a child on the way to an entry: for an invalid index, the path is absent. */
function childOf(holder: JsonObject | readonly unknown[], key: string): unknown {
  try {
    return entryOf(holder, key);
  } catch {
    return undefined;
  }
}

function entryOf(holder: JsonObject | readonly unknown[], key: string): unknown {
  if (Array.isArray(holder)) return holder[indexIn(key, holder.length)];
  return Object.hasOwn(holder, key) ? (holder as JsonObject)[key] : undefined;
}

function indexIn(key: string, length: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw new PatchError(`value was not a proper array index: '${key}'`);
  const given = Number(key);
  const index = given < 0 ? given + length : given;
  if (index >= 0 && index < length) return index;
  throw new PatchError(`Unable to access invalid index: ${given}: invalid index referenced`);
}

/** Returns the segments of a JSON pointer; undefined if it is invalid. */
function segments(path: string): string[] | undefined {
  const [first, ...keys] = path.split('/');
  return first === '' && keys.length > 0
    ? keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    : undefined;
}

function reported<T>(op: string, path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new PatchError(`error in ${op} for path: '${path}': ${error.message}`, error.testFailed);
  }
}

const missing = (op: string, path: string): PatchError =>
  new PatchError(`${op} operation does not apply: doc is missing path: "${path}": missing value`);
