/**
 * Canonical JSON: one text per value, independent of the order of keys. Equality and digests of schemas build on it.
 */
import { createHash } from 'node:crypto';
import { isObject } from './json.ts';

export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null');
  }
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${canonical(item)}`;
    return `[${text}]`;
  }
  for (const key of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonical(member)}`;
  }
  return `{${text}}`;
}

/**
 * `tidy` returns the value with the keys of every object sorted, and shares every part that is already sorted. A part
 * that equals the part at the same place of `like`, which must be tidy itself, becomes that very object: two
 * definitions then share everything that did not change between them.
 */
export function tidy<Value>(value: Value, like?: unknown): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return tidyList(value, Array.isArray(like) ? like : undefined) as Value;
  return tidyObject(value as Members, isObject(like) ? like : undefined) as Value;
}

/**
 * `alike` tidies two values so that they share every part that is equal at the same place. A result for a shared part
 * of one value holds for the other.
 */
export function alike<Value>(one: Value, other: Value): [Value, Value] {
  const first = tidy(one);
  return [first, tidy(other, first)];
}

type Members = Readonly<Record<string, unknown>>;

function tidyObject(members: Members, like: Members | undefined): Members {
  let isSorted = true;
  let isLike = like !== undefined;
  let last = '';
  let changed: Map<string, unknown> | undefined;
  const keys = Object.keys(members);
  for (const key of keys) {
    if (key < last) isSorted = false;
    last = key;
    const member = members[key];
    const other = like === undefined ? undefined : own(like, key);
    if (typeof member !== 'object' || member === null) {
      if (member !== other) isLike = false;
      continue;
    }
    const mine = tidy(member, other);
    if (mine !== other) isLike = false;
    if (mine === member) continue;
    changed ??= new Map();
    changed.set(key, mine);
  }
  if (isLike && like !== undefined && Object.keys(like).length === keys.length) return like;
  if (isSorted && changed === undefined) return members;
  const made: Record<string, unknown> = {};
  for (const key of isSorted ? keys : keys.sort()) {
    const value = changed?.get(key) ?? members[key];
    if (key !== '__proto__') made[key] = value;
    else Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return made;
}

/** An inherited member is always a function of the prototype, because data has no functions. */
function own(members: Members, key: string): unknown {
  const value = members[key];
  return typeof value === 'function' || key === '__proto__' ? undefined : value;
}

function tidyList(list: readonly unknown[], like: readonly unknown[] | undefined): readonly unknown[] {
  let isLike = like?.length === list.length;
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const mine = tidy(list[index], like?.[index]);
    if (mine !== like?.[index]) isLike = false;
    if (mine === list[index]) continue;
    copy ??= [...list];
    copy[index] = mine;
  }
  return isLike && like !== undefined ? like : (copy ?? list);
}

/** `same` compares two values as JSON: the order of keys does not matter, and an undefined member counts as absent. */
export function same(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (!Array.isArray(left)) return !Array.isArray(right) && sameMembers(left as Members, right as Members);
  if (!Array.isArray(right) || left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (!same(left[index], right[index])) return false;
  return true;
}

function sameMembers(left: Members, right: Members): boolean {
  let count = 0;
  for (const key of Object.keys(left)) {
    if (left[key] === undefined) continue;
    count++;
    if (!Object.hasOwn(right, key) || !same(left[key], right[key])) return false;
  }
  for (const key of Object.keys(right)) if (right[key] !== undefined) count--;
  return count === 0;
}

/**
 * A cache. An answer depends on its question only, so that an entry is never stale and a lost entry costs time only.
 */
const KNOWN = new Map<string, unknown>();
/**
 * The largest number of cached answers. Definitions repeat themselves, across versions and within one, so that a few
 * suffice.
 */
const MOST = 500;

/** `remembered` returns the cached answer to a question. The answer must depend on nothing but the question. */
export function remembered<Answer>(question: readonly (string | object)[], answer: () => Answer): Answer {
  const key = question.map((part) => (typeof part === 'string' ? part : fingerprint(part))).join(' ');
  if (KNOWN.has(key)) return KNOWN.get(key) as Answer;
  const found = answer();
  if (KNOWN.size >= MOST) KNOWN.clear();
  KNOWN.set(key, found);
  return found;
}

/** A cache: the fingerprint of an object never changes, because schemas are not modified after reading. */
const FINGERPRINTS = new WeakMap<object, string>();
/** A text up to this length is its own fingerprint: hashing it would take longer than comparing it. */
const SHORT = 2_048;

/** `fingerprint` returns a short text that identifies a value. Each value is serialized only once. */
function fingerprint(value: object): string {
  let found = FINGERPRINTS.get(value);
  if (found === undefined) {
    const text = canonical(value);
    found = text.length <= SHORT ? text : createHash('sha256').update(text).digest('base64');
    FINGERPRINTS.set(value, found);
  }
  return found;
}
