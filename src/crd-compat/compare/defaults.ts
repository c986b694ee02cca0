/** What a field reads as where an object leaves it out. */
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
  // Items of lists and values of maps are never left out; there a default stands in for null.
  const isField = !/(\[\]|\.\*)$/.test(place.path);
  const shown: Pick<Draft, 'probe' | 'otherwise'> = isField
    ? { probe: { steps: place.steps.slice(0, -1), absent: String(last), expect: 'changed' } }
    : {
        probe: { steps: place.steps, values: [null], expect: 'changed' },
        otherwise: { ...SAFE, decidedBy: 'acceptance' },
      };
  const left = isField ? `leave out ${place.path}` : `have null in ${place.path}`;
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
    // What had the field is not touched; what had not, reads as the default, which is most often what the controller took it for.
    notes.add(place, {
      kind: 'default-added',
      after: now,
      ...filledIn(place, RISKY),
      message: `The default ${show(now)} was added: objects without the field read as if it said so.`,
      hits: `objects and manifests that ${left}`,
      decidedBy: 'acceptance',
    });
    return;
  }
  if (now === undefined) {
    notes.add(place, {
      kind: 'default-removed',
      before: old,
      // Objects written since the default was there have it in etcd.
      storedObjects: 'risky',
      manifests: 'breaking',
      message: `The default ${show(old)} was removed: where the field is left out, nothing stands in for it.`,
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
    // As above: what was written keeps the old default; what was written before there was one changes.
    storedObjects: 'risky',
    message: `The default changed from ${show(old)} to ${show(now)}: the same manifest means something else.`,
    hits: `manifests that ${left}`,
    decidedBy: 'acceptance',
    ...shown,
  });
}

/** A field that a default puts where none was can be one too many for the object around it. */
export function filledIn(place: Place, otherwise: Classes): Classes & Pick<Draft, 'probe' | 'otherwise'> {
  if (!place.minded) return otherwise;
  const steps = place.steps.slice(0, -1);
  return {
    ...BREAKING,
    probe: { steps, absent: String(place.steps.at(-1)), expect: 'refused' },
    otherwise: { ...otherwise, decidedBy: 'acceptance' },
  };
}
