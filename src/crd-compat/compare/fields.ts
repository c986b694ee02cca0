/** Compares the fields of an object: added, removed, renamed or required fields, and named fields against maps. */
import type { CrdSchema } from '../schema.ts';
import { filledIn } from './defaults.ts';
import { BREAKING, fieldOf, Notes, type Place, RISKY, SAFE, valuesOf } from './draft.ts';
import { show } from './format.ts';
import { ANYTHING, implied, isOpen, mapValues } from './object-schema.ts';
import { renames } from './renames.ts';
import { compareRequired } from './required.ts';
import type { Sides } from './schema.ts';

type Walk = (before: CrdSchema, after: CrdSchema, place: Place, notes: Notes, sides: Sides) => void;

const NONE: Readonly<Record<string, CrdSchema>> = {};

export function compareFields(
  before: CrdSchema,
  after: CrdSchema,
  place: Place,
  notes: Notes,
  sides: Sides,
  walk: Walk,
): void {
  const resource = sides.resource || (isEmbedded(before) && isEmbedded(after));
  const old = { ...(resource ? implied : NONE), ...before.properties };
  const now = { ...(resource ? implied : NONE), ...after.properties };
  const oldMap = mapValues(before);
  const newMap = mapValues(after);
  const inside: Sides = { resource: false };

  for (const name of Object.keys(old).sort()) {
    const one = old[name] as CrdSchema;
    const other = Object.hasOwn(now, name) ? now[name] : undefined;
    if (other !== undefined) walk(one, other, fieldOf(place, name, before.required?.includes(name)), notes, inside);
  }
  compareMaps(before, after, oldMap, newMap, place, notes, walk);

  const gone = Object.keys(old).filter((name) => !Object.hasOwn(now, name));
  const added = Object.keys(now).filter((name) => !Object.hasOwn(old, name));
  const renamed =
    isOpen(after) || isOpen(before) || newMap !== undefined || oldMap !== undefined
      ? []
      : renames(gone, added, old, now);
  for (const { from, to } of renamed) {
    notes.add(fieldOf(place, from), {
      kind: 'field-renamed',
      before: from,
      after: to,
      ...BREAKING,
      message: `${from} was renamed to ${to}: it is gone, and ${to} has the same shape.`,
      hits: `objects with ${fieldOf(place, from).path}: the value is pruned, not moved`,
      decidedBy: 'acceptance',
      probe: { steps: fieldOf(place, from).steps, expect: 'pruned' },
    });
  }
  const from = new Set(renamed.map((pair) => pair.from));
  const to = new Set(renamed.map((pair) => pair.to));
  for (const name of gone.sort()) {
    if (!from.has(name) && newMap === undefined)
      removeField(old[name] as CrdSchema, fieldOf(place, name), isOpen(after), notes);
  }
  for (const name of added.sort()) {
    if (!to.has(name))
      addField(
        now[name] as CrdSchema,
        fieldOf(place, name),
        oldMap ?? (isOpen(before) ? ANYTHING : undefined),
        notes,
        walk,
      );
  }
  compareRequired(before, after, now, place, notes, resource);
}

const isEmbedded = (schema: CrdSchema): boolean => schema['x-kubernetes-embedded-resource'] === true;

function removeField(field: CrdSchema, place: Place, kept: boolean, notes: Notes): void {
  if (!kept) {
    notes.add(place, {
      kind: 'field-removed',
      before: shapeInWords(field),
      ...BREAKING,
      message: 'The field was removed.',
      hits: `objects with ${place.path}: the value is pruned when they are read or applied`,
      decidedBy: 'acceptance',
      probe: { steps: place.steps, expect: 'pruned' },
    });
    return;
  }
  const meant = gaveMeaning(field);
  notes.add(place, {
    kind: 'field-removed',
    before: shapeInWords(field),
    ...(meant ? RISKY : SAFE),
    // The defaults of the field, and those inside it, are removed with it.
    ...(meant
      ? {
          manifests: 'breaking' as const,
          probe:
            field.default === undefined
              ? { steps: place.steps, expect: 'changed' as const }
              : { steps: place.steps.slice(0, -1), absent: String(place.steps.at(-1)), expect: 'changed' as const },
          otherwise: { ...RISKY, decidedBy: 'acceptance' as const },
        }
      : {}),
    message: 'The field was removed, but unknown fields are kept here: its value stays and is no longer validated.',
    ...(meant ? { hits: `manifests that relied on the defaults or merge keys of ${place.path}` } : {}),
    decidedBy: 'acceptance',
  });
}

/** Whether a schema did more than validate: it set defaults, or defined how lists are merged. */
function gaveMeaning(schema: CrdSchema): boolean {
  if (
    schema.default !== undefined ||
    schema['x-kubernetes-list-type'] !== undefined ||
    schema['x-kubernetes-map-type'] !== undefined
  )
    return true;
  const inside = [...Object.values(schema.properties ?? NONE), schema.items, mapValues(schema)];
  return inside.some((child) => child !== undefined && gaveMeaning(child));
}

/**
 * Notes an added field. `free` is the schema that values of this name had before, if the object kept fields that its
 * schema does not name.
 */
function addField(field: CrdSchema, place: Place, free: CrdSchema | undefined, notes: Notes, walk: Walk): void {
  const change = { kind: 'field-added' as const, after: shapeInWords(field) };
  if (free === undefined) {
    notes.add(place, {
      ...change,
      ...(field.default === undefined ? SAFE : filledIn(place, SAFE)),
      hits: `objects without ${place.path} that the default makes invalid`,
      message:
        field.default === undefined
          ? 'The field was added.'
          : `The field was added, with the default ${show(field.default)}.`,
      decidedBy: 'acceptance',
    });
    return;
  }
  const found = new Notes(notes.version, notes.scope);
  walk(free, { ...field, description: free.description } as CrdSchema, place, found, { resource: false });
  const checked = found.drafts.filter((draft) => draft.storedObjects !== 'safe' || draft.manifests !== 'safe');
  notes.add(place, {
    ...change,
    ...SAFE,
    message: 'The field was added where unknown fields were kept: its values are validated now.',
    decidedBy: 'acceptance',
  });
  notes.drafts.push(...checked);
}

function compareMaps(
  before: CrdSchema,
  after: CrdSchema,
  old: CrdSchema | undefined,
  now: CrdSchema | undefined,
  place: Place,
  notes: Notes,
  walk: Walk,
): void {
  if (old !== undefined) {
    if (now !== undefined) walk(old, now, valuesOf(place), notes, { resource: false });
    else mapTakenAway(after, old, place, notes);
    return;
  }
  if (now === undefined) return;
  const named = Object.keys(before.properties ?? NONE).sort();
  notes.add(place, {
    kind: named.length > 0 ? 'fields-became-map' : 'map-values-added',
    ...(named.length > 0 ? { before: named } : {}),
    after: shapeInWords(now),
    ...SAFE,
    message:
      named.length > 0
        ? 'The named fields became a map with arbitrary keys.'
        : 'The object became a map with arbitrary keys.',
    decidedBy: 'acceptance',
  });
  for (const name of named) {
    walk((before.properties ?? NONE)[name] as CrdSchema, now, fieldOf(place, name), notes, { resource: false });
  }
  if (isOpen(before)) walk(ANYTHING, now, valuesOf(place), notes, { resource: false });
}

function mapTakenAway(after: CrdSchema, old: CrdSchema, place: Place, notes: Notes): void {
  const named = Object.keys(after.properties ?? NONE).sort();
  const change = {
    kind: named.length > 0 ? ('map-became-fields' as const) : ('map-values-removed' as const),
    before: shapeInWords(old),
    ...(named.length > 0 ? { after: named } : {}),
  };
  if (isOpen(after)) {
    notes.add(place, {
      ...change,
      ...SAFE,
      message: 'Values under any key are kept and are no longer validated.',
      decidedBy: 'acceptance',
    });
    return;
  }
  notes.add(place, {
    ...change,
    ...BREAKING,
    message:
      named.length > 0
        ? `The map became named fields: all keys except ${named.join(', ')} are pruned.`
        : 'The map became an object without fields: all it holds is pruned.',
    hits: `objects with other keys in ${place.path}`,
    decidedBy: 'acceptance',
    probe: { steps: valuesOf(place).steps, expect: 'pruned' },
  });
}

/** The outline of a schema for reports, which a whole subtree would fill. */
function shapeInWords(schema: CrdSchema): unknown {
  const { properties, items, additionalProperties, description: _, ...rest } = schema;
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.keys(properties).sort() }),
    ...(items === undefined ? {} : { items: items.type ?? 'any' }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? (additionalProperties.type ?? 'any') : additionalProperties,
        }),
  };
}
