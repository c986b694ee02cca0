/** Compares which fields are required. */
import type { CrdSchema } from '../schema.ts';
import { hasFewFields } from './acceptance.ts';
import { fieldOf, type Notes, type Place, RISKY, refused, SAFE } from './draft.ts';
import { show } from './format.ts';
import { implied, isOpen, mapValues } from './object-schema.ts';

export function compareRequired(
  before: CrdSchema,
  after: CrdSchema,
  now: Readonly<Record<string, CrdSchema>>,
  place: Place,
  notes: Notes,
  resource: boolean,
): void {
  const old = new Set(before.required ?? []);
  const wanted = new Set(after.required ?? []);
  for (const name of [...wanted].filter((field) => !old.has(field)).sort()) {
    const field = fieldOf(place, name);
    const change = { kind: 'required-added' as const, before: false, after: true };
    if (resource && Object.hasOwn(implied, name)) {
      notes.add(field, {
        ...change,
        ...SAFE,
        message: 'The field is required now; every object has it.',
        decidedBy: 'acceptance',
      });
      continue;
    }
    if (Object.hasOwn(before.properties ?? {}, name) && hasFewFields(before, before.minProperties ?? 0)) {
      notes.add(field, {
        ...change,
        ...SAFE,
        message: 'The field is required now; every object had to have all of its fields before.',
        decidedBy: 'acceptance',
      });
      continue;
    }
    const filled = now[name]?.default;
    if (filled !== undefined) {
      notes.add(field, {
        ...change,
        ...SAFE,
        message: `The field is required now, and defaults to ${show(filled)}.`,
        decidedBy: 'acceptance',
      });
      continue;
    }
    notes.add(field, {
      ...change,
      ...refused(place, 'object'),
      // Objects written while the default existed have its value in etcd.
      ...(before.properties?.[name]?.default === undefined ? {} : { storedObjects: 'risky' as const }),
      message: 'The field is required now, and has no default.',
      hits: `objects without ${field.path}`,
      decidedBy: 'acceptance',
      probe: { steps: place.steps, absent: name, expect: 'refused' },
      otherwise: { ...RISKY, decidedBy: 'syntax' },
    });
  }
  for (const name of [...old].filter((field) => !wanted.has(field)).sort()) {
    // A removed field is reported as removed.
    if (!Object.hasOwn(now, name) && mapValues(after) === undefined && !isOpen(after)) continue;
    notes.add(fieldOf(place, name), {
      kind: 'required-removed',
      before: true,
      after: false,
      ...SAFE,
      message: 'The field is optional now.',
      decidedBy: 'acceptance',
    });
  }
}
