import { afterAll, describe, expect, test } from 'vitest';
import { startComparers } from './comparison-pool.ts';

const definition = (spec: object, over: object = {}): string =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      conversion: { strategy: 'None' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
      ...over,
    },
  });
const size = (bounds: object) => ({ type: 'object', properties: { size: { type: 'integer', ...bounds } } });
const page = (sizes: readonly number[], metadata: object = {}): string =>
  JSON.stringify({
    metadata,
    items: sizes.map((each, index) => ({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: `w-${index}`, namespace: 'default' },
      spec: { size: each },
    })),
  });

describe('a comparer', () => {
  const comparers = startComparers(1);
  afterAll(() => comparers.stop());

  test('compares, and counts what breaks page by page', async () => {
    const comparer = await comparers.take(new AbortController().signal);
    const compared = await comparer.compare(definition(size({})), definition(size({ maximum: 10 })));
    expect(compared).toMatchObject({ verdict: { name: 'widgets.example.com', verdict: 'breaking' } });
    expect(await comparer.add(page([1, 11], { continue: 'more', remainingItemCount: 2 }))).toMatchObject({
      next: 'more',
      remaining: 2,
      objects: 2,
      count: { checked: 2, broken: 1, first: [{ namespace: 'default', name: 'w-1' }] },
    });
    expect(await comparer.add(page([12, 2], { continue: '' }))).toMatchObject({
      next: undefined,
      count: { checked: 4, broken: 2 },
    });
    comparer.release();
  });

  test('starts from scratch for the next caller', async () => {
    const { signal } = new AbortController();
    const first = await comparers.take(signal);
    await first.compare(definition(size({})), definition(size({ maximum: 10 })));
    await first.add(page([11]));
    first.release();
    const second = await comparers.take(signal);
    expect(await second.add(page([11, 12]))).toMatchObject({ count: { checked: 2, broken: 0 } });
    second.release();
  });

  test('says which of two it cannot read, and what is wrong with it', async () => {
    const comparer = await comparers.take(new AbortController().signal);
    expect(await comparer.compare(undefined, '{}')).toMatchObject({ unreadable: 'after' });
    expect(await comparer.compare('{}', definition(size({})))).toMatchObject({ unreadable: 'before' });
    await expect(comparer.add('no JSON')).rejects.toThrow(/JSON/);
    comparer.release();
  });
});

describe('more at once than there are threads', () => {
  test('wait for their turn, or give up when their time is over', async () => {
    const comparers = startComparers(1);
    const { signal } = new AbortController();
    const taken = await comparers.take(signal);
    const short = new AbortController();
    const impatient = comparers.take(short.signal);
    let came = false;
    const second = comparers.take(signal).then((comparer) => {
      came = true;
      return comparer;
    });
    short.abort(new Error('time is up'));
    await expect(impatient).rejects.toThrow('time is up');
    await taken.compare(undefined, definition(size({})));
    expect(came).toBe(false);
    taken.release();
    (await second).release();
    await comparers.stop();
  });
});

test('what takes too long is ended with its thread, and the next gets another', async () => {
  const comparers = startComparers();
  const abort = new AbortController();
  const comparer = await comparers.take(abort.signal);
  await comparer.compare(definition(size({})), definition(size({ maximum: 10 })));
  const sizes = Array.from({ length: 50_000 }, (_, index) => index);
  const asked = comparer.add(page(sizes));
  abort.abort(new Error('time is up'));
  await expect(asked).rejects.toThrow('time is up');
  comparer.release();
  const next = await comparers.take(new AbortController().signal);
  expect(await next.compare(undefined, definition(size({})))).toHaveProperty('verdict');
  next.release();
  await comparers.stop();
});

test('nothing is taken once it is stopped, and what was asked ends', async () => {
  const comparers = startComparers();
  const comparer = await comparers.take(new AbortController().signal);
  const sizes = Array.from({ length: 50_000 }, (_, index) => index);
  await comparer.compare(definition(size({})), definition(size({ maximum: 10 })));
  const asked = comparer.add(page(sizes));
  await comparers.stop();
  await expect(asked).rejects.toThrow('the comparison was terminated');
  comparer.release();
});
