/** Searches for an update that was accepted and that a new rule with `oldSelf` refuses. */

import { same } from '../canonical.ts';
import { applyDefaults, prune, samples, type Validator, validator, without } from '../instance/index.ts';
import { isObject } from '../json.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { candidates } from './candidates.ts';
import { choices } from './choices.ts';
import { compileRule } from './compiled.ts';
import type { OldRules } from './implies.ts';
import { literalsOf } from './literals.ts';
import { named, type ObjectType } from './witness.ts';

/** The value at the path of the rule, before and after an update. */
export interface Update {
  readonly from: unknown;
  readonly to: unknown;
}

/** The number of values that are drawn; every ordered pair of them is an update to try. */
const VALUES = 32;
const DRAWS = 400;
const SAMPLES = 6;
/** The number of updates to return: in a whole object, the first ones can be invalid for another reason. */
const UPDATES = 8;

/**
 * `refusedUpdates` returns updates that the old schema and rules accept and the new rule refuses, simple ones first. The
 * old rules and the new one apply to the values at one path.
 */
export function refusedUpdates(
  old: OldRules,
  added: ValidationRule,
  schema: CrdSchema,
  type: ObjectType = { apiVersion: 'example.com/v1', kind: 'Example' },
): readonly Update[] {
  const rule = compileRule(added, schema);
  if (typeof rule === 'string') return [];
  const premises = old.rules.map((each) => compileRule(each, old.schema)).filter((each) => typeof each === 'object');
  const resource = [rule, ...premises].some((each) => each.resource);
  const before = validator({ ...old.schema, 'x-kubernetes-validations': old.rules }, { resource });
  const after = validator(
    { ...without(schema, 'x-kubernetes-validations'), 'x-kubernetes-validations': [added] },
    { resource },
  );
  const values: { readonly was: unknown; readonly is: unknown }[] = [];
  const found = new Map<string, Update>();
  const note = (from: unknown, to: unknown): void => {
    const part = differing(from, to);
    if (!found.has(part)) found.set(part, { from, to });
  };
  const draw = candidates(old.schema, schema, literalsOf([rule, ...premises]));
  for (const drawn of distinctOf(valuesOf(draw, old.schema))) {
    const value = resource ? named(drawn, type) : drawn;
    const was = applyDefaults(value, old.schema);
    if (before.validate(was).length > 0) continue;
    const is = applyDefaults(prune(value, schema, { resource }).value, schema);
    for (const other of values) {
      if (refuses(before, after, other, { was, is })) note(other.was, was);
      if (refuses(before, after, { was, is }, other)) note(was, other.was);
      if (found.size >= UPDATES) return [...found.values()];
    }
    values.push({ was, is });
    if (values.length >= VALUES) break;
  }
  return [...found.values()];
}

/** Names the fields that an update changes. One update of each sort suffices: an update of the keys of a list item shows nothing. */
const differing = (from: unknown, to: unknown): string =>
  isObject(from) && isObject(to)
    ? [...new Set([...Object.keys(from), ...Object.keys(to)])]
        .filter((key) => !same(from[key], to[key]))
        .sort()
        .join(' ')
    : `${typeof from} ${typeof to}`;

type Read = { readonly was: unknown; readonly is: unknown };

/** Whether only the new rule refuses the update. */
function refuses(before: Validator, after: Validator, from: Read, to: Read): boolean {
  if (before.validate(to.was, from.was).length > 0) return false;
  const faults = after.validate(to.is, from.is);
  return faults.length > 0 && faults.every((fault) => fault.rule !== undefined);
}

/** The values around the literals of the rule, and others: a rule such as `self == oldSelf` reads all fields and names none. */
function* valuesOf(draw: ReturnType<typeof candidates>, schema: CrdSchema): Generator<unknown, undefined> {
  let draws = 0;
  for (const choose of choices()) {
    if (draws++ >= DRAWS) break;
    const drawn = draw(choose);
    if (drawn !== undefined) yield drawn;
    if (draws === VALUES)
      yield* variations(samples(without(schema, 'x-kubernetes-validations'), { seed: 1, count: SAMPLES }));
  }
  if (draws < VALUES)
    yield* variations(samples(without(schema, 'x-kubernetes-validations'), { seed: 1, count: SAMPLES }));
}

/** Samples, and for objects those that differ from the first one in a single field: the keys of a list item stay. */
function* variations(found: readonly unknown[]): Generator<unknown, undefined> {
  const [first] = found;
  for (const each of found) {
    yield each;
    if (!isObject(first) || !isObject(each)) continue;
    for (const key of Object.keys(each)) if (!same(first[key], each[key])) yield { ...first, [key]: each[key] };
  }
}

function* distinctOf(values: Iterable<unknown>): Generator<unknown, undefined> {
  const seen = new Set<string>();
  for (const value of values) {
    const text = JSON.stringify(value);
    if (seen.has(text)) continue;
    seen.add(text);
    yield value;
  }
}
