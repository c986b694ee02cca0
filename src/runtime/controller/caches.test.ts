/**
 * Which cache serves which read, and which reads no cache may serve. The caches are filled by src/runtime/reflector.
 */
import { describe, expect, it } from 'vitest';
import type { Client } from '../client/client.ts';
import type { ObjectKey } from '../objects/object.ts';
import { silentLogger } from '../telemetry/logger.ts';
import { FakeClock } from '../testing/index.ts';
import { Caches, type Selection } from './caches.ts';
import { type ListFrom, type ReadFrom, readerOver } from './reader.ts';

const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const hanging = { list: () => new Promise(() => {}) } as unknown as Client;

function cachesOf(...selections: Selection[]): Caches {
  const caches = new Caches(hanging, { clock: new FakeClock(), log: silentLogger });
  for (const selection of selections) caches.request({ resource: secrets, ...selection });
  return caches;
}

describe('a read from the caches', () => {
  const ours = { labelSelector: 'app=ours' };
  const key = { namespace: 'n', name: 's' };
  const gets: { reason: string; watched: Selection[]; key: ObjectKey; options?: ReadFrom; answered: boolean }[] = [
    { reason: 'all are watched', watched: [{}], key, answered: true },
    { reason: 'its namespace is watched', watched: [{ namespace: 'n' }], key, answered: true },
    { reason: 'only another namespace is', watched: [{ namespace: 'm' }], key, answered: false },
    { reason: 'only those with a label are: it may exist without', watched: [ours], key, answered: false },
    { reason: 'only those with a field are', watched: [{ fieldSelector: 'type=Opaque' }], key, answered: false },
    { reason: 'all are watched, and some once more', watched: [ours, {}], key, answered: true },
    {
      reason: 'the caller means those with the label',
      watched: [ours],
      key,
      options: { selection: ours },
      answered: true,
    },
    { reason: 'the caller means another cache', watched: [{}], key, options: { selection: ours }, answered: false },
  ];
  for (const { reason, watched, key: asked, options, answered } of gets) {
    it(`gets ${answered ? 'an answer' : 'none, not even "does not exist",'} where ${reason}`, async () => {
      const caches = cachesOf(...watched);
      caches.start();
      const read = readerOver(caches, hanging).get(secrets, asked, options);
      if (answered) expect(await read).toBeUndefined();
      else await expect(read).rejects.toMatchObject({ code: 'config/not-watched' });
    });
  }

  const lists: { reason: string; watched: Selection; options: ListFrom; answered: boolean }[] = [
    { reason: 'one namespace of all', watched: {}, options: { namespace: 'n' }, answered: true },
    { reason: 'all of one namespace', watched: { namespace: 'n' }, options: {}, answered: false },
    { reason: 'the label that is watched', watched: ours, options: { labels: { app: 'ours' } }, answered: true },
    {
      reason: 'that label and another',
      watched: ours,
      options: { labels: { tier: 'x', app: 'ours' } },
      answered: true,
    },
    { reason: 'another value of it', watched: ours, options: { labels: { app: 'other' } }, answered: false },
    {
      reason: 'what a set may leave out',
      watched: { labelSelector: 'app in (ours,theirs)' },
      options: { labels: { app: 'ours' } },
      answered: false,
    },
  ];
  for (const { reason, watched, options, answered } of lists) {
    it(`${answered ? 'lists' : 'does not list'} ${reason}`, async () => {
      const caches = cachesOf(watched);
      caches.start();
      const read = readerOver(caches, hanging).list(secrets, options);
      if (answered) expect(await read).toEqual([]);
      else await expect(read).rejects.toMatchObject({ code: 'config/not-watched' });
    });
  }

  it('reports the watched selections and the remedy', () => {
    const caches = cachesOf(ours);
    caches.start();
    expect(() => caches.covering(secrets, {})).toThrow(/only secrets\.v1\.\?labelSelector=app=ours.*live: true/);
  });
});

describe('indexes of one cache', () => {
  const byName = () => ['a'];

  it('are shared if they are the same, also after the start', () => {
    const caches = cachesOf({});
    caches.request({ resource: secrets, indexes: { byName } });
    caches.start();
    caches.request({ resource: secrets, indexes: { byName } });
    expect(caches.store(secrets).indexValues('byName')).toEqual([]);
  });

  it('are rejected if two functions have the same name', () => {
    const caches = cachesOf({});
    caches.request({ resource: secrets, indexes: { byName } });
    expect(() => caches.request({ resource: secrets, indexes: { byName: () => ['b'] } })).toThrow(
      expect.objectContaining({ code: 'config/index-clash' }),
    );
  });
});
