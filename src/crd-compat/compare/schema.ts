/** Walks the two schemas of one version in parallel and notes the differences, field by field. */
import { same } from '../canonical.ts';
import type { CrdSchema } from '../schema.ts';
import { compareDefault } from './defaults.ts';
import { BREAKING, fieldOf, itemsOf, type Notes, type Place, RISKY, refused, SAFE, valuesOf } from './draft.ts';
import { compareFields } from './fields.ts';
import { show } from './format.ts';
import { type ResourceType, withIdentity } from './identity.ts';
import { compareJunctors } from './junctors.ts';
import { compareList } from './lists.ts';
import { compareRules } from './rules.ts';
import { compareValues } from './values.ts';

/** The name that stands for a field that no schema names. */
const UNNAMED = 'unnamed';

export interface Sides {
  /**
   * Whether objects here are whole resources, which have apiVersion, kind and metadata even if the schema does not name
   * them.
   */
  readonly resource: boolean;
  /** The type of these resources. */
  readonly type?: ResourceType;
}

export function compareSchemas(one: CrdSchema, other: CrdSchema, at: Place, notes: Notes, sides: Sides): void {
  if (one === other) return;
  const type = sides.type ?? (isEmbedded(one) && isEmbedded(other) ? 'embedded' : undefined);
  const [before, after] = type === undefined ? [one, other] : withIdentity(one, other, type);
  const place = at.minded || minding.every((name) => after[name] === undefined) ? at : { ...at, minded: true };
  if (isSameBut(before, after)) {
    compareInside(before, after, place, notes);
    return;
  }
  compareDescription(before, after, place, notes);
  compareNullable(before, after, place, notes);
  compareDefault(before, after, place, notes);
  if (!compareType(before, after, place, notes)) return;
  if (notes.scope === 'all') compareValues(before, after, place, notes);
  compareOpenness(before, after, place, notes, sides);
  compareFields(before, after, place, notes, sides, compareSchemas);
  compareList(before, after, place, notes, compareSchemas);
  if (notes.scope !== 'all') return;
  compareJunctors(before, after, place, notes);
  compareRules(before, after, place, notes, type);
}

const isEmbedded = (schema: CrdSchema): boolean => schema['x-kubernetes-embedded-resource'] === true;

const minding = ['maxProperties', 'x-kubernetes-validations', 'oneOf', 'not', 'anyOf', 'allOf'] as const;

const within: ReadonlySet<string> = new Set(['properties', 'items', 'additionalProperties']);

/** Whether two schemas differ at most inside their fields, which is true nearly everywhere in a large definition. */
function isSameBut(before: CrdSchema, after: CrdSchema): boolean {
  const old = before as Readonly<Record<string, unknown>>;
  const now = after as Readonly<Record<string, unknown>>;
  for (const key in old) {
    const differs =
      old[key] !== now[key] && (within.has(key) ? !alike(key, old[key], now[key]) : !same(old[key], now[key]));
    if (differs) return false;
  }
  for (const key in now) if (old[key] === undefined && now[key] !== undefined) return false;
  return true;
}

/** Whether both have the same field names, or both are a schema. */
function alike(key: string, old: unknown, now: unknown): boolean {
  if (typeof old !== 'object' || typeof now !== 'object' || old === null || now === null) return false;
  if (key !== 'properties') return true;
  const names = Object.keys(old);
  return names.length === Object.keys(now).length && names.every((name) => Object.hasOwn(now, name));
}

function compareInside(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const sides: Sides = { resource: false };
  for (const name in before.properties) {
    compareSchemas(
      before.properties[name] as CrdSchema,
      after.properties?.[name] as CrdSchema,
      fieldOf(place, name, before.required?.includes(name)),
      notes,
      sides,
    );
  }
  if (before.items !== undefined && after.items !== undefined) {
    compareSchemas(before.items, after.items, itemsOf(place, after['x-kubernetes-list-type'] === 'map'), notes, sides);
  }
  const { additionalProperties: old } = before;
  const { additionalProperties: now } = after;
  if (typeof old === 'object' && typeof now === 'object') compareSchemas(old, now, valuesOf(place), notes, sides);
}

const documentation = ['description', 'title', 'example', 'externalDocs'] as const;

function compareDescription(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = before as Readonly<Record<string, unknown>>;
  const now = after as Readonly<Record<string, unknown>>;
  const name = documentation.find((key) => !same(old[key], now[key]));
  if (name === undefined) return;
  notes.add(place, {
    kind: 'description-changed',
    ...SAFE,
    ...(old[name] === undefined ? {} : { before: old[name] }),
    ...(now[name] === undefined ? {} : { after: now[name] }),
    message: `The ${name} changed.`,
  });
}

/** The shape of a schema: `any` if every value is accepted, without a type and with unknown fields kept. */
const shapeOf = (schema: CrdSchema): string => {
  if (schema['x-kubernetes-int-or-string'] === true) return 'int-or-string';
  return schema.type === undefined || schema.type === '' ? 'any' : schema.type;
};

/** Type changes that accept every old value, but that readers of the field might not expect. */
const widened: Readonly<Record<string, readonly string[]>> = {
  integer: ['number', 'int-or-string', 'any'],
  number: ['any'],
  string: ['int-or-string', 'any'],
  'int-or-string': ['any'],
  boolean: ['any'],
  array: ['any'],
  object: ['any'],
};

/** Compares the types and returns whether the rest is comparable: values of different types are not. */
function compareType(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): boolean {
  const old = shapeOf(before);
  const now = shapeOf(after);
  if (old === now) return true;
  const change = {
    kind: 'type-changed' as const,
    before: old,
    after: now,
    message: `The type changed from ${old} to ${now}.`,
  };
  if (widened[old]?.includes(now) === true) {
    notes.add(place, {
      ...change,
      ...RISKY,
      hits: `clients that read ${place.path} and expect it to be ${article(old)}`,
    });
    return true;
  }
  notes.add(place, {
    ...change,
    ...refused(place, 'value'),
    // Ratcheting does not help here: typed clients cannot decode a value of another type.
    storedObjects: 'breaking',
    hits: `objects with ${place.path} that is not ${article(now)}`,
    decidedBy: 'acceptance',
    probe: { steps: place.steps, failing: schemaOf(now), expect: 'refused' },
    // All old values still have the new type, for example numbers that were all integers: no object is refused.
    otherwise: { ...RISKY, decidedBy: 'acceptance' },
  });
  // Numbers that can be integers are still comparable.
  return old === 'number' && now === 'integer';
}

const article = (name: string): string => `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`;

const schemaOf = (shape: string): CrdSchema =>
  shape === 'int-or-string' ? { anyOf: [{ type: 'integer' }, { type: 'string' }] } : { type: shape };

function compareNullable(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = before.nullable === true;
  const now = after.nullable === true;
  if (old === now) return;
  if (now) {
    // If the field has a default, null used to be replaced by it and is kept now.
    const replaced = before.default !== undefined;
    notes.add(place, {
      kind: 'nullable-added',
      before: false,
      after: true,
      ...(replaced ? RISKY : SAFE),
      message: 'null is allowed now.',
      ...(replaced
        ? { hits: `manifests with ${place.path}: null, which the default ${show(before.default)} used to replace` }
        : {}),
    });
    return;
  }
  const inList = typeof place.steps.at(-1) === 'number';
  notes.add(place, {
    kind: 'nullable-removed',
    before: true,
    after: false,
    // In an object, null is replaced by the default or dropped; in a list it stays and is refused.
    ...(inList ? refused(place, 'value') : BREAKING),
    message:
      after.default !== undefined
        ? `null is replaced by the default ${show(after.default)} now.`
        : inList
          ? 'null is no longer allowed.'
          : 'null is no longer allowed: the field is dropped where it is null.',
    hits: `objects with ${place.path}: null`,
    decidedBy: 'acceptance',
    probe: { steps: place.steps, values: [null], expect: inList ? 'refused' : 'changed' },
    otherwise: { ...SAFE, decidedBy: 'acceptance' },
  });
}

function compareOpenness(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes, sides: Sides): void {
  const open = 'x-kubernetes-preserve-unknown-fields';
  if ((before[open] === true) !== (after[open] === true)) {
    const opened = after[open] === true;
    notes.add(place, {
      kind: opened ? 'preserve-unknown-fields-added' : 'preserve-unknown-fields-removed',
      before: !opened,
      after: opened,
      ...(opened ? SAFE : BREAKING),
      message: opened ? 'Fields that are not named are kept now.' : 'Fields that are not named are pruned now.',
      ...(opened
        ? {}
        : {
            hits: `objects with other fields in ${place.path}`,
            probe: { steps: [...place.steps, UNNAMED], values: ['value'], expect: 'pruned' as const },
            // If the object is a map now, nothing is pruned.
            otherwise: { ...SAFE, decidedBy: 'acceptance' as const },
          }),
      decidedBy: 'acceptance',
    });
  }
  const embedded = 'x-kubernetes-embedded-resource';
  if (sides.resource || (before[embedded] === true) === (after[embedded] === true)) return;
  const added = after[embedded] === true;
  notes.add(place, {
    kind: added ? 'embedded-resource-added' : 'embedded-resource-removed',
    before: !added,
    after: added,
    ...(added ? refused(place, 'object') : BREAKING),
    message: added
      ? 'The object must now be a whole resource: apiVersion, kind and valid metadata.'
      : 'The object need no longer be a whole resource, and its apiVersion, kind and metadata are fields like any other.',
    hits: added
      ? `objects with ${place.path} that is not a complete resource`
      : `objects with apiVersion, kind or metadata in ${place.path} that the schema does not name`,
    decidedBy: 'acceptance',
    probe: added
      ? { steps: place.steps, failing: { required: ['apiVersion', 'kind'] }, expect: 'refused' }
      : { steps: [...place.steps, 'metadata'], values: [{ name: 'example' }], expect: 'pruned' },
    otherwise: { ...SAFE, decidedBy: 'acceptance' },
  });
}
