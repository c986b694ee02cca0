/**
 * Where in a value an expression looks, and what the schemas say of that place: the old one, whose values there are, and the new one,
 * whose defaults they get.
 */
import { escapeProperty } from '../../cel/internal.ts';
import type { CrdSchema } from '../schema.ts';

export interface Place {
  /** undefined where the old schema does not know the place. */
  readonly before: CrdSchema | undefined;
  /** undefined where the expression was written for the old schema and the new one does not know the place. */
  readonly after: CrdSchema | undefined;
  /** Metadata: it keeps more fields than schemas name. */
  readonly isOpen?: boolean;
}

/** `always` and `never` hold wherever what is around the field is there. */
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

/** Rules do not see a field that is null: to them it is not there. */
export function presenceOf(parent: Place, field: string): Presence {
  const place = fieldOf(parent, field);
  if (place === undefined || parent.isOpen === true) return 'maybe';
  const hasDefault = place.after?.default !== undefined && place.after.default !== null;
  // A null stays null where that is allowed, whatever the default.
  if (hasDefault && place.before?.nullable !== true) return 'always';
  if (place.before === undefined) return parent.before !== undefined && isClosed(parent.before) ? 'never' : 'maybe';
  const isRequired = (parent.before?.required ?? []).some((each) => each === field || escapeProperty(each) === field);
  return isRequired && place.before.nullable !== true && place.before.default === undefined ? 'always' : 'maybe';
}

/** Whether values lose what the schema does not name. */
const isClosed = (schema: CrdSchema): boolean =>
  schema.type === 'object' &&
  schema['x-kubernetes-preserve-unknown-fields'] !== true &&
  schema['x-kubernetes-embedded-resource'] !== true &&
  (schema.additionalProperties === undefined || schema.additionalProperties === false);

/** The properties of a schema by the names that rules use for them. */
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

/** What makes a value of the one schema look the same to a rule under the other. */
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

/** Whether rules see this place alike under both schemas; `deep`: with all that is inside. */
export function seenAlike({ before, after }: Place, deep: boolean): boolean {
  // What was not there before is judged by its presence.
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
