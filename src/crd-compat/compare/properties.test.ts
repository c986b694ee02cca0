/**
 * For random pairs of schemas, a verdict agrees with what happens to objects that the old schema accepts.
 * test/crd-compat does the same with other pairs on a real API server.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareCrds } from '../index.ts';
import { samples } from '../instance/index.ts';
import type { CrdSchema } from '../schema.ts';
import { worst } from '../verdict.ts';
import { differences, Reader } from './reading.ts';
import { crdOf, specOf } from './support/definitions.ts';

const some = <Value>(name: string, value: fc.Arbitrary<Value>): fc.Arbitrary<Readonly<Record<string, Value>>> =>
  fc.option(value, { nil: undefined, freq: 2 }).map((found) => (found === undefined ? {} : { [name]: found }));

const together = (...parts: fc.Arbitrary<CrdSchema>[]): fc.Arbitrary<CrdSchema> =>
  fc.tuple(...parts).map((found) => Object.assign({}, ...found));

const texts = together(
  fc.constant({ type: 'string' }),
  some('minLength', fc.nat(3)),
  some('maxLength', fc.integer({ min: 3, max: 6 })),
  some('pattern', fc.constantFrom('^[a-c]+$', '^a', 'b$', '^(a|b)*$')),
  some('enum', fc.subarray(['a', 'ab', 'abc', 'b'], { minLength: 1 })),
  some('not', fc.constant({ enum: ['a'] })),
);
const numbers = together(
  fc.record({ type: fc.constantFrom('integer', 'number') }),
  some('minimum', fc.nat(4)),
  some('maximum', fc.integer({ min: 4, max: 9 })),
  some('exclusiveMaximum', fc.constant(true)),
  some('multipleOf', fc.constantFrom(1, 2, 3)),
  some('anyOf', fc.constant([{ maximum: 3 }, { minimum: 6 }])),
);
const leaves = fc.oneof(texts, numbers, fc.constant<CrdSchema>({ type: 'boolean' }));
const schemas = fc.letrec<{ schema: CrdSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaves,
    together(
      tie('schema').map((items) => ({ type: 'array', items })),
      some('maxItems', fc.integer({ min: 1, max: 3 })),
      some('minItems', fc.nat(1)),
    ),
    tie('schema').map((values) => ({ type: 'object', additionalProperties: values })),
    fc
      .tuple(fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')), fc.subarray(['a', 'b', 'c']), fc.boolean())
      .map(([properties, required, open]) => ({
        type: 'object',
        properties,
        required: required.filter((name) => Object.hasOwn(properties, name)),
        ...(open ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
      })),
  ),
})).schema;
/** A pair of unrelated schemas, or a schema with one more constraint, which is the usual change in practice. */
const pairs = fc.oneof(
  fc.tuple(schemas, schemas),
  fc.tuple(texts, texts),
  fc.tuple(numbers, numbers),
  fc
    .tuple(
      schemas,
      fc.constantFrom<CrdSchema>(
        { nullable: true },
        { description: 'more' },
        { maxItems: 2 },
        { maximum: 5 },
        { maxLength: 2 },
      ),
    )
    .map(([schema, more]): [CrdSchema, CrdSchema] => [schema, { ...schema, ...more }]),
);

test('safe means that no object is refused, pruned or changed; breaking that the witness is', () => {
  fc.assert(
    fc.property(pairs, ([one, other]) => {
      const before = specOf(one);
      const after = specOf(other);
      const { changes } = compareCrds(crdOf(before), crdOf(after));
      const old = new Reader(before, true);
      const now = new Reader(after, true);
      const isHit = (object: unknown): boolean => {
        const was = old.read(object);
        const is = now.read(object);
        return (
          now.faults(is.value).length > 0 ||
          is.pruned.some((path) => !was.pruned.includes(path)) ||
          differences(was.value, is.value).length > 0
        );
      };
      if (worst(changes.map((change) => change.class)) === 'safe') {
        const resource = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'sample' };
        for (const object of samples(before, { seed: 1, count: 8, resource })) expect(isHit(object)).toBe(false);
      }
      for (const { class: found, witness } of changes) {
        if (found !== 'breaking') continue;
        expect(old.faults(old.read(witness?.object).value)).toEqual([]);
        expect(isHit(witness?.object)).toBe(true);
      }
    }),
    { numRuns: 150 },
  );
});
