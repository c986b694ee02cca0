/** A walk through a value and its schema together, to the places that a question is about and no others. */
import type { CrdSchema } from '../schema.ts';
import { isObject } from './json.ts';
import type { Run } from './run.ts';

export type Visit = (value: unknown, run: Run) => void;

/** undefined where there is no such place. `at` answers what to do where the schema says so, parents first. */
export function visitor(schema: CrdSchema, at: (schema: CrdSchema) => Visit | undefined): Visit | undefined {
  const here = at(schema);
  const { items, additionalProperties, properties = NONE } = schema;
  const element = items === undefined ? undefined : visitor(items, at);
  const entry = typeof additionalProperties === 'object' ? visitor(additionalProperties, at) : undefined;
  const named = namedIn(properties, at);
  if (here === undefined && element === undefined && entry === undefined && named === undefined) return undefined;
  return (value, run) => {
    here?.(value, run);
    if (Array.isArray(value)) {
      if (element === undefined) return;
      const before = run.faults.length;
      for (let index = 0; index < value.length; index++) {
        // The lists that are made to show something are long, and of one and the same item.
        if (index > 0 && value[index] === value[index - 1] && run.faults.length === before) continue;
        step(index, value[index], element, run);
      }
    } else if (isObject(value)) {
      for (const { name, visit } of named ?? []) if (Object.hasOwn(value, name)) step(name, value[name], visit, run);
      if (entry === undefined) return;
      for (const key of Object.keys(value)) if (!Object.hasOwn(properties, key)) step(key, value[key], entry, run);
    }
  };
}

type Properties = Readonly<Record<string, CrdSchema>>;

const NONE: Properties = {};

/** Few of the fields of a large schema have such a place: nothing is made for the others. */
function namedIn(
  properties: Properties,
  at: (schema: CrdSchema) => Visit | undefined,
): readonly { readonly name: string; readonly visit: Visit }[] | undefined {
  let named: { name: string; visit: Visit }[] | undefined;
  for (const name in properties) {
    const visit = visitor(properties[name] as CrdSchema, at);
    if (visit === undefined) continue;
    named ??= [];
    named.push({ name, visit });
  }
  return named;
}

function step(at: string | number, value: unknown, visit: Visit, run: Run): void {
  if (typeof value !== 'object' || value === null) return;
  run.enter(at);
  visit(value, run);
  run.leave();
}
