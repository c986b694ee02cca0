import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../objects/object.ts';
import { Store } from './store.ts';

interface Item extends KubernetesObject {
  owner?: string;
}

const item = (name: string, fields: { namespace?: string; owner?: string; version?: string } = {}): Item => ({
  apiVersion: 'v1',
  kind: 'Item',
  metadata: {
    name,
    ...(fields.namespace === undefined ? {} : { namespace: fields.namespace }),
    resourceVersion: fields.version ?? '1',
  },
  ...(fields.owner === undefined ? {} : { owner: fields.owner }),
});
const names = (items: readonly Item[]) => items.map(({ metadata }) => metadata.name).sort();
const byOwner = { owner: ({ owner }: Item) => (owner === undefined ? [] : [owner]) };

describe('a store', () => {
  it('finds by key, by namespace and by index, and deletes from all at once', () => {
    const store = new Store<Item>(byOwner);
    store.set(item('a', { namespace: 'one', owner: 'x' }));
    store.set(item('a', { namespace: 'two', owner: 'x' }));
    store.set(item('b', { namespace: 'one' }));
    store.set(item('clusterwide', { owner: 'y' }));
    expect(store.size).toBe(4);
    expect(store.get({ namespace: 'two', name: 'a' })?.metadata.namespace).toBe('two');
    expect(store.get({ name: 'clusterwide' })?.owner).toBe('y');
    expect(store.has({ name: 'a' }), 'a namespace is part of the key').toBe(false);
    expect(names(store.byNamespace('one'))).toEqual(['a', 'b']);
    expect(names(store.byIndex('owner', 'x'))).toEqual(['a', 'a']);
    expect(store.indexValues('owner').sort()).toEqual(['x', 'y']);

    expect(store.delete({ namespace: 'one', name: 'a' })?.metadata.name).toBe('a');
    expect(store.delete({ namespace: 'one', name: 'a' })).toBeUndefined();
    expect(names(store.byIndex('owner', 'x'))).toEqual(['a']);
    expect(names(store.list())).toEqual(['a', 'b', 'clusterwide']);
    expect(store.size).toBe(3);
  });

  it('moves an object between index values when it changes', () => {
    const store = new Store<Item>(byOwner);
    const first = item('a', { owner: 'x' });
    expect(store.set(first)).toBeUndefined();
    expect(store.set(item('a', { owner: 'y', version: '2' }))).toBe(first);
    expect(store.byIndex('owner', 'x')).toEqual([]);
    expect(store.indexValues('owner')).toEqual(['y']);
    expect(store.size).toBe(1);
  });

  it('omits an object only from the index whose function throws, and reports it', () => {
    const failures: unknown[] = [];
    const store = new Store<Item>(
      {
        owner: ({ owner }) => {
          if (owner === undefined) throw new TypeError('no owner');
          return [owner];
        },
        name: ({ metadata }) => [metadata.name],
      },
      (error) => failures.push(error),
    );
    store.set(item('a', { owner: 'x' }));
    const unowned = item('a');
    store.set(unowned);
    expect(store.get({ namespace: unowned.metadata.namespace ?? '', name: 'a' })).toBe(unowned);
    expect(store.byIndex('owner', 'x')).toEqual([]);
    expect(names(store.byIndex('name', 'a'))).toEqual(['a']);
    expect(failures).toHaveLength(1);
  });

  it('lists the existing indexes in the error for an unknown one', () => {
    expect(() => new Store<Item>(byOwner).byIndex('colour', 'red')).toThrow(/"colour".*owner/);
  });
});
