/** Walks a value and its schema together, and visits the places that the schema selects. */
import type { CrdSchema } from '../schema.ts';
import { keyOfAlike } from './alike.ts';
import type { JsonObject } from './json.ts';
import type { Run } from './run.ts';

type Visit = (value: object, run: Run) => void;

/** Returns the visit for places with this schema, parents first. Only lists and objects are visited. */
export type At = (schema: CrdSchema) => Visit | undefined;

export function visitAll(value: unknown, schema: CrdSchema, at: At, run: Run): void {
  if (typeof value !== 'object' || value === null) return;
  at(schema)?.(value, run);
  if (Array.isArray(value)) visitItems(value, schema.items, at, run);
  else visitFields(value as JsonObject, schema, at, run);
}

function visitItems(list: readonly unknown[], items: CrdSchema | undefined, at: At, run: Run): void {
  if (items === undefined) return;
  const before = run.faults.length;
  for (let index = 0; index < list.length; index++) {
    if (index > 0 && run.faults.length === before) {
      // Generated lists are long and repeat one item exactly or nearly.
      if (list[index] === list[index - 1]) continue;
      if (index === 1 && keyOfAlike(list) !== undefined && at(items) === undefined) return;
    }
    step(index, list[index], items, at, run);
  }
}

const NONE: Readonly<Record<string, CrdSchema>> = {};

/** Fields that the schema names come first, in its order, because the API server iterates over the schema. */
function visitFields(value: JsonObject, schema: CrdSchema, at: At, run: Run): void {
  const { properties = NONE, additionalProperties } = schema;
  const keys = Object.keys(value).filter((key) => typeof value[key] === 'object');
  if (keys.length === 0) return;
  const named = keys.filter((key) => Object.hasOwn(properties, key));
  for (const key of named.length > 1 ? inOrder(named, properties) : named)
    step(key, value[key], properties[key] as CrdSchema, at, run);
  if (typeof additionalProperties !== 'object') return;
  for (const key of keys) if (!Object.hasOwn(properties, key)) step(key, value[key], additionalProperties, at, run);
}

function inOrder(keys: readonly string[], properties: object): readonly string[] {
  const order = ORDERS.get(properties) ?? new Map(Object.keys(properties).map((name, index) => [name, index]));
  ORDERS.set(properties, order);
  return [...keys].sort((left, right) => (order.get(left) as number) - (order.get(right) as number));
}

/** A cache: the order of the fields of a schema never changes. */
const ORDERS = new WeakMap<object, ReadonlyMap<string, number>>();

function step(at: string | number, value: unknown, schema: CrdSchema, what: At, run: Run): void {
  if (typeof value !== 'object' || value === null) return;
  run.enter(at);
  visitAll(value, schema, what, run);
  run.leave();
}
