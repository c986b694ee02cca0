import { describe, expect, test } from 'vitest';
import { pack, unpack } from './archive.ts';
import { containChart, outsideReference } from './contain.ts';

const metadata = ['Chart.yaml', Buffer.from('apiVersion: v2\nname: shop\nversion: 1.0.0\n')] as const;
const chartWith = (files: Readonly<Record<string, string | Buffer>>): Buffer =>
  pack('shop', new Map([metadata, ...Object.entries(files).map(([path, data]) => [path, Buffer.from(data)] as const)]));
const remote = JSON.stringify({ $ref: 'http://169.254.169.254/latest' });

describe('a reference of a schema', () => {
  test.each([
    { schema: { $ref: 'http://127.0.0.1:8080/a.json' }, outside: 'http://127.0.0.1:8080/a.json', reason: 'http' },
    { schema: { $ref: 'https://example.com/a.json#/b' }, outside: 'https://example.com/a.json#/b', reason: 'https' },
    { schema: { $ref: 'file:///etc/passwd' }, outside: 'file:///etc/passwd', reason: 'a file' },
    { schema: { $ref: '../../proc/self/environ' }, outside: '../../proc/self/environ', reason: 'a relative file' },
    { schema: { $ref: 'other.json' }, outside: 'other.json', reason: 'a file beside it' },
    { schema: { $ref: '//example.com/a' }, outside: '//example.com/a', reason: 'a host without a scheme' },
    { schema: { $dynamicRef: 'http://a/b' }, outside: 'http://a/b', reason: 'a dynamic reference' },
    { schema: { $recursiveRef: 'http://a/b' }, outside: 'http://a/b', reason: 'a recursive reference' },
    { schema: { $schema: 'http://a/b' }, outside: 'http://a/b', reason: 'a language of its own' },
    { schema: { a: { $schema: 'http://a/b' } }, outside: 'http://a/b', reason: 'a language of a part' },
    { schema: { $id: 'http://a/', $ref: 'b' }, outside: 'b', reason: 'relative to another base' },
    { schema: { $id: 'http://a/b', $ref: 'http://a/b' }, outside: 'http://a/b', reason: 'its own name' },
    {
      schema: { x: { $ref: 'http://a/b' }, $ref: '#/x' },
      outside: 'http://a/b',
      reason: 'in data that becomes a schema',
    },
    { schema: { allOf: [{ not: [{ $ref: 'http://a/b' }] }] }, outside: 'http://a/b', reason: 'deep in lists' },
    {
      schema: { $ref: 'http://json-schema.org/other' },
      outside: 'http://json-schema.org/other',
      reason: 'no part of Helm',
    },
    { schema: { $ref: '#/definitions/a' }, outside: undefined, reason: 'within the document' },
    { schema: { $ref: '' }, outside: undefined, reason: 'the document itself' },
    { schema: { $ref: 'urn:example:a' }, outside: undefined, reason: 'a name that is not resolved' },
    { schema: { properties: { $ref: { type: 'string' } } }, outside: undefined, reason: 'a property of that name' },
    { schema: { $schema: 'http://json-schema.org/draft-07/schema#' }, outside: undefined, reason: 'a known language' },
    {
      schema: { $schema: 'https://json-schema.org/draft/2020-12/schema' },
      outside: undefined,
      reason: 'the latest one',
    },
    {
      schema: { $id: 'https://example.com/a.json', type: 'object' },
      outside: undefined,
      reason: 'a name is not fetched',
    },
  ])('$reason: $outside', ({ schema, outside }) => {
    expect(outsideReference(schema)).toBe(outside);
  });
});

test.each([
  { reason: 'of the chart', files: { 'values.schema.json': remote }, place: 'shop/values.schema.json' },
  {
    reason: 'of a subchart that is a folder',
    files: { 'charts/part/values.schema.json': remote },
    place: 'shop/charts/part/values.schema.json',
  },
  {
    reason: 'of a packed subchart of a packed subchart',
    files: { 'charts/a.tgz': chartWith({ 'charts/b.tgz': chartWith({ 'values.schema.json': remote }) }) },
    place: 'shop/charts/a.tgz/shop/charts/b.tgz/shop/values.schema.json',
  },
  {
    reason: 'with a backslash in its path, which Helm reads as a slash',
    files: { 'charts\\part\\values.schema.json': remote },
    place: 'shop/charts/part/values.schema.json',
  },
])('a schema $reason is refused if it refers to something outside', async ({ files, place }) => {
  await expect(containChart(chartWith(files))).rejects.toMatchObject({
    code: 'chart/invalid',
    message: `The chart is refused: ${place} refers to "http://169.254.169.254/latest", and schemas are not fetched: copy what it refers to into the schema`,
  });
});

test.each([
  { reason: 'a schema that is not JSON', files: { 'values.schema.json': 'type: object' }, says: 'is not valid JSON' },
  {
    reason: 'a subchart that is not an archive',
    files: { 'charts/a.tgz': 'a' },
    says: 'it is not a complete gzip file',
  },
  {
    reason: 'archives nested without end',
    files: Array.from({ length: 7 }).reduce<Readonly<Record<string, Buffer>>>(
      (files) => ({ 'charts/a.tgz': chartWith(files) }),
      {},
    ),
    says: 'charts are nested deeper than 5 archives',
  },
  {
    reason: 'many small bombs',
    files: Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name) => [`charts/${name}.tgz`, chartWith({ data: Buffer.alloc(9 * 1024 * 1024) })]),
    ),
    says: 'it is larger than 32 MiB unpacked',
  },
])('$reason is refused', async ({ files, says }) => {
  await expect(containChart(chartWith(files))).rejects.toMatchObject({
    code: 'chart/invalid',
    message: expect.stringContaining(says),
  });
});

test('Helm gets the files that were read, in one way', async () => {
  const inner = { 'values.schema.json': JSON.stringify({ $ref: '#/a', a: true }), 'templates/a.yaml': 'a: 1' };
  const long = `files/${'long/'.repeat(30)}name`;
  const chart = chartWith({ 'charts/a.tgz': chartWith(inner), [long]: 'x', 'charts/_kept.tgz': 'not read by Helm' });
  const contained = await unpack(await containChart(chart));
  expect([...contained.keys()].sort()).toEqual([...(await unpack(chart)).keys()].sort());
  expect(contained.get(`shop/${long}`)?.toString()).toBe('x');
  const nested = await unpack(contained.get('shop/charts/a.tgz') ?? Buffer.alloc(0));
  expect(nested.get('shop/templates/a.yaml')?.toString()).toBe('a: 1');
});
