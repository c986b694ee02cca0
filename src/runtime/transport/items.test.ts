import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ItemSplitter } from './items.ts';

function split(json: string, options: { cut?: boolean; sizes?: readonly number[] } = {}) {
  const items: unknown[] = [];
  const splitter = new ItemSplitter<unknown>({
    maximumItemBytes: 1 << 20,
    omitManagedFields: options.cut ?? false,
    onItem: (item) => items.push(item),
  });
  const bytes = Buffer.from(json);
  const sizes = options.sizes ?? [bytes.length];
  for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    splitter.push(bytes.subarray(start, start + size));
    start += size;
  }
  return { items, envelope: JSON.parse(splitter.finish()) as Record<string, unknown> };
}

const managedFields = [{ manager: 'me', fieldsV1: { 'k:{"uid":"]}"}': {}, 'f:a\\"b': {} } }];

const chunkSizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 });

function expectWhatParseGives(items: readonly unknown[], sizes: readonly number[], cut: boolean): void {
  const expected = JSON.parse(JSON.stringify(items)) as { metadata: { managedFields?: unknown } }[];
  if (cut) for (const { metadata } of expected) delete metadata.managedFields;
  expect(split(JSON.stringify({ items, metadata: {} }), { cut, sizes }).items).toEqual(expected);
}

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

  it('removes managedFields from JSON with whitespace, too', () => {
    const list = { items: [{ metadata: { name: 'a', managedFields } }], metadata: {} };
    expect(split(JSON.stringify(list, null, 2), { cut: true }).items).toEqual([{ metadata: { name: 'a' } }]);
  });

  it('equals JSON.parse for any items in any chunks', () => {
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
    fc.assert(fc.property(fc.array(item), chunkSizes, fc.boolean(), expectWhatParseGives));
  });

  it('grows for an item in many chunks without losing a byte', () => {
    const list = { items: [{ metadata: { name: 'a' }, data: 'x'.repeat(900_000) }], metadata: {} };
    expect(split(JSON.stringify(list), { sizes: [1_400] }).items).toEqual(list.items);
  });

  it('rejects an item beyond the limit', () => {
    const json = JSON.stringify({ items: [{ data: 'x'.repeat(4 << 20) }] });
    expect(() => split(json, { sizes: [64_000] })).toThrow(RangeError);
  });

  it('detects an incomplete list', () => {
    expect(() => split('{"items":[{"a":1},{"b"')).toThrow(SyntaxError);
    expect(() => split('{"items":[{"a":1}')).toThrow(SyntaxError);
  });
});

describe('leaping from item to item', () => {
  const many = (item: (index: number) => unknown) => Array.from({ length: 40 }, (_, index) => item(index));
  const cases: { reason: string; items: unknown[] }[] = [
    {
      reason: 'built-in kinds begin with metadata',
      items: many((index) => ({ metadata: { name: `a${index}` }, data: {} })),
    },
    {
      reason: 'custom resources begin with apiVersion and kind',
      items: many((index) => ({
        apiVersion: 'a/v1',
        kind: 'A',
        metadata: { managedFields, name: `a${index}`, ownerReferences: [{ apiVersion: 'a/v1', kind: 'A' }] },
        spec: {},
      })),
    },
    {
      reason: 'templates inside an item begin as the items do',
      items: many((index) => ({
        metadata: { name: `a${index}` },
        spec: { templates: [{ metadata: { name: 'x' } }, { metadata: { name: 'y' } }] },
      })),
    },
    {
      reason: 'a bracket in a string ends no managedFields',
      items: many((index) => ({ metadata: { name: `a${index}`, managedFields: [{ fieldsV1: { 'f:a],"b': {} } }] } })),
    },
    {
      reason: 'a bracket in a string followed by what would follow the managedFields',
      items: many((index) => ({
        metadata: { managedFields: [{ 'f:x],': {} }, { 'f:y]}': {} }], name: `a${index}` },
        data: { x: ',' },
      })),
    },
    {
      reason: 'an array inside managedFields does not end them',
      items: many((index) => ({ metadata: { managedFields: [{ a: [{ b: 1 }] }], name: `a${index}` } })),
    },
    {
      reason: 'empty managedFields, and an array with objects behind them',
      items: many((index) => ({ metadata: { managedFields: [], name: `a${index}`, ownerReferences: [{ uid: 'x' }] } })),
    },
    {
      reason: 'managedFields of an object inside, where the item itself has none, are the user’s',
      items: many((index) => ({ metadata: { name: `a${index}` }, data: { metadata: { managedFields } } })),
    },
    {
      reason: 'managedFields of an object inside, before those of the item',
      items: many((index) => ({
        data: { metadata: { managedFields } },
        metadata: { managedFields, name: `a${index}` },
      })),
    },
    {
      reason: 'a key that ends with the name',
      items: many((index) => ({ metadata: { name: `a${index}`, 'a"managedFields': [{}] } })),
    },
    {
      reason: 'only some have managedFields',
      items: many((index) => ({ metadata: { name: `a${index}`, ...(index % 3 === 0 ? { managedFields } : {}) } })),
    },
    {
      reason: 'some begin in another way',
      items: many((index) => (index % 5 === 0 ? { spec: 1, metadata: {} } : { metadata: { name: `a${index}` } })),
    },
    {
      reason: 'other scripts in some',
      items: many((index) => ({ metadata: { name: index % 7 === 0 ? '日本語 🎉' : `a${index}`, managedFields } })),
    },
    {
      reason: 'an item that is too long to wait for',
      items: many((index) => ({ metadata: { name: `a${index}` }, data: index % 9 === 0 ? 'x'.repeat(100_000) : '' })),
    },
  ];
  for (const { reason, items } of cases) {
    for (const sizes of [[13], [1_000], [70_000], [1 << 20]]) {
      it(`${reason} (chunks of ${sizes})`, () => {
        for (const cut of [false, true]) expectWhatParseGives(items, sizes, cut);
      });
    }
  }

  it('equals JSON.parse for items that contain its delimiters', () => {
    const scraps = ['},{"metadata":{', '"managedFields":[', '],', ']}', '[{', '"', '\\', 'é', '}'];
    const text = fc.array(fc.constantFrom(...scraps), { maxLength: 4 }).map((parts) => parts.join(''));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.dictionary(fc.oneof(text, fc.constantFrom('metadata', 'managedFields', 'name')), tie('value'), {
          maxKeys: 3,
        }),
        fc.array(tie('value'), { maxLength: 3 }),
      ),
    }));
    const metadata = fc.record({ name: text, managedFields: fc.array(value), labels: value }, { requiredKeys: [] });
    const item = fc.record({ metadata, spec: value }, { requiredKeys: ['metadata'] });
    fc.assert(fc.property(fc.array(item, { maxLength: 20 }), chunkSizes, fc.boolean(), expectWhatParseGives), {
      numRuns: 500,
    });
  });
});
