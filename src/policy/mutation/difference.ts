/** Computes the patch that turns one document into another and touches only the differences. */
import { isJsonObject, type JsonObject, sameJson, writeJson } from './json.ts';

/** An operation of a generated patch, which never tests, moves or copies. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/**
 * Lists whose product of lengths exceeds this are compared element by element, because the table would be too large.
 */
const MAX_TABLE = 10_000;

/** `jsonPatchBetween` returns the operations that turn `before` into `after`, in order; none if they are equal. */
export function jsonPatchBetween(before: unknown, after: unknown): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  compare(before, after, '', operations);
  return operations;
}

/** `writeJsonPatch` returns the text of a patch for an AdmissionResponse, with exact numbers. */
export const writeJsonPatch = (operations: readonly JsonPatchOperation[]): string => writeJson(operations);

function compare(before: unknown, after: unknown, path: string, operations: JsonPatchOperation[]): void {
  if (isJsonObject(before) && isJsonObject(after)) compareObjects(before, after, path, operations);
  else if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, operations);
  else if (!sameJson(before, after)) operations.push({ op: 'replace', path, value: after });
}

function compareObjects(before: JsonObject, after: JsonObject, path: string, operations: JsonPatchOperation[]): void {
  if (before === after) return;
  for (const name of Object.keys(before)) {
    if (!Object.hasOwn(after, name)) operations.push({ op: 'remove', path: below(path, name) });
  }
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name)) operations.push({ op: 'add', path: below(path, name), value: after[name] });
    else compare(before[name], after[name], below(path, name), operations);
  }
}

/** Keeps common elements at both ends; between them it adds, removes or changes as few elements as possible. */
function compareLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  operations: JsonPatchOperation[],
): void {
  if (before === after) return;
  let start = 0;
  while (start < before.length && start < after.length && sameJson(before[start], after[start])) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && sameJson(before[before.length - 1 - end], after[after.length - 1 - end])) end++;
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  // The steps are applied from last to first, so that no operation shifts the index of a later one.
  for (const step of steps(left, right).toReversed()) {
    const element = below(path, String(start + step.at));
    if (step.kind === 'remove') operations.push({ op: 'remove', path: element });
    else if (step.kind === 'add') operations.push({ op: 'add', path: element, value: right[step.of] });
    else compare(left[step.at], right[step.of], element, operations);
  }
}

/** One change of a list: `at` is an index of the old list, `of` an index of the new one. */
interface Step {
  readonly kind: 'remove' | 'add' | 'change';
  readonly at: number;
  readonly of: number;
}

function steps(left: readonly unknown[], right: readonly unknown[]): readonly Step[] {
  if (left.length * right.length > MAX_TABLE) return inOrder(left, right);
  const costs = editCosts(left, right);
  const found: Step[] = [];
  let at = 0;
  let of = 0;
  const cost = (i: number, j: number): number => costs[i * (right.length + 1) + j] as number;
  while (at < left.length || of < right.length) {
    const both = at < left.length && of < right.length;
    if (both && cost(at, of) === cost(at + 1, of + 1) && sameJson(left[at], right[of])) {
      at++;
      of++;
    } else if (both && cost(at, of) === cost(at + 1, of + 1) + changeCost(left[at], right[of])) {
      found.push({ kind: 'change', at: at++, of: of++ });
    } else if (at < left.length && cost(at, of) === cost(at + 1, of) + 1) {
      found.push({ kind: 'remove', at: at++, of });
    } else {
      found.push({ kind: 'add', at, of: of++ });
    }
  }
  return found;
}

/** Returns the minimum cost of turning the rest of one list, from each index on, into the rest of the other. */
function editCosts(left: readonly unknown[], right: readonly unknown[]): Float64Array {
  const width = right.length + 1;
  const costs = new Float64Array((left.length + 1) * width);
  for (let i = left.length; i >= 0; i--) {
    for (let j = right.length; j >= 0; j--) {
      if (i === left.length || j === right.length) {
        costs[i * width + j] = left.length - i + (right.length - j);
        continue;
      }
      const change = sameJson(left[i], right[j]) ? 0 : changeCost(left[i], right[j]);
      costs[i * width + j] = Math.min(
        (costs[(i + 1) * width + j + 1] as number) + change,
        (costs[(i + 1) * width + j] as number) + 1,
        (costs[i * width + j + 1] as number) + 1,
      );
    }
  }
  return costs;
}

/** Changing an element costs less than replacing it, and least if both elements have the same name. */
function changeCost(left: unknown, right: unknown): number {
  if (!isJsonObject(left) || !isJsonObject(right)) return 1.5;
  return left.name !== undefined && left.name === right.name ? 0.5 : 1.5;
}

function inOrder(left: readonly unknown[], right: readonly unknown[]): readonly Step[] {
  const shared = Math.min(left.length, right.length);
  const found: Step[] = [];
  for (let index = 0; index < shared; index++) found.push({ kind: 'change', at: index, of: index });
  for (let index = shared; index < left.length; index++) found.push({ kind: 'remove', at: index, of: shared });
  for (let index = shared; index < right.length; index++) found.push({ kind: 'add', at: shared, of: index });
  return found;
}

const below = (path: string, key: string): string => `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
