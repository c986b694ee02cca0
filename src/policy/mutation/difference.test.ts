import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeJson, double } from '../../cel/index.ts';
import { jsonPatchBetween, writeJsonPatch } from './difference.ts';
import { applyJsonPatch } from './json-patch.ts';

const json = (): fc.Arbitrary<unknown> =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, true, false, 0, 1, -1, 0.5, '', 'a', 'b'),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'name', 'a/b', 'm~n', '', '__proto__', '-', '0'), tie('value'), {
        maxKeys: 4,
      }),
    ),
  })).value;

describe('jsonPatchBetween', () => {
  it('yields a patch that turns any document into any other', () => {
    fc.assert(
      fc.property(json(), json(), (one, other) => {
        // The roots are objects, as everywhere in Kubernetes.
        const [before, after] = [{ root: one }, { root: other }];
        expect(applyJsonPatch(before, jsonPatchBetween(before, after))).toEqual({ document: after });
      }),
      { numRuns: 2000 },
    );
  });

  it('is empty for equal documents', () => {
    fc.assert(fc.property(json(), (one) => jsonPatchBetween(one, structuredClone(one)).length === 0));
  });

  it.each([
    {
      before: { a: 1 },
      after: { a: 1, b: { c: 2 } },
      patch: [{ op: 'add', path: '/b', value: { c: 2 } }],
      reason: 'a field more',
    },
    { before: { a: 1, b: 2 }, after: { a: 1 }, patch: [{ op: 'remove', path: '/b' }], reason: 'a field less' },
    {
      before: { a: { b: 1, c: 2 } },
      after: { a: { b: 1, c: 3 } },
      patch: [{ op: 'replace', path: '/a/c', value: 3 }],
      reason: 'only the field that differs',
    },
    {
      before: { list: ['a', 'b', 'c'] },
      after: { list: ['a', 'c'] },
      patch: [{ op: 'remove', path: '/list/1' }],
      reason: 'one element less does not touch those behind it',
    },
    {
      before: { list: ['b'] },
      after: { list: ['a', 'b', 'c'] },
      patch: [
        { op: 'add', path: '/list/1', value: 'c' },
        { op: 'add', path: '/list/0', value: 'a' },
      ],
      reason: 'elements more, from the last to the first',
    },
    {
      before: { containers: [{ name: 'app', image: 'x' }] },
      after: {
        containers: [
          { name: 'proxy', image: 'p' },
          { name: 'app', image: 'y' },
        ],
      },
      patch: [
        { op: 'replace', path: '/containers/0/image', value: 'y' },
        { op: 'add', path: '/containers/0', value: { name: 'proxy', image: 'p' } },
      ],
      reason: 'what has the same name is the same, also at another place',
    },
    {
      before: { labels: {} },
      after: { labels: { 'a.b/c~d': 'x' } },
      patch: [{ op: 'add', path: '/labels/a.b~1c~0d', value: 'x' }],
      reason: 'keys are escaped',
    },
    { before: { a: 1 }, after: { a: double(1) }, patch: [], reason: '1 and 1.0 are the same' },
  ])('$reason', ({ before, after, patch }) => {
    expect(jsonPatchBetween(before, after)).toEqual(patch);
  });

  it('works for lists that are too long for a full comparison', () => {
    const before = { list: Array.from({ length: 1200 }, (_, index) => index) };
    const after = { list: before.list.map((each) => each * 2 + 1).slice(3) };
    expect(applyJsonPatch(before, jsonPatchBetween(before, after))).toEqual({ document: after });
  });
});

it('writeJsonPatch keeps numbers that JavaScript would round', () => {
  const after = decodeJson('{"big": 9007199254740993, "one": 1.5}');
  expect(writeJsonPatch(jsonPatchBetween({}, after))).toBe(
    '[{"op":"add","path":"/big","value":9007199254740993},{"op":"add","path":"/one","value":1.5}]',
  );
});
