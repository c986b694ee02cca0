/** One text for one value, whatever the order of its keys: what equality and digests of schemas are taken from. */
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
 * The value with the keys of every object in order; the value itself, and what is in it, where they are. Whatever is equal to what is at
 * the same place of `like`, itself tidy, is that very thing: two definitions then share all that did not change between them.
 */
export function tidy<Value>(value: Value, like?: unknown): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return tidyList(value, Array.isArray(like) ? like : undefined) as Value;
  return tidyObject(value as Members, isObject(like) ? like : undefined) as Value;
}

/** Two values, tidy, that share all that is the same at the same place. What was found out about that of one holds for the other. */
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

/** What is not the object's own is a function of its prototype: data has none. */
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

/** Whether two values are the same JSON: the order of keys does not count, and a member that is undefined is not there. */
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

const KNOWN = new Map<string, unknown>();
/** Definitions repeat themselves, between versions and within one; what is kept of earlier ones is little. */
const MOST = 500;

/** The answer to a question that has been asked before, for questions whose answer follows from what is asked alone. */
export function remembered<Answer>(question: readonly (string | object)[], answer: () => Answer): Answer {
  const key = question.map((part) => (typeof part === 'string' ? part : fingerprint(part))).join(' ');
  if (KNOWN.has(key)) return KNOWN.get(key) as Answer;
  const found = answer();
  if (KNOWN.size >= MOST) KNOWN.clear();
  KNOWN.set(key, found);
  return found;
}

const FINGERPRINTS = new WeakMap<object, string>();
/** Up to here a text is kept as it is: a hash of it would take longer than to compare it. */
const SHORT = 2_048;

/** Not long, whatever the size of the value, and taken once of each. */
function fingerprint(value: object): string {
  let found = FINGERPRINTS.get(value);
  if (found === undefined) {
    const text = canonical(value);
    found = text.length <= SHORT ? text : createHash('sha256').update(text).digest('base64');
    FINGERPRINTS.set(value, found);
  }
  return found;
}
