import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ItemSplitter } from './items.ts';

function split(json: string, options: { cut?: boolean; sizes?: readonly number[] } = {}) {
  const items: unknown[] = [];
  const texts: string[] = [];
  const splitter = new ItemSplitter({
    maximumItemBytes: 1 << 20,
    omitManagedFields: options.cut ?? false,
    onItem: (text) => {
      texts.push(text);
      items.push(JSON.parse(text));
    },
  });
  const bytes = Buffer.from(json);
  const sizes = options.sizes ?? [bytes.length];
  for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    splitter.push(bytes.subarray(start, start + size));
    start += size;
  }
  return { items, texts, envelope: JSON.parse(splitter.finish()) as Record<string, unknown> };
}

const managedFields = [{ manager: 'me', fieldsV1: { 'k:{"uid":"]}"}': {}, 'f:a\\"b': {} } }];

describe('splitting a list into items', () => {
  const cases: { reason: string; list: unknown; cut?: boolean; items: unknown[] }[] = [
    { reason: 'an empty list', list: { kind: 'L', metadata: { resourceVersion: '1' }, items: [] }, items: [] },
    {
      reason: 'metadata in front, as built-in kinds have it',
      list: { kind: 'L', metadata: { resourceVersion: '1', continue: 'x' }, items: [{ metadata: { name: 'a' } }] },
      items: [{ metadata: { name: 'a' } }],
    },
    {
      reason: 'metadata behind, as custom resources have it',
      list: { items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }], metadata: { resourceVersion: '1' } },
      items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }],
    },
    {
      reason: 'quotes, backslashes, brackets and other scripts inside strings',
      list: { items: [{ metadata: { name: 'a' }, data: { k: '"]}\\', ключ: '日本語 🎉' } }], metadata: {} },
      items: [{ metadata: { name: 'a' }, data: { k: '"]}\\', ключ: '日本語 🎉' } }],
    },
    {
      reason: 'managedFields last in metadata are cut with the comma before',
      cut: true,
      list: { items: [{ metadata: { name: 'a', managedFields }, spec: 1 }], metadata: {} },
      items: [{ metadata: { name: 'a' }, spec: 1 }],
    },
    {
      reason: 'managedFields in the middle are cut with the comma behind',
      cut: true,
      list: { items: [{ metadata: { labels: {}, managedFields, name: 'a' } }], metadata: {} },
      items: [{ metadata: { labels: {}, name: 'a' } }],
    },
    {
      reason: 'a field of the same name elsewhere is the user’s',
      cut: true,
      list: {
        items: [{ metadata: { name: 'a' }, spec: { managedFields, template: { metadata: { managedFields } } } }],
        metadata: {},
      },
      items: [{ metadata: { name: 'a' }, spec: { managedFields, template: { metadata: { managedFields } } } }],
    },
    {
      reason: 'an annotation named and valued like it',
      cut: true,
      list: { items: [{ metadata: { annotations: { managedFields: '[' }, name: 'a' } }], metadata: {} },
      items: [{ metadata: { annotations: { managedFields: '[' }, name: 'a' } }],
    },
    {
      reason: 'finalizers are an array at the same depth and stay',
      cut: true,
      list: {
        items: [{ metadata: { finalizers: ['managedFields'], managedFields, ownerReferences: [{ uid: 'x' }] } }],
        metadata: {},
      },
      items: [{ metadata: { finalizers: ['managedFields'], ownerReferences: [{ uid: 'x' }] } }],
    },
    {
      reason: 'null managedFields are left alone',
      cut: true,
      list: { items: [{ metadata: { managedFields: null, finalizers: ['a'] } }], metadata: {} },
      items: [{ metadata: { managedFields: null, finalizers: ['a'] } }],
    },
  ];
  for (const { reason, list, cut = false, items } of cases) {
    for (const size of [1, 2, 7, 1 << 20]) {
      it(`${reason} (chunks of ${size})`, () => {
        const result = split(JSON.stringify(list), { cut, sizes: [size] });
        expect(result.items).toEqual(items);
        expect(result.envelope).toEqual({ ...(list as object), items: [] });
      });
    }
  }

  it('leaves managedFields in where JSON is spaced out, rather than break it', () => {
    const list = { items: [{ metadata: { name: 'a', managedFields } }], metadata: {} };
    expect(split(JSON.stringify(list, null, 2), { cut: true }).items).toEqual(list.items);
  });

  it('gives what JSON.parse gives, for any items in any chunks', () => {
    const item = fc.record({
      metadata: fc.record(
        {
          name: fc.string(),
          managedFields: fc.array(fc.jsonValue()),
          labels: fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' })),
        },
        { requiredKeys: [] },
      ),
      spec: fc.jsonValue(),
    });
    fc.assert(
      fc.property(
        fc.array(item),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        fc.boolean(),
        (items, sizes, cut) => {
          const expected = JSON.parse(JSON.stringify(items)) as { metadata: { managedFields?: unknown } }[];
          if (cut) for (const { metadata } of expected) delete metadata.managedFields;
          const result = split(JSON.stringify({ items, metadata: {} }), { cut, sizes });
          // Alone in metadata there is no comma to cut with it: then it stays.
          const left = cut
            ? (result.items as typeof expected).map(
                ({ metadata: { managedFields: _alone, ...metadata }, ...rest }) => ({ ...rest, metadata }),
              )
            : result.items;
          expect(left).toEqual(expected);
        },
      ),
    );
  });

  it('grows for an item in many chunks without losing a byte', () => {
    const list = { items: [{ metadata: { name: 'a' }, data: 'x'.repeat(900_000) }], metadata: {} };
    expect(split(JSON.stringify(list), { sizes: [1_400] }).items).toEqual(list.items);
  });

  it('refuses an item past the bound', () => {
    const json = JSON.stringify({ items: [{ data: 'x'.repeat(4 << 20) }] });
    expect(() => split(json, { sizes: [64_000] })).toThrow(RangeError);
  });

  it('does not take half a list for a whole one', () => {
    expect(() => split('{"items":[{"a":1},{"b"')).toThrow(SyntaxError);
    expect(() => split('{"items":[{"a":1}')).toThrow(SyntaxError);
  });
});
