/** Compares lists: their items, and how the API server identifies and merges them. */
import { same } from '../canonical.ts';
import { sample } from '../instance/index.ts';
import type { CrdSchema } from '../schema.ts';
import { itemsOf, type Notes, type Place, RISKY, refused } from './draft.ts';
import { show } from './format.ts';
import { distinct } from './objects.ts';
import type { Sides } from './schema.ts';

type Walk = (before: CrdSchema, after: CrdSchema, place: Place, notes: Notes, sides: Sides) => void;

const listType = (schema: CrdSchema): string => schema['x-kubernetes-list-type'] ?? 'atomic';
const mapType = (schema: CrdSchema): string => schema['x-kubernetes-map-type'] ?? 'granular';
const keysOf = (schema: CrdSchema): readonly string[] => schema['x-kubernetes-list-map-keys'] ?? [];

export function compareList(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes, walk: Walk): void {
  compareMapType(before, after, place, notes);
  if (before.items === undefined || after.items === undefined) return;
  compareListType(before, after, place, notes);
  walk(before.items, after.items, itemsOf(place, listType(after) === 'map'), notes, { resource: false });
}

const merging = (path: string): string =>
  `field managers that share ${path} through server-side apply: their changes are merged differently`;

function compareMapType(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = mapType(before);
  const now = mapType(after);
  if (old === now) return;
  notes.add(place, {
    kind: 'map-type-changed',
    before: old,
    after: now,
    ...RISKY,
    storedObjects: 'safe',
    message:
      now === 'atomic'
        ? 'The object is now replaced as a whole by server-side apply.'
        : 'The fields of the object are now merged one by one by server-side apply.',
    hits: merging(place.path),
  });
}

function compareListType(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = listType(before);
  const now = listType(after);
  const oldKeys = keysOf(before);
  const newKeys = keysOf(after);
  if (old === now && same(oldKeys, newKeys)) return;
  const keyed = old === now;
  const change = {
    kind: keyed ? ('list-map-keys-changed' as const) : ('list-type-changed' as const),
    before: keyed ? oldKeys : old,
    after: keyed ? newKeys : now,
    message: keyed
      ? `The keys of the list changed from ${show(oldKeys)} to ${show(newKeys)}.`
      : `The list type changed from ${old} to ${now}.`,
  };
  const merged = { storedObjects: 'safe', manifests: 'risky' } as const;
  const looser = now === 'atomic' || (keyed && now === 'map' && oldKeys.every((key) => newKeys.includes(key)));
  if (looser) {
    notes.add(place, { ...change, ...merged, hits: merging(place.path), decidedBy: 'acceptance' });
    return;
  }
  notes.add(place, {
    ...change,
    // An update may keep duplicates that the object already had.
    ...refused({ ...place, unkeyed: false }, 'value'),
    hits: `objects with items in ${place.path} that are equal${now === 'map' ? ` in ${newKeys.join(', ')}` : ''}`,
    decidedBy: 'acceptance',
    probe: {
      steps: place.steps,
      values: twins(before.items ?? {}, old, oldKeys, newKeys),
      expect: 'refused',
    },
    otherwise: { ...merged, decidedBy: 'acceptance' },
  });
}

/** Lists of two items that were allowed together before the change and are not now. */
function twins(items: CrdSchema, old: string, oldKeys: readonly string[], newKeys: readonly string[]): unknown[] {
  const item = sample(
    items,
    newKeys.map((key) => ({ path: [key], matching: {} })),
  );
  if (item === undefined) return [];
  if (old === 'atomic') return [[item, item]];
  const names = old === 'set' ? Object.keys(items.properties ?? {}).sort() : oldKeys;
  return names
    .filter((name) => !newKeys.includes(name))
    .flatMap((name) => {
      const [one, other] = distinct(items.properties?.[name] ?? {}, 2);
      return other === undefined
        ? []
        : [
            [
              { ...(item as object), [name]: one },
              { ...(item as object), [name]: other },
            ],
          ];
    });
}
