/**
 * Which fields an object may have together. Every combination is tried, so that a verdict of `safe` is checked against
 * all of them, not only against those that the new schema mentions.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CrdSchema, compareCrds } from '../index.ts';
import { validator } from '../instance/index.ts';
import { crdOf, specOf } from './support/definitions.ts';

const names = ['a', 'b', 'c'] as const;
const texts: CrdSchema = { type: 'string', enum: ['x', 'y'] };

const compare = (before: CrdSchema, after: CrdSchema) => compareCrds(crdOf(specOf(before)), crdOf(specOf(after)));

describe('fields that the new schema no longer speaks of', () => {
  const object = (more: CrdSchema): CrdSchema => ({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    ...more,
  });
  const needs = (...required: string[]): CrdSchema => ({ required });
  const rows: readonly { reason: string; before: CrdSchema; after: CrdSchema; verdict: string }[] = [
    {
      reason: 'an alternative of oneOf is gone, and with it those who took it',
      before: object({ oneOf: [needs('a'), needs('b')] }),
      after: object({ oneOf: [needs('a')] }),
      verdict: 'breaking',
    },
    {
      reason: 'an alternative of anyOf is gone',
      before: object({ anyOf: [needs('a'), needs('b')] }),
      after: object({ anyOf: [needs('a')] }),
      verdict: 'breaking',
    },
    {
      reason: 'what had to be there in some number may be the other field',
      before: object({ minProperties: 1 }),
      after: object({ minProperties: 1, not: { not: needs('a') } }),
      verdict: 'breaking',
    },
    {
      reason: 'whoever has a field that is required somewhere has it here too',
      before: object({ allOf: [needs('a')], oneOf: [needs('b'), needs('c')] }),
      after: object({ allOf: [needs('a')], anyOf: [needs('a'), needs('b')] }),
      verdict: 'safe',
    },
    {
      reason: 'two of three were required, so one of any two is there',
      before: object({ minProperties: 2 }),
      after: object({ minProperties: 2, anyOf: [needs('a'), needs('b')] }),
      verdict: 'safe',
    },
    {
      reason: 'null is neither true nor false',
      before: { type: 'boolean', nullable: true },
      after: { type: 'boolean', nullable: true, enum: [true, false] },
      verdict: 'breaking',
    },
    {
      reason: 'a map may have a name that no schema speaks of',
      before: { type: 'object', additionalProperties: { type: 'string' } },
      after: { type: 'object', additionalProperties: { type: 'string' }, not: needs('a') },
      verdict: 'breaking',
    },
  ];
  test.each(rows)('$reason', ({ before, after, verdict }) => {
    const found = compare(before, after);
    expect(found.verdict).toBe(verdict);
    for (const change of found.changes.filter((each) => each.class === 'breaking'))
      expect(change.witness).toBeDefined();
  });
});

const some = fc.subarray([...names], { minLength: 1 }).map((required): CrdSchema => ({ required }));
const about = fc
  .constantFrom(...names)
  .map((name): CrdSchema => ({ properties: { [name]: { enum: ['x'] } }, required: [name] }));
const branch = fc.letrec<{ branch: CrdSchema }>((tie) => ({
  branch: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    some,
    about,
    tie('branch').map((not) => ({ not })),
    fc.array(tie('branch'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
  ),
})).branch;
const branches = fc.array(branch, { minLength: 1, maxLength: 3 });
const restricted = fc
  .record(
    {
      oneOf: branches,
      anyOf: branches,
      not: branch,
      required: fc.subarray([...names]),
      minProperties: fc.integer({ min: 1, max: 2 }),
      maxProperties: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: [] },
  )
  .map(
    (more): CrdSchema => ({
      ...more,
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, texts])),
    }),
  );

function everyObject(): readonly Readonly<Record<string, string>>[] {
  let found: Readonly<Record<string, string>>[] = [{}];
  for (const name of names) found = found.flatMap((each) => [each, { ...each, [name]: 'x' }, { ...each, [name]: 'y' }]);
  return found;
}

test('what is called safe takes every object that was taken before', () => {
  const objects = everyObject();
  fc.assert(
    fc.property(restricted, restricted, (before, after) => {
      const { verdict } = compare(before, after);
      if (verdict !== 'safe') return;
      const [old, now] = [before, after].map((schema) => validator(schema, { resource: false }));
      const refused = objects.filter(
        (each) => old?.validate(each).length === 0 && (now?.validate(each).length ?? 0) > 0,
      );
      expect(refused).toEqual([]);
    }),
    { numRuns: 40 },
  );
});
