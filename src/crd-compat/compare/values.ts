/** Compares the constraints on a single value: bounds, lengths, multiples, pattern, format, enum and null. */
import { same } from '../canonical.ts';
import type { ChangeKind } from '../kinds.ts';
import type { CrdSchema } from '../schema.ts';
import { checkConstraint } from './acceptance.ts';
import { type Draft, type Notes, type Place, refused, SAFE } from './draft.ts';
import { show } from './format.ts';

interface Keyword {
  readonly name: keyof CrdSchema;
  readonly kind: string;
  readonly words: string;
  /** Whether a larger limit accepts fewer values. */
  readonly lower: boolean;
  /** Describes the values that violate the limit. */
  readonly hit: (limit: unknown) => string;
}

const keywords: readonly Keyword[] = [
  {
    name: 'minLength',
    kind: 'min-length',
    words: 'minimum length',
    lower: true,
    hit: (limit) => `shorter than ${limit} characters`,
  },
  {
    name: 'maxLength',
    kind: 'max-length',
    words: 'maximum length',
    lower: false,
    hit: (limit) => `longer than ${limit} characters`,
  },
  {
    name: 'minItems',
    kind: 'min-items',
    words: 'minimum number of items',
    lower: true,
    hit: (limit) => `with fewer than ${limit} items`,
  },
  {
    name: 'maxItems',
    kind: 'max-items',
    words: 'maximum number of items',
    lower: false,
    hit: (limit) => `with more than ${limit} items`,
  },
  {
    name: 'minProperties',
    kind: 'min-properties',
    words: 'minimum number of properties',
    lower: true,
    hit: (limit) => `with fewer than ${limit} properties`,
  },
  {
    name: 'maxProperties',
    kind: 'max-properties',
    words: 'maximum number of properties',
    lower: false,
    hit: (limit) => `with more than ${limit} properties`,
  },
];

export function compareValues(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  for (const keyword of keywords) compareSize(keyword, before, after, place, notes);
  compareBound('minimum', before, after, place, notes);
  compareBound('maximum', before, after, place, notes);
  compareOne('multipleOf', 'multiple-of', 'multiple', before, after, place, notes);
  compareOne('pattern', 'pattern', 'pattern', before, after, place, notes);
  compareOne('format', 'format', 'format', before, after, place, notes);
  if ((before.uniqueItems ?? false) !== (after.uniqueItems ?? false)) {
    noteConstraint(
      before,
      { type: 'array', items: after.items ?? {}, uniqueItems: after.uniqueItems ?? false },
      place,
      notes,
      {
        kind: after.uniqueItems === true ? 'unique-items-added' : 'unique-items-removed',
        before: before.uniqueItems ?? false,
        after: after.uniqueItems ?? false,
        message: after.uniqueItems === true ? 'Items must now be unique.' : 'Items need no longer be unique.',
        hits: `objects with equal items in ${place.path}`,
      },
    );
  }
  compareEnum(before, after, place, notes);
}

type Text = Pick<Draft, 'kind' | 'before' | 'after' | 'message' | 'hits'>;

/** Notes a change of a constraint: all old values satisfy it, some do not, or it is undecided. */
function noteConstraint(before: CrdSchema, wanted: CrdSchema, place: Place, notes: Notes, text: Text): void {
  const answer = checkConstraint(before, wanted);
  if (answer.answer === 'yes') {
    const { hits: _, ...rest } = text;
    notes.add(place, { ...rest, ...SAFE, decidedBy: 'acceptance' });
    return;
  }
  const found = answer.values.length > 0;
  const certain = answer.answer === 'no' && !found;
  notes.add(place, {
    ...text,
    ...refused(place, 'value'),
    decidedBy: 'acceptance',
    probe: {
      steps: place.steps,
      ...(found ? { values: answer.values, certain: answer.answer === 'no' } : {}),
      ...(certain ? { large: true } : { failing: wanted }),
      expect: 'refused',
    },
    ...(certain ? {} : { otherwise: { storedObjects: 'risky', manifests: 'risky', decidedBy: 'syntax' } as const }),
  });
}

function compareSize(keyword: Keyword, before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = before[keyword.name] as number | undefined;
  const now = after[keyword.name] as number | undefined;
  if (old === now) return;
  const direction = old === undefined ? 'added' : now === undefined ? 'removed' : now > old ? 'raised' : 'lowered';
  noteConstraint(before, { [keyword.name]: now }, place, notes, {
    kind: `${keyword.kind}-${direction}` as ChangeKind,
    ...(old === undefined ? {} : { before: old }),
    ...(now === undefined ? {} : { after: now }),
    message: sentence(keyword.words, direction, old, now),
    hits: `objects with ${place.path} ${keyword.hit(now)}`,
  });
}

const sentence = (words: string, direction: string, old: unknown, now: unknown): string => {
  if (direction === 'added') return `A ${words} of ${show(now)} was added.`;
  if (direction === 'removed') return `The ${words} of ${show(old)} was removed.`;
  return `The ${words} was ${direction} from ${show(old)} to ${show(now)}.`;
};

function compareBound(
  side: 'minimum' | 'maximum',
  before: CrdSchema,
  after: CrdSchema,
  place: Place,
  notes: Notes,
): void {
  const flag = side === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum';
  const old = before[side];
  const now = after[side];
  const openBefore = old !== undefined && before[flag] === true;
  const openAfter = now !== undefined && after[flag] === true;
  if (old === now && openBefore === openAfter) return;
  const up =
    old !== undefined && now !== undefined && (now > old || (now === old && openAfter === (side === 'minimum')));
  const direction = old === undefined ? 'added' : now === undefined ? 'removed' : up ? 'raised' : 'lowered';
  const bound = (value: number | undefined, open: boolean): string => `${value}${open ? ' (exclusive)' : ''}`;
  const limit = side === 'minimum' ? (openAfter ? 'at or below' : 'below') : openAfter ? 'at or over' : 'over';
  noteConstraint(before, { [side]: now, [flag]: openAfter }, place, notes, {
    kind: `${side}-${direction}`,
    ...(old === undefined ? {} : { before: openBefore ? { [side]: old, [flag]: true } : old }),
    ...(now === undefined ? {} : { after: openAfter ? { [side]: now, [flag]: true } : now }),
    message:
      direction === 'added'
        ? `A ${side} of ${bound(now, openAfter)} was added.`
        : direction === 'removed'
          ? `The ${side} of ${bound(old, openBefore)} was removed.`
          : `The ${side} was ${direction} from ${bound(old, openBefore)} to ${bound(now, openAfter)}.`,
    hits: `objects with ${place.path} ${limit} ${now}`,
  });
}

function compareOne(
  name: 'multipleOf' | 'pattern' | 'format',
  kind: string,
  words: string,
  before: CrdSchema,
  after: CrdSchema,
  place: Place,
  notes: Notes,
): void {
  const old = before[name] === '' ? undefined : before[name];
  const now = after[name] === '' ? undefined : after[name];
  if (old === now) return;
  const direction = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
  noteConstraint(before, { [name]: now }, place, notes, {
    kind: `${kind}-${direction}` as ChangeKind,
    ...(old === undefined ? {} : { before: old }),
    ...(now === undefined ? {} : { after: now }),
    message:
      direction === 'added'
        ? `The ${words} ${show(now)} was added.`
        : direction === 'removed'
          ? `The ${words} ${show(old)} was removed.`
          : `The ${words} changed from ${show(old)} to ${show(now)}.`,
    hits: `objects with ${place.path} not of the ${words} ${show(now)}`,
  });
}

function compareEnum(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = before.enum;
  const now = after.enum;
  if (old === undefined && now === undefined) return;
  if (old === undefined || now === undefined) {
    const added = old === undefined;
    noteConstraint(before, { enum: now as readonly unknown[] }, place, notes, {
      kind: added ? 'enum-added' : 'enum-removed',
      ...(added ? { after: now } : { before: old }),
      message: added
        ? `Only ${list(now ?? [])} ${now?.length === 1 ? 'is' : 'are'} allowed now.`
        : `The enum of ${list(old ?? [])} was removed.`,
      hits: `objects with ${place.path} other than ${list(now ?? [])}`,
    });
    return;
  }
  const gone = old.filter((value) => !now.some((other) => same(value, other)));
  const more = now.filter((value) => !old.some((other) => same(value, other)));
  if (gone.length > 0) {
    noteConstraint({ ...before, enum: gone }, { enum: now }, place, notes, {
      kind: 'enum-value-removed',
      before: old,
      after: now,
      message: `${list(gone)} ${gone.length === 1 ? 'is' : 'are'} no longer allowed.`,
      hits: `objects with ${place.path} ${list(gone)}`,
    });
  }
  if (more.length > 0) {
    notes.add(place, {
      kind: 'enum-value-added',
      before: old,
      after: now,
      ...SAFE,
      message: `${list(more)} ${more.length === 1 ? 'is' : 'are'} allowed as well.`,
    });
  }
}

const list = (values: readonly unknown[]): string => {
  const shown = values.slice(0, 8).map((value) => JSON.stringify(value));
  return `${shown.join(', ')}${values.length > shown.length ? ` and ${values.length - shown.length} more` : ''}`;
};
