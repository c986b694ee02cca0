/** Compares defaults: the value that a field reads as if an object does not set it. */
import { same } from '../canonical.ts';
import type { CrdSchema } from '../schema.ts';
import { BREAKING, type Classes, type Draft, type Notes, type Place, RISKY, SAFE } from './draft.ts';
import { show } from './format.ts';

export function compareDefault(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = before.default;
  const now = after.default;
  if (same(old, now)) return;
  const last = place.steps.at(-1);
  if (last === undefined) return;
  // An item of a list or a value of a map is never absent; there, a default replaces null.
  const isField = !/(\[\]|\.\*)$/.test(place.path);
  const shown: Pick<Draft, 'probe' | 'otherwise'> = isField
    ? { probe: { steps: place.steps.slice(0, -1), absent: String(last), expect: 'changed' } }
    : {
        probe: { steps: place.steps, values: [null], expect: 'changed' },
        otherwise: { ...SAFE, decidedBy: 'acceptance' },
      };
  const left = isField ? `do not set ${place.path}` : `have null in ${place.path}`;
  if (old === undefined && place.required) {
    notes.add(place, {
      kind: 'default-added',
      after: now,
      ...SAFE,
      message: `The default ${show(now)} was added to a field that every object has.`,
      decidedBy: 'acceptance',
    });
    return;
  }
  if (old === undefined) {
    // Objects that set the field are not affected. The others read as the default, which is usually what the controller
    // assumed anyway.
    notes.add(place, {
      kind: 'default-added',
      after: now,
      ...filledIn(place, RISKY),
      message: `The default ${show(now)} was added: objects without the field read as if they had this value.`,
      hits: `objects and manifests that ${left}`,
      decidedBy: 'acceptance',
    });
    return;
  }
  if (now === undefined) {
    notes.add(place, {
      kind: 'default-removed',
      before: old,
      // Objects written while the default existed have its value in etcd.
      storedObjects: 'risky',
      manifests: 'breaking',
      message: `The default ${show(old)} was removed: the field stays unset if a manifest does not set it.`,
      hits: `manifests that ${left}`,
      decidedBy: 'acceptance',
      ...shown,
    });
    return;
  }
  notes.add(place, {
    kind: 'default-changed',
    before: old,
    after: now,
    ...BREAKING,
    // Objects written while the old default existed keep its value. Objects written before any default existed change.
    storedObjects: 'risky',
    message: `The default changed from ${show(old)} to ${show(now)}: the same manifest has another meaning.`,
    hits: `manifests that ${left}`,
    decidedBy: 'acceptance',
    ...shown,
  });
}

/**
 * A default can add a field that the surrounding object does not accept, for example if it limits the number of fields.
 */
export function filledIn(place: Place, otherwise: Classes): Classes & Pick<Draft, 'probe' | 'otherwise'> {
  if (!place.minded) return otherwise;
  const steps = place.steps.slice(0, -1);
  return {
    ...BREAKING,
    probe: { steps, absent: String(place.steps.at(-1)), expect: 'refused' },
    otherwise: { ...otherwise, decidedBy: 'acceptance' },
  };
}
