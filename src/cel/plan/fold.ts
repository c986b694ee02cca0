/** Folds constant lists, maps and library values once, when the plan is created. */
import { mapGet, mapOf } from '../map.ts';
import { isOptional } from '../types.ts';
import { CelError, Optional, type Value } from '../values.ts';
import { dispatch } from './dispatch.ts';
import type { ListPlan, MapPlan, Plan } from './plan.ts';

export function foldList(list: ListPlan): Plan {
  const values: Value[] = [];
  for (const { plan, optional } of list.elements) {
    if (plan.op !== 'constant' || optional) return list;
    values.push(plan.value);
  }
  return { op: 'constant', node: list.node, value: Object.freeze(values) as readonly Value[] };
}

export function foldMap(map: MapPlan): Plan {
  const entries: [Value, Value][] = [];
  for (const { key, value, optional } of map.entries) {
    if (key.op !== 'constant' || value.op !== 'constant' || optional) return map;
    entries.push([key.value, value.value]);
  }
  const made = makeMap(entries, map.unique);
  return made instanceof CelError ? map : { op: 'constant', node: map.node, value: made };
}

/** Constants such as `quantity('1Gi')` and `cidr('10.0.0.0/8')` are parsed once. Only small values are kept. */
export function withKnownValue(call: Plan): Plan {
  if (call.op !== 'call' || call.args.length === 0 || call.overloads.length === 0) return call;
  if (
    !call.overloads.every(({ result }) => result.kind === 'object' || (result.kind === 'opaque' && !isOptional(result)))
  )
    return call;
  const args: Value[] = [];
  for (const each of call.args) {
    if (each.op !== 'constant') return call;
    args.push(each.value);
  }
  const value = dispatch(call.name, call.overloads, args);
  if (value instanceof CelError) return call;
  return { ...call, known: { value, cost: call.cost === undefined ? 1 : call.cost(args, value) } };
}

/** `makeMap` creates a map of entries; the last of equal keys wins, unless keys must be unique. */
export function makeMap(entries: readonly (readonly [Value, Value])[], unique: boolean): Value | CelError {
  const made = mapOf(entries);
  if (!(made instanceof CelError) || made.code !== 'duplicate_key' || unique) return made;
  const kept: (readonly [Value, Value])[] = [];
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index] as readonly [Value, Value];
    const known = mapOf(kept);
    if (known instanceof CelError || mapGet(known, entry[0]) !== undefined) continue;
    kept.unshift(entry);
  }
  return mapOf(kept);
}

/** `optionalElement` returns the value inside an optional element; undefined omits the element. */
export function optionalElement(value: Value, what: string): Value | undefined | CelError {
  if (value instanceof Optional) return value.value;
  return new CelError('invalid_argument', `cannot initialize optional ${what} from non-optional value`);
}
