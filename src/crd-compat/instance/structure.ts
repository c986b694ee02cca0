/** Compiles a schema into one function that checks values. CEL rules, list types and metadata are checked elsewhere. */
import type { CrdSchema } from '../schema.ts';
import { keyOfAlike } from './alike.ts';
import type { Correlation } from './correlation.ts';
import { isObject, type JsonObject } from './json.ts';
import { numberCheck } from './numbers.ts';
import type { Check, Run } from './run.ts';
import { enumCheck, textCheck, typeCheck } from './values.ts';

/**
 * The check of one schema, with ratcheting: faults in unchanged values are excused. It is built on first use, because
 * objects fill only few fields of a large schema.
 */
export function structureCheck(schema: CrdSchema): Check {
  let made: Check | undefined;
  return (value, run, correlation) => {
    const before = run.faults.length;
    made ??= bareCheck(schema);
    made(value, run, correlation);
    if (run.faults.length > before && correlation?.unchanged === true) run.forget(before);
  };
}

/** Keywords are checked in the order of the API server, so that the first fault is the one it reports first. */
function bareCheck(schema: CrdSchema): Check {
  const type = typeCheck(schema);
  const allowed = enumCheck(schema);
  const rest = [
    junctorCheck(schema),
    textCheck(schema),
    numberCheck(schema),
    listCheck(schema),
    allowed,
    objectCheck(schema),
  ].filter((each) => each !== undefined);
  return (value, run, correlation) => {
    type?.(value, run, correlation);
    // For null, only the type and the enum are checked.
    if (value === null || value === undefined) allowed?.(value, run, correlation);
    else for (const check of rest) check(value, run, correlation);
  };
}

function listCheck({ items, minItems, maxItems }: CrdSchema): Check | undefined {
  const element = items === undefined ? undefined : structureCheck(items);
  if (element === undefined && minItems === undefined && maxItems === undefined) return undefined;
  return (value, run, correlation) => {
    if (!Array.isArray(value)) return;
    if (element !== undefined) checkItems(value, run, correlation, element, items as CrdSchema);
    const { length } = value;
    if (minItems !== undefined && length < minItems)
      run.fault('minItems', `has ${length} items, fewer than ${minItems}`);
    if (maxItems !== undefined && length > maxItems)
      run.fault('maxItems', `has ${length} items, more than ${maxItems}`);
  };
}

function checkItems(
  list: readonly unknown[],
  run: Run,
  correlation: Correlation | undefined,
  element: Check,
  items: CrdSchema,
): void {
  const before = run.faults.length;
  for (let index = 0; index < list.length; index++) {
    if (index > 0 && correlation === undefined && run.faults.length === before) {
      // Generated lists are long and repeat one item exactly or nearly.
      if (list[index] === list[index - 1]) continue;
      if (index === 1 && checkKeys(list, run, items)) return;
    }
    run.enter(index);
    element(list[index], run, correlation?.index(index));
    run.leave();
  }
}

/**
 * Checks the keys of a list whose items are alike and whose first item has no fault; returns whether it is such a list.
 */
function checkKeys(list: readonly unknown[], run: Run, items: CrdSchema): boolean {
  const key = keyOfAlike(list);
  const { properties = {}, allOf, anyOf, oneOf, not, enum: allowed } = items;
  const byFields = [allOf, anyOf, oneOf, not, allowed].every((each) => each === undefined);
  if (key === undefined || !byFields || !Object.hasOwn(properties, key)) return false;
  const check = structureCheck(properties[key] as CrdSchema);
  for (let index = 1; index < list.length; index++) {
    run.enter(index);
    run.enter(key);
    check((list[index] as JsonObject)[key], run, undefined);
    run.leave();
    run.leave();
  }
  return true;
}

function objectCheck(schema: CrdSchema): Check | undefined {
  const { required = [], minProperties, maxProperties, additionalProperties, properties = NONE } = schema;
  const entry = typeof additionalProperties === 'object' ? structureCheck(additionalProperties) : undefined;
  const open = isEmpty(properties) && entry === undefined && additionalProperties !== false;
  if (open && required.length === 0 && minProperties === undefined && maxProperties === undefined) return undefined;
  const checks = new Map<string, Check>();
  return (value, run, correlation) => {
    if (!isObject(value)) return;
    const keys = Object.keys(value);
    const { length } = keys;
    if (minProperties !== undefined && length < minProperties) {
      run.fault('minProperties', `has ${length} properties, fewer than ${minProperties}`);
    }
    if (maxProperties !== undefined && length > maxProperties) {
      run.fault('maxProperties', `has ${length} properties, more than ${maxProperties}`);
    }
    // Ratcheting does not see the type of the root, because both sides are converted to the same type.
    const atRoot = run.atRoot;
    for (const key of keys) {
      const check = checks.get(key) ?? propertyCheck(properties, key, checks) ?? entry;
      if (check === undefined) {
        if (additionalProperties === false) run.faultAt(key, 'additionalProperties', 'is no field of the schema');
        continue;
      }
      run.enter(key);
      const typeMeta = atRoot && (key === 'apiVersion' || key === 'kind');
      check(value[key], run, typeMeta ? undefined : correlation?.key(key));
      run.leave();
    }
    for (const name of required) {
      if (!Object.hasOwn(value, name)) run.faultAt(name, 'required', 'is required');
    }
  };
}

const NONE: Readonly<Record<string, CrdSchema>> = {};

function isEmpty(properties: object): boolean {
  for (const _ in properties) return false;
  return true;
}

/** The check is built for fields that are present. */
function propertyCheck(
  properties: Readonly<Record<string, CrdSchema>>,
  name: string,
  checks: Map<string, Check>,
): Check | undefined {
  if (!Object.hasOwn(properties, name)) return undefined;
  const made = structureCheck(properties[name] as CrdSchema);
  checks.set(name, made);
  return made;
}

/** Ratcheting does not apply inside allOf, anyOf, oneOf and not, so these checks get no old value. */
function junctorCheck({ allOf = [], anyOf = [], oneOf = [], not }: CrdSchema): Check | undefined {
  if (allOf.length + anyOf.length + oneOf.length === 0 && not === undefined) return undefined;
  const all = allOf.map(bareCheck);
  const any = anyOf.map(bareCheck);
  const one = oneOf.map(bareCheck);
  const never = not === undefined ? undefined : bareCheck(not);
  return (value, run) => {
    if (any.length > 0 && !any.some((check) => holds(check, value, run))) {
      run.fault('anyOf', 'matches none of the alternatives of anyOf');
    }
    if (one.length > 0) {
      const count = one.filter((check) => holds(check, value, run)).length;
      if (count !== 1)
        run.fault('oneOf', `matches ${count === 0 ? 'none' : count} of the alternatives of oneOf, not one`);
    }
    for (const check of all) check(value, run, undefined);
    if (never !== undefined && holds(never, value, run)) run.fault('not', 'matches what "not" forbids');
  };
}

function holds(check: Check, value: unknown, run: Run): boolean {
  const before = run.faults.length;
  check(value, run, undefined);
  return !run.forget(before);
}
