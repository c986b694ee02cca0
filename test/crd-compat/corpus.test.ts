/**
 * Checks the verdict for every kind of change, in both directions and every place, against the expected effect in
 * Kubernetes. oracle.test.ts asks a real API server.
 */
import { describe, expect, test } from 'vitest';
import {
  type ChangeClass,
  type ChangeKind,
  type Crd,
  changeKinds,
  compareCrds,
  type Json,
  readCrd,
  worst,
} from '../../src/crd-compat/index.ts';
import { classesOf, corpus, definition, type Pair, pairsOf, places, schemaRows } from './support/corpus/index.ts';

const read = (definition: Json): Crd => {
  const { crd, issues } = readCrd(structuredClone(definition));
  if (crd === undefined) throw new Error(JSON.stringify(issues));
  return crd;
};

const verdictOf = ({ before, after }: Pair) => compareCrds(read(before), read(after));

const plain = definition({ type: 'object' });
const schemaless = definition({}, ({ versions }) => Object.assign(versions[0] ?? {}, { schema: {} }));
const withUnique = (uniqueItems: boolean): Json =>
  definition({ type: 'object', properties: { list: { type: 'array', items: { type: 'string' }, uniqueItems } } });

const isBreaking = (pair: Pair): boolean =>
  [pair.stored, pair.manifests].some((expected) => classesOf(expected).every((each) => each === 'breaking'));
const isHarmless = (pair: Pair): boolean =>
  [pair.stored, pair.manifests].every((expected) => classesOf(expected).every((each) => each === 'safe'));

/** In a list whose items have no keys, an update of anything in an item meets what is new on the item, so that the stored may be hit more. */
const listed = (expected: readonly ChangeClass[]): readonly ChangeClass[] =>
  expected.includes('safe') && expected.length === 1 ? ['safe', 'risky', 'breaking'] : expected;

describe('the corpus', () => {
  test('has enough pairs of each sort, and no two of a name', () => {
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    expect(corpus.filter(isBreaking).length).toBeGreaterThanOrEqual(49);
    expect(corpus.filter(isHarmless).length).toBeGreaterThanOrEqual(20);
    expect(corpus.length).toBeGreaterThanOrEqual(82);
  });

  test.each(corpus)('$name', (pair) => {
    const { verdict, changes } = verdictOf(pair);
    const { stored, manifests, kind, reason } = pair;
    const expected = { stored: classesOf(stored), manifests: classesOf(manifests) };
    expect(expected.stored, reason).toContain(worst(changes.map((each) => each.storedObjects)));
    expect(expected.manifests, reason).toContain(worst(changes.map((each) => each.manifests)));
    expect(verdict).toBe(worst(changes.map((each) => each.class)));
    const kinds = typeof kind === 'string' ? [kind] : kind;
    if (kinds.length > 0) expect(kinds, JSON.stringify(changes)).toContain(kindOfWorst(changes));
    for (const change of changes) expect(changeKinds).toContain(change.kind);
    for (const change of changes.filter((each) => each.class === 'breaking')) {
      expect(change.witness, `${change.kind} has a witness`).toBeDefined();
      expect(change.advice).not.toBe('');
      expect(change.hits).not.toBe('');
    }
  });

  test('has the same verdict, byte for byte, whenever it is asked and in whatever order the keys are', () => {
    for (const pair of corpus) {
      const shuffled = { ...pair, before: reversed(pair.before), after: reversed(pair.after) };
      expect(JSON.stringify(verdictOf(shuffled)), pair.name).toBe(JSON.stringify(verdictOf(pair)));
    }
  });
});

/** Kinds of changes that no readable pair of definitions has, each with another demonstration. */
const unpaired: readonly {
  readonly kind: ChangeKind;
  readonly reason: string;
  readonly before?: Json;
  readonly after?: Json;
  readonly verdict: ChangeClass;
}[] = [
  { kind: 'crd-created', reason: 'there is no definition before', after: plain, verdict: 'safe' },
  { kind: 'crd-deleted', reason: 'there is no definition after', before: plain, verdict: 'breaking' },
  {
    kind: 'schema-added',
    reason: 'a version without a schema is refused since v1; one can only be read from a server that is older',
    before: schemaless,
    after: plain,
    verdict: 'breaking',
  },
  {
    kind: 'schema-removed',
    reason: 'as above, the other way round',
    before: plain,
    after: schemaless,
    verdict: 'safe',
  },
  {
    kind: 'unique-items-added',
    reason:
      'uniqueItems is not structural, so that a definition with it is refused and no object is ever checked by it',
    before: withUnique(false),
    after: withUnique(true),
    verdict: 'risky',
  },
  {
    kind: 'unique-items-removed',
    reason: 'as above, the other way round',
    before: withUnique(true),
    after: withUnique(false),
    verdict: 'safe',
  },
];

describe('every kind of change', () => {
  test.each(unpaired)('$kind, which no pair has: $reason', ({ kind, before, after, verdict }) => {
    const found = compareCrds(before as unknown as Crd | undefined, after as unknown as Crd | undefined);
    expect(found).toMatchObject({ verdict, changes: [{ kind }] });
  });

  test('is in the tables', () => {
    const reported = new Set([...corpus].flatMap((pair) => verdictOf(pair).changes.map(({ kind }) => kind)));
    const exempt = unpaired.map(({ kind }) => kind);
    expect([...reported, ...exempt].sort()).toEqual([...changeKinds].sort());
  });
});

describe.each(places.slice(1))('$name', (place) => {
  const isListed = place.path.includes('[]') && !place.path.includes('entries');
  test.each(schemaRows.flatMap((row) => pairsOf(row, place)))('$name', (pair) => {
    const { changes } = verdictOf(pair);
    const stored = classesOf(pair.stored);
    expect(isListed ? listed(stored) : stored, pair.reason).toContain(worst(changes.map((each) => each.storedObjects)));
    expect(classesOf(pair.manifests), pair.reason).toContain(worst(changes.map((each) => each.manifests)));
    const at = 'at' in pair ? String(pair.at) : '';
    if (classesOf(pair.kind as never).length > 0)
      expect(changes.map(({ path }) => path)).toContain(`${place.path}${at}`);
  });
});

const kindOfWorst = (changes: ReturnType<typeof compareCrds>['changes']) =>
  changes.find((each) => each.class === worst(changes.map((other) => other.class)))?.kind;

/** The same value with the keys of every object in reverse order. */
function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversed) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, child]) => [key, reversed(child)])) as T;
}
