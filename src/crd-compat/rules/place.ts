/**
 * The place in a value that an expression reads, with its two schemas: the old one, which accepted the values, and the
 * new one, whose defaults they get.
 */
import { escapeProperty } from '../../cel/internal.ts';
import type { CrdSchema } from '../schema.ts';

export interface Place {
  /** Undefined if the old schema does not have the place. */
  readonly before: CrdSchema | undefined;
  /** Undefined if the expression was written for the old schema and the new one does not have the place. */
  readonly after: CrdSchema | undefined;
  /** Whether the place is metadata, which keeps more fields than schemas name. */
  readonly isOpen?: boolean;
}

/** Whether a field is present. `always` and `never` hold if the surrounding object is present. */
export type Presence = 'always' | 'never' | 'maybe';

export function fieldOf(place: Place, field: string): Place | undefined {
  const before = propertyOf(place.before, field);
  const after = propertyOf(place.after, field);
  if (before === undefined && after === undefined) return undefined;
  return { before, after, isOpen: field === 'metadata' || place.isOpen === true };
}

export function elementOf({ before, after }: Place): Place | undefined {
  const place = { before: elementSchema(before), after: elementSchema(after) };
  return place.before === undefined && place.after === undefined ? undefined : place;
}

/** Returns the presence of a field. To rules, a null field is absent. */
export function presenceOf(parent: Place, field: string): Presence {
  const place = fieldOf(parent, field);
  if (place === undefined || parent.isOpen === true) return 'maybe';
  const hasDefault = place.after?.default !== undefined && place.after.default !== null;
  // If null is allowed, it stays null, whatever the default.
  if (hasDefault && place.before?.nullable !== true) return 'always';
  if (place.before === undefined) return parent.before !== undefined && isClosed(parent.before) ? 'never' : 'maybe';
  const isRequired = (parent.before?.required ?? []).some((each) => each === field || escapeProperty(each) === field);
  return isRequired && place.before.nullable !== true && place.before.default === undefined ? 'always' : 'maybe';
}

/** Whether fields that the schema does not name are pruned. */
const isClosed = (schema: CrdSchema): boolean =>
  schema.type === 'object' &&
  schema['x-kubernetes-preserve-unknown-fields'] !== true &&
  schema['x-kubernetes-embedded-resource'] !== true &&
  (schema.additionalProperties === undefined || schema.additionalProperties === false);

/** The properties of a schema by the names that rules use for them. */
/** A cache: the escaped names of a schema never change. */
const named = new WeakMap<CrdSchema, ReadonlyMap<string, CrdSchema>>();

function propertyOf(schema: CrdSchema | undefined, field: string): CrdSchema | undefined {
  if (schema?.properties === undefined) return undefined;
  const known = named.get(schema);
  if (known !== undefined) return known.get(field);
  const properties = Object.entries(schema.properties);
  const escaped = properties.map(([name, each]) => [escapeProperty(name) ?? name, each] as const);
  const made = new Map([...properties, ...escaped]);
  named.set(schema, made);
  return made.get(field);
}

function elementSchema(schema: CrdSchema | undefined): CrdSchema | undefined {
  if (schema?.type === 'array') return schema.items;
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** The keywords that determine what a rule sees of a value. */
const SEEN = [
  'type',
  'format',
  'nullable',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
] as const;

/** Whether rules see this place alike under both schemas; with `deep`, including everything inside it. */
export function seenAlike({ before, after }: Place, deep: boolean): boolean {
  // A place that did not exist before is decided by its presence.
  if (before === undefined) return true;
  if (after === undefined) return false;
  if (SEEN.some((each) => JSON.stringify(before[each]) !== JSON.stringify(after[each]))) return false;
  if (JSON.stringify(before.default) !== JSON.stringify(after.default)) return false;
  if (!deep) return true;
  const names = new Set([...Object.keys(before.properties ?? {}), ...Object.keys(after.properties ?? {})]);
  for (const name of names) {
    const inner = { before: before.properties?.[name], after: after.properties?.[name] };
    if (inner.before === undefined || inner.after === undefined || !seenAlike(inner, true)) return false;
  }
  const [left, right] = [elementSchema(before), elementSchema(after)];
  if ((left === undefined) !== (right === undefined)) return false;
  return left === undefined || seenAlike({ before: left, after: right }, true);
}
