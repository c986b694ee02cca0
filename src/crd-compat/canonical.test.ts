import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonical, same, tidy } from './canonical.ts';
import type { Crd } from './crd.ts';
import { changeDigest } from './digest.ts';

const values = fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes('__proto__'));

const turned = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(turned);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  );
};

describe('tidy', () => {
  test('whatever the order of keys, the text is one', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(JSON.stringify(tidy(turned(value)))).toBe(JSON.stringify(tidy(value)));
        expect(canonical(tidy(value))).toBe(canonical(value));
      }),
    );
  });

  test('says the same beside another value, and is that value exactly where they are equal', () => {
    fc.assert(
      fc.property(values, values, (value, other) => {
        const like = tidy(other);
        const made = tidy(value, like);
        expect(made).toEqual(value);
        if (typeof value === 'object' && value !== null) expect(made === like).toBe(same(value, other));
        expect(tidy(turned(other), like)).toBe(like);
      }),
    );
  });

  test('shares what did not change around a change', () => {
    const before = tidy({ kept: { a: 1 }, changed: { b: 2, kept: [{ c: 3 }] }, gone: {} });
    const after = tidy({ changed: { kept: [{ c: 3 }], b: 4 }, kept: { a: 1 }, added: {} }, before);
    expect(after).toEqual({ added: {}, changed: { b: 4, kept: [{ c: 3 }] }, kept: { a: 1 } });
    expect(after.kept).toBe(before.kept);
    expect(after.changed.kept).toBe(before.changed.kept);
  });

  test('names that every object of JavaScript has are names like any other', () => {
    const like = {};
    expect(tidy({ constructor: {}, toString: {} }, like)).toEqual({ constructor: {}, toString: {} });
  });
});

test('a digest is taken of whole numbers that are past what JSON of JavaScript can say', () => {
  const crd = (maximum: bigint): Crd =>
    ({
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ maximum }],
      },
    }) as unknown as Crd;
  const digest = changeDigest(crd(2n ** 60n), undefined);
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(digest).not.toBe(changeDigest(crd(2n ** 60n + 1n), undefined));
});
