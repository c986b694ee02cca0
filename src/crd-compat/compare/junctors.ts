/** Compares allOf, anyOf, oneOf and not. */
import { same } from '../canonical.ts';
import type { CrdSchema } from '../schema.ts';
import { checkConstraint } from './acceptance.ts';
import { type Notes, type Place, RISKY, refused, SAFE } from './draft.ts';

const junctors = [
  { name: 'allOf', kind: 'all-of' },
  { name: 'anyOf', kind: 'any-of' },
  { name: 'oneOf', kind: 'one-of' },
  { name: 'not', kind: 'not' },
] as const;

export function compareJunctors(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  for (const { name, kind } of junctors) {
    const old = present(before[name]);
    const now = present(after[name]);
    if (same(old, now)) continue;
    const direction = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
    const change = {
      kind: `${kind}-${direction}` as const,
      ...(old === undefined ? {} : { before: old }),
      ...(now === undefined ? {} : { after: now }),
      message: `${name} was ${direction}.`,
    };
    const answer = now === undefined ? ({ answer: 'yes' } as const) : checkConstraint(before, { [name]: now });
    if (answer.answer === 'yes') {
      notes.add(place, { ...change, ...SAFE, decidedBy: 'acceptance' });
      continue;
    }
    notes.add(place, {
      ...change,
      ...refused(place, before.type === 'object' || before.type === 'array' ? 'object' : 'value'),
      hits: `objects with ${place.path} that ${name} does not accept`,
      decidedBy: 'acceptance',
      probe: { steps: place.steps, values: answer.values, failing: { [name]: now }, expect: 'refused' },
      otherwise: { ...RISKY, decidedBy: 'syntax' },
    });
  }
}

const present = <Value>(value: Value): Value | undefined =>
  Array.isArray(value) && value.length === 0 ? undefined : value;
