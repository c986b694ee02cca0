/** How the objects of a definition are read: in pages that stay small, whatever comes after what. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Client, ConnectionError } from '../../../runtime/index.ts';
import type { RawRequest } from '../../../runtime/internal.ts';
import { startComparison } from './comparison.ts';
import type { Comparer } from './comparison-pool.ts';
import { readStored } from './stored-objects.ts';

const definition = {
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [{ name: 'v1', served: true, storage: true }],
  },
};

/** An API server with objects of these sizes in bytes; what a request allows is all that it gets, as with the real client. */
function clusterOf(sizes: readonly number[]) {
  const asked: { limit: number; bytes: number; taken: boolean }[] = [];
  const request = async ({ query = {}, maximumResponseBytes = 2 ** 28 }: RawRequest) => {
    const limit = Number(query.limit);
    const start = Number(query.continue ?? 0);
    const page = sizes.slice(start, start + limit);
    const next = start + limit < sizes.length ? String(start + limit) : '';
    const bytes = page.reduce((sum, each) => sum + each, 0);
    asked.push({ limit, bytes, taken: bytes <= maximumResponseBytes });
    if (bytes > maximumResponseBytes)
      throw new ConnectionError({ doing: 'GET', failure: 'too-large', message: 'too large', hint: '' });
    const metadata = { continue: next, remainingItemCount: Math.max(0, sizes.length - start - limit) };
    const text = JSON.stringify({ metadata, items: page.map((_each, index) => ({ metadata: { name: `${index}` } })) });
    // Blanks in place of fields: only the length is looked at.
    return { status: 200, headers: {}, warnings: [], text: text.padEnd(bytes) };
  };
  return { asked, client: { request, get: async () => definition } as unknown as Client };
}

const read = (client: Client) => {
  const comparison = startComparison();
  const comparer: Pick<Comparer, 'add'> = { add: async (list) => comparison.add(list) };
  return readStored({ client, name: 'widgets.example.com', comparer, signal: new AbortController().signal });
};

const MB = 2 ** 20;

test.each([
  { reason: 'none', sizes: [], pages: 1 },
  { reason: 'many small ones: in large pages', sizes: Array(2010).fill(500), pages: 6 },
  { reason: 'the largest from the beginning', sizes: Array(20).fill(1.5 * MB), pages: 14 },
  {
    reason: 'the largest after many small ones',
    sizes: [...Array(600).fill(500), ...Array(50).fill(1.5 * MB), ...Array(600).fill(500)],
    pages: 45,
  },
  { reason: 'one that alone is larger than a page may be', sizes: [500, 20 * MB, 500], pages: 7 },
])('$reason', async ({ sizes, pages }) => {
  const { client, asked } = clusterOf(sizes);
  expect(await read(client)).toMatchObject({ checked: sizes.length, total: sizes.length, incomplete: undefined });
  expect(asked.length).toBeLessThanOrEqual(pages);
});

test('whatever the sizes, all are read once, and no page that is taken is larger than 8 MB unless it is one object', async () => {
  const runs = fc.array(
    fc.record({ size: fc.constantFrom(300, 2_000, 60_000, 1.5 * MB), objects: fc.integer({ min: 1, max: 700 }) }),
    { minLength: 1, maxLength: 3 },
  );
  await fc.assert(
    fc.asyncProperty(runs, async (all) => {
      const sizes = all.flatMap(({ size, objects }) =>
        Array<number>(Math.min(objects, Math.ceil((20 * MB) / size))).fill(size),
      );
      const { client, asked } = clusterOf(sizes);
      expect(await read(client)).toMatchObject({ checked: sizes.length, incomplete: undefined });
      for (const { limit, bytes, taken } of asked) if (taken && limit > 1) expect(bytes).toBeLessThanOrEqual(8 * MB);
    }),
    { numRuns: 10 },
  );
});

test('another connection failure is reported together with the progress', async () => {
  const { client } = clusterOf(Array(100).fill(500));
  const failing = {
    ...client,
    request: (asked: RawRequest) =>
      asked.query?.continue === undefined
        ? client.request(asked)
        : Promise.reject(new ConnectionError({ doing: 'GET', failure: 'reset', message: 'gone', hint: 'Try again' })),
  } as unknown as Client;
  expect(await read(failing)).toMatchObject({
    checked: 10,
    total: 100,
    incomplete: 'the API server did not answer (reset)',
  });
});
