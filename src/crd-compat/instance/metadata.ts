/** Decodes metadata the way the API server does: into the fields that all resources have, and back. */
import { isInt64, isObject, type JsonObject } from './json.ts';

interface Coerced {
  /** The metadata that is kept; the value itself if all of it is kept, or if it cannot be decoded at all. */
  readonly value: unknown;
  readonly unknown: readonly string[];
  /** A field whose value has the wrong type: the API server refuses the request before any further check. */
  readonly malformed?: string;
}

/**
 * `coerceMetadata` decodes metadata into the known fields and encodes it again, which drops unknown fields and empty
 * values. If it is `lenient`, it also drops fields that cannot be decoded, as the API server does when it reads from
 * etcd.
 */
export function coerceMetadata(metadata: unknown, lenient = false): Coerced {
  if (metadata === null) return { value: {}, unknown: [] };
  if (!isObject(metadata)) return { value: metadata, unknown: [], malformed: '' };
  const kept: Record<string, unknown> = {};
  const unknown: string[] = [];
  let same = true;
  for (const name of Object.keys(metadata)) {
    const read = FIELDS.get(name);
    if (read === undefined) unknown.push(name);
    const value = metadata[name] === null ? EMPTY : (read?.(metadata[name]) ?? EMPTY);
    if (value === MALFORMED && !lenient) return { value: metadata, unknown: [], malformed: name };
    if (value !== EMPTY && value !== MALFORMED) kept[name] = value;
    same &&= value === metadata[name];
  }
  return { value: same ? metadata : kept, unknown };
}

/** The marker of a value that is encoded as nothing, and the marker of one that cannot be decoded. */
const EMPTY = Symbol('empty');
const MALFORMED = Symbol('malformed');

type Reader = (value: unknown) => unknown;

const text: Reader = (value) => (typeof value === 'string' ? value || EMPTY : MALFORMED);
const integer: Reader = (value) => (isInt64(value) ? value || EMPTY : MALFORMED);
const time: Reader = (value) => {
  if (typeof value !== 'string' || !RFC3339.test(value)) return MALFORMED;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? MALFORMED : `${date.toISOString().slice(0, 19)}Z`;
};
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/;

const texts: Reader = (value) => {
  if (!isObject(value)) return MALFORMED;
  const values = Object.values(value);
  if (values.length === 0) return EMPTY;
  if (values.every((each) => typeof each === 'string')) return value;
  if (values.some((each) => typeof each !== 'string' && each !== null)) return MALFORMED;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, each ?? '']));
};

const list =
  (element: (value: unknown) => unknown): Reader =>
  (value) => {
    if (!Array.isArray(value)) return MALFORMED;
    if (value.length === 0) return EMPTY;
    const made = value.map(element);
    if (made.includes(MALFORMED)) return MALFORMED;
    return made.every((each, index) => each === value[index]) ? value : made;
  };

const textElement = (value: unknown): unknown => {
  if (value === null) return '';
  return typeof value === 'string' ? value : MALFORMED;
};

const OWNER_TEXTS = ['apiVersion', 'kind', 'name', 'uid'];
const OWNER_FLAGS = ['controller', 'blockOwnerDeletion'];

const ownerElement = (value: unknown): unknown => {
  if (value !== null && !isObject(value)) return MALFORMED;
  const owner: JsonObject = value ?? {};
  const made: Record<string, unknown> = {};
  for (const name of OWNER_TEXTS) made[name] = textElement(owner[name] ?? null);
  for (const name of OWNER_FLAGS) {
    if ((owner[name] ?? null) !== null) made[name] = typeof owner[name] === 'boolean' ? owner[name] : MALFORMED;
  }
  if (Object.values(made).includes(MALFORMED)) return MALFORMED;
  const same = Object.keys(owner).length === Object.keys(made).length && Object.keys(made).every((key) => key in owner);
  return same ? owner : made;
};

const FIELDS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['name', text],
  ['generateName', text],
  ['namespace', text],
  ['selfLink', text],
  ['uid', text],
  ['resourceVersion', text],
  ['generation', integer],
  ['creationTimestamp', time],
  ['deletionTimestamp', time],
  ['deletionGracePeriodSeconds', (value) => (isInt64(value) ? value : MALFORMED)],
  ['labels', texts],
  ['annotations', texts],
  ['ownerReferences', list(ownerElement)],
  ['finalizers', list(textElement)],
  ['managedFields', list((value) => (isObject(value) ? value : MALFORMED))],
]);
