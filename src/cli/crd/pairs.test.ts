/** Tests the pairing of definitions if several have the same name. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Definition } from './definitions.ts';
import { pairs, riddleWarning } from './pairs.ts';
import type { Side } from './side.ts';

/** `path: size`: the size stands for the content of the definition. */
type Files = Readonly<Record<string, number>>;

const definition = (path: string, size: number, name = 'widgets.example.com'): Definition => ({
  name,
  path,
  crd: {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', maxProperties: size } },
        },
      ],
    },
  },
  origin: { file: path, place: () => undefined, lineAt: () => undefined },
});
const side = (definitions: readonly Definition[]): Side => ({
  word: 'side',
  definitions,
  problems: [],
  leftAlone: [],
  notes: [],
  isText: false,
});
const sideOf = (files: Files) => side(Object.entries(files).map(([path, size]) => definition(path, size)));
const paired = (before: Files, after: Files) => {
  const found = pairs(sideOf(before), sideOf(after));
  return {
    pairs: found.pairs.map((pair) => `${pair.before?.path ?? 'nothing'} → ${pair.after?.path ?? 'nothing'}`),
    riddles: found.riddles.map(riddleWarning),
  };
};

describe('definitions with the same name', () => {
  test.each([
    { reason: 'one on each side', before: { a: 1 }, after: { b: 2 }, pairs: ['a → b'] },
    { reason: 'a new one', before: {}, after: { a: 1 }, pairs: ['nothing → a'] },
    { reason: 'a deleted one', before: { a: 1 }, after: {}, pairs: ['a → nothing'] },
    { reason: 'several, all deleted', before: { a: 1, b: 2 }, after: {}, pairs: ['a → nothing', 'b → nothing'] },
    { reason: 'each at its path', before: { a: 1, b: 2 }, after: { a: 3, b: 4 }, pairs: ['a → a', 'b → b'] },
    { reason: 'copies with the same change', before: { a: 1, b: 1 }, after: { a: 2, b: 2 }, pairs: ['a → a'] },
    { reason: 'copies of which one changes', before: { a: 1, b: 1 }, after: { a: 1, b: 2 }, pairs: ['a → a', 'b → b'] },
    { reason: 'one is moved', before: { a: 1, b: 2 }, after: { a: 1, c: 2 }, pairs: ['a → a', 'b → c'] },
    { reason: 'one is moved and changed', before: { a: 1, b: 2 }, after: { a: 1, c: 3 }, pairs: ['a → a', 'b → c'] },
    { reason: 'a copy is added', before: { a: 1 }, after: { a: 2, b: 2 }, pairs: ['a → a'] },
    { reason: 'copies of a new one', before: {}, after: { a: 1, b: 1 }, pairs: ['nothing → a'] },
    { reason: 'a copy is removed', before: { a: 1, b: 1 }, after: { a: 2 }, pairs: ['a → a'] },
    {
      reason: 'one that differed is removed: it is compared with the only one left',
      before: { a: 1, b: 2 },
      after: { a: 1 },
      pairs: ['a → a', 'b → a'],
    },
  ])('$reason', ({ before, after, pairs: expected }) => {
    expect(paired(before as Files, after as Files)).toEqual({ pairs: expected, riddles: [] });
  });

  test.each([
    {
      reason: 'one that differs is added',
      before: { a: 1 },
      after: { a: 1, b: 2 },
      pairs: ['a → a', 'nothing → b'],
      riddle:
        'b:1:1: widgets.example.com is also defined in a, and the two differ: the base has no such definition at this path, so it counts as new.',
    },
    {
      reason: 'one that differed is removed, and several are left',
      before: { a: 1, b: 2, 'c/b': 3 },
      after: { a: 1, b: 2 },
      pairs: ['a → a', 'b → b', 'c/b → b'],
      riddle:
        'c/b:1:1: widgets.example.com is also defined in a, and the two differ: it is no longer at this path, so it was compared with b.',
    },
    {
      reason: 'all are moved and changed: a file keeps its name',
      before: { 'old/a': 1, 'old/b': 2 },
      after: { 'new/b': 3, 'new/a': 4 },
      pairs: ['old/a → new/a', 'old/b → new/b'],
      riddle:
        'old/a:1:1: widgets.example.com is also defined in new/b, and the two differ: it is no longer at this path, so it was compared with new/a.',
    },
  ])('an ambiguous name: $reason', ({ before, after, pairs: expected, riddle }) => {
    const found = paired(before as unknown as Files, after as unknown as Files);
    expect(found.pairs).toEqual(expected);
    expect(found.riddles[0]).toBe(riddle);
  });
});

test('files distinguish pairs only if a name is ambiguous', () => {
  const before = [definition('a', 1), definition('b', 2), definition('c', 1, 'gadgets.example.com')];
  const after = [definition('a', 2), definition('b', 3), definition('c', 2, 'gadgets.example.com')];
  expect(pairs(side(before), side(after)).pairs.map(({ name, file }) => [name, file])).toEqual([
    ['gadgets.example.com', undefined],
    ['widgets.example.com', 'a'],
    ['widgets.example.com', 'b'],
  ]);
});

const files = fc.dictionary(fc.constantFrom('a', 'b', 'c/a', 'c/b', 'd'), fc.integer({ min: 1, max: 3 }));

test('every definition is paired, and none counts as deleted while a file defines it', () => {
  fc.assert(
    fc.property(files, files, (before, after) => {
      const { pairs: found } = pairs(sideOf(before), sideOf(after));
      const sizesOf = (sided: 'before' | 'after') =>
        found.flatMap((pair) => pair[sided] ?? []).map(({ crd }) => JSON.stringify(crd.spec));
      const specs = (all: Files) => sideOf(all).definitions.map(({ crd }) => JSON.stringify(crd.spec));
      expect(new Set(sizesOf('before'))).toEqual(new Set(specs(before)));
      expect(new Set(sizesOf('after'))).toEqual(new Set(specs(after)));
      if (Object.keys(after).length > 0) expect(found.every((pair) => pair.after !== undefined)).toBe(true);
      if (JSON.stringify(before) === JSON.stringify(after)) {
        for (const pair of found) expect(pair.before?.path).toBe(pair.after?.path);
      }
    }),
  );
});
