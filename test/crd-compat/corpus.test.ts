/** Every kind of change, both ways, in every place: whether the verdict says what Kubernetes does. The API server is asked by oracle.test.ts. */
import { describe, expect, test } from 'vitest';
import {
  type ChangeClass,
  type Crd,
  changeKinds,
  compareCrds,
  type Json,
  readCrd,
  worst,
} from '../../src/crd-compat/index.ts';
import { classesOf, corpus, type Pair, pairsOf, places, schemaRows } from './corpus/index.ts';

const read = (definition: Json): Crd => {
  const { crd, issues } = readCrd(structuredClone(definition));
  if (crd === undefined) throw new Error(JSON.stringify(issues));
  return crd;
};

const verdictOf = ({ before, after }: Pair) => compareCrds(read(before), read(after));

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

/** The same with the keys of every object the other way round. */
function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversed) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, child]) => [key, reversed(child)])) as T;
}
