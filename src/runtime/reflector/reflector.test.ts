/** Conditions that are too rare on a real API server. Tests on a real one are in test/runtime. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Client, ListOptions, WatchEvent, WatchOptions } from '../client/client.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import type { KubernetesObject, ObjectList, Resource } from '../objects/object.ts';
import type { ReflectorOptions } from './options.ts';
import { Reflector } from './reflector.ts';

const things: Resource = { group: 'x.dev', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };

const thing = (name: string, version: number, uid = `uid-${name}`): KubernetesObject => ({
  apiVersion: 'x.dev/v1',
  kind: 'Thing',
  metadata: { name, namespace: 'n', uid, resourceVersion: String(version), managedFields: [{ manager: 'm' }] },
});
const gone = () => new ApiError({ doing: 'x', status: 410, reason: 'Expired', message: 'too old' });
const page = (version: number, items: KubernetesObject[], next?: string): ObjectList<KubernetesObject> => ({
  apiVersion: 'x.dev/v1',
  kind: 'ThingList',
  metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
  items,
});

type Answer = ObjectList<KubernetesObject> | Error;
type Stream = (WatchEvent<KubernetesObject> | Error | 'hang')[];

/** Returns a client that answers lists and watches in turn with the given answers; the last watch hangs. */
function script(lists: Answer[], watches: Stream[]) {
  const calls: { lists: ListOptions[]; watches: WatchOptions[] } = { lists: [], watches: [] };
  const client = {
    async list(_resource: Resource, options: ListOptions) {
      calls.lists.push(options);
      const answer = lists[calls.lists.length - 1];
      if (answer === undefined) throw new Error('one list too many');
      if (answer instanceof Error) throw answer;
      return answer;
    },
    async *watch(_resource: Resource, options: WatchOptions) {
      calls.watches.push(options);
      options.onOpen?.();
      for (const event of watches[calls.watches.length - 1] ?? ['hang']) {
        if (event instanceof Error) throw event;
        if (event === 'hang') {
          await new Promise<void>((resolve) => options.signal?.addEventListener('abort', () => resolve()));
          throw new ConnectionError({ doing: 'watch', failure: 'aborted', message: 'aborted', hint: '' });
        }
        yield event;
      }
    },
  };
  return { client: client as unknown as Client, calls };
}

let running: Reflector<KubernetesObject>[] = [];
afterEach(async () => {
  for (const each of running) await each.stop();
  running = [];
});

function reflect(client: Client, options: Partial<ReflectorOptions<KubernetesObject>> = {}) {
  const reported: string[] = [];
  const failures: string[] = [];
  const relists: Error[] = [];
  const reflector = new Reflector<KubernetesObject>({
    client,
    resource: things,
    backoff: { baseMilliseconds: 1, maximumMilliseconds: 5 },
    handlers: {
      added: ({ metadata }, initial) =>
        void reported.push(`+${metadata.name}@${metadata.resourceVersion}${initial ? '!' : ''}`),
      updated: ({ metadata }, old) =>
        void reported.push(`~${metadata.name}@${old.metadata.resourceVersion}>${metadata.resourceVersion}`),
      deleted: ({ metadata }) => void reported.push(`-${metadata.name}`),
    },
    observer: {
      failed: (error, during) => void failures.push(`${during}: ${error.message}`),
      relisted: (cause) => void relists.push(cause),
    },
    ...options,
  });
  running.push(reflector);
  reflector.start();
  return { reflector, reported, failures, relists };
}

async function until(holds: () => boolean): Promise<void> {
  for (let attempt = 0; !holds(); attempt += 1) {
    if (attempt === 2_000) throw new Error(`never came true: ${String(holds)}`);
    await sleep(2);
  }
}

const added = (object: KubernetesObject): WatchEvent<KubernetesObject> => ({ type: 'ADDED', object });
const bookmark = (version: number): WatchEvent<KubernetesObject> => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: String(version) } },
});

describe('listing', () => {
  it('follows continue to the last page, and watches from the version of the list', async () => {
    const { client, calls } = script(
      [page(9, [thing('a', 1)], 'p2'), page(9, [thing('b', 2)], 'p3'), page(9, [thing('c', 3)])],
      [],
    );
    const { reflector, reported } = reflect(client, { pageSize: 1 });
    await reflector.synced();
    await until(() => calls.watches.length === 1);
    expect(reported).toEqual(['+a@1!', '+b@2!', '+c@3!']);
    expect(calls.lists.map((options) => options.continue)).toEqual([undefined, 'p2', 'p3']);
    expect(calls.watches[0]).toMatchObject({ resourceVersion: '9', allowWatchBookmarks: true });
  });

  it('lists everything again if the pages have expired', async () => {
    const { client, calls } = script([page(9, [thing('a', 1)], 'p2'), gone(), page(12, [thing('b', 10)])], []);
    const { reflector, reported, relists } = reflect(client, { pageSize: 1 });
    await reflector.synced();
    expect(calls.lists[2]).not.toHaveProperty('limit');
    expect(relists).toHaveLength(1);
    expect(reported).toContain('+b@10!');
    expect(reflector.store.list().map(({ metadata }) => metadata.name)).toContain('b');
  });

  it('waits through failures, reports them, and syncs when they end', async () => {
    const forbidden = new ApiError({ doing: 'list things', status: 403, reason: 'Forbidden', message: 'no' });
    const { client } = script([forbidden, forbidden, forbidden, page(1, [])], []);
    const states: string[] = [];
    const { reflector } = reflect(client, { observer: { status: ({ state }) => void states.push(state) } });
    expect(reflector.hasSynced).toBe(false);
    await reflector.synced();
    await until(() => reflector.status.state === 'watching');
    expect(states).toEqual(['listing', 'failing', 'failing', 'failing', 'watching']);
  });
});

describe('relisting', () => {
  it('reports deleted, changed and new objects, but not unchanged ones', async () => {
    const { client, calls } = script(
      [
        page(5, [thing('stays', 1), thing('changes', 2), thing('vanishes', 3), thing('reborn', 4, 'old')]),
        page(20, [thing('stays', 1), thing('changes', 12), thing('comes', 13), thing('reborn', 14, 'new')]),
      ],
      [[bookmark(6), gone()]],
    );
    const { reported, relists } = reflect(client);
    await until(() => calls.watches.length === 2);
    expect(reported.slice(4)).toEqual(['~changes@2>12', '+comes@13', '-reborn', '+reborn@14', '-vanishes']);
    expect(relists).toHaveLength(1);
    expect(calls.watches[1]?.resourceVersion).toBe('20');
  });

  const causes: { reason: string; event: WatchEvent<KubernetesObject> | Error }[] = [
    {
      reason: 'an ERROR event that says 410',
      event: { type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'old' } },
    },
    { reason: 'a 410 to the watch', event: gone() },
    {
      reason: 'a server that was restored from an older snapshot',
      event: new ApiError({
        doing: 'x',
        status: 504,
        reason: 'Timeout',
        message: 'Too large resource version: 5, current: 3',
        details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
      }),
    },
  ];
  for (const { reason, event } of causes) {
    it(`follows from ${reason}`, async () => {
      const { client, calls } = script([page(5, []), page(9, [])], [[event]]);
      reflect(client);
      await until(() => calls.watches.length === 2);
      expect(calls.lists).toHaveLength(2);
    });
  }

  it('follows from a server that fails the same watch repeatedly', async () => {
    const fault: Stream = [{ type: 'ERROR', object: { code: 500, reason: 'InternalError', message: 'PrevKv=nil' } }];
    const { client, calls } = script([page(5, []), page(9, [])], [fault, fault, fault]);
    reflect(client);
    await until(() => calls.watches.length === 4);
    expect(calls.watches.map(({ resourceVersion }) => resourceVersion)).toEqual(['5', '5', '5', '9']);
  });
});

describe('watching', () => {
  it('resumes from the last version, of an event or a bookmark', async () => {
    const reset = new ConnectionError({ doing: 'watch', failure: 'reset', message: 'reset', hint: '' });
    const { client, calls } = script(
      [page(5, [])],
      [[added(thing('a', 7)), reset], [bookmark(11), reset], [bookmark(12)]],
    );
    const { reported } = reflect(client);
    await until(() => calls.watches.length === 4);
    expect(calls.watches.map(({ resourceVersion }) => resourceVersion)).toEqual(['5', '7', '11', '12']);
    expect(calls.lists).toHaveLength(1);
    expect(reported).toEqual(['+a@7']);
  });

  it('handles unexpected events: a known ADDED, an unknown MODIFIED, an unknown DELETED', async () => {
    const { client } = script(
      [page(5, [thing('a', 1)])],
      [
        [
          added(thing('a', 1)),
          added(thing('a', 6)),
          { type: 'MODIFIED', object: thing('b', 7) },
          { type: 'DELETED', object: thing('c', 8) },
          { type: 'DELETED', object: thing('a', 9) },
          'hang',
        ],
      ],
    );
    const { reported } = reflect(client);
    await until(() => reported.length === 4);
    expect(reported).toEqual(['+a@1!', '~a@1>6', '+b@7', '-a']);
  });

  it('considers a silent watch dead', async () => {
    const { client, calls } = script([page(5, [])], [['hang'], ['hang']]);
    const { failures } = reflect(client, { silenceMilliseconds: 20 });
    await until(() => calls.watches.length >= 3);
    expect(failures[0]).toMatch(/watch: .*neither an event nor a bookmark/);
  });

  it('backs off if the server ends every watch at once', async () => {
    const { client, calls } = script(
      [page(5, [])],
      Array.from({ length: 1_000 }, () => []),
    );
    reflect(client, { backoff: { baseMilliseconds: 50, maximumMilliseconds: 50 } });
    await until(() => calls.watches.length === 3);
    const before = calls.watches.length;
    await sleep(120);
    expect(calls.watches.length - before, 'without waiting there would be thousands').toBeLessThan(20);
  });

  it('stops between its list and its watch', async () => {
    const { client, calls } = script([page(5, [])], []);
    const { reflector } = reflect(client);
    await reflector.synced();
    await reflector.stop();
    expect(calls.watches.length).toBeLessThanOrEqual(1);
    expect(reflector.status.state).toBe('stopped');
  });
});

describe('handlers', () => {
  it('see the store as of their event, and may throw', async () => {
    const { client } = script([page(5, [thing('a', 1), thing('b', 2)])], []);
    const sizes: number[] = [];
    const failures: string[] = [];
    const reflector = new Reflector<KubernetesObject>({
      client,
      resource: things,
      handlers: {
        added() {
          sizes.push(reflector.store.size);
          throw new Error('mine');
        },
      },
      observer: { failed: (error, during) => void failures.push(`${during}: ${error.message}`) },
    });
    running.push(reflector);
    reflector.start();
    await reflector.synced();
    expect(sizes).toEqual([1, 2]);
    expect(failures).toEqual(['handler: mine', 'handler: mine']);
  });

  it('receive existing objects when added late, and nothing after removal', async () => {
    const { client } = script([page(5, [thing('a', 1)])], [['hang']]);
    const { reflector } = reflect(client);
    await reflector.synced();
    const heard: string[] = [];
    const leave = reflector.subscribe({
      added: ({ metadata }, initial) => void heard.push(`${metadata.name} ${initial}`),
    });
    expect(heard).toEqual(['a true']);
    leave();
  });

  it('are not called after the stop', async () => {
    const { client } = script([page(5, [thing('a', 1)])], []);
    const { reflector, reported } = reflect(client);
    const stopping = reflector.stop();
    await stopping;
    expect(reported).toEqual([]);
    await expect(reflector.synced()).rejects.toThrow(/stopped/);
  });
});

describe('objects', () => {
  it('lose managedFields on request only, and are transformed', async () => {
    for (const stripManagedFields of [true, false]) {
      const { client } = script([page(5, [thing('a', 1)])], [[added(thing('b', 6)), 'hang']]);
      const { reflector, reported } = reflect(client, {
        stripManagedFields,
        transform: (object) => ({ ...object, extra: true }),
      });
      await until(() => reported.length === 2);
      for (const object of reflector.store) {
        expect(object.metadata.managedFields === undefined).toBe(stripManagedFields);
        expect(object).toHaveProperty('extra', true);
      }
    }
  });

  it('stay unchanged if transform throws', async () => {
    const { client } = script([page(5, [thing('a', 1)])], []);
    const { reflector, failures } = reflect(client, {
      transform: () => {
        throw new Error('odd');
      },
    });
    await reflector.synced();
    expect(reflector.store.size).toBe(1);
    expect(failures).toEqual(['transform: odd']);
  });

  it('stay known through a relist if an index function throws', async () => {
    const { client } = script([page(5, [thing('a', 1)]), page(9, [thing('a', 8)])], [[gone()], ['hang']]);
    const deleted: string[] = [];
    const { reflector, failures } = reflect(client, {
      indexes: {
        odd: () => {
          throw new Error('unreadable');
        },
      },
      handlers: { deleted: (object) => void deleted.push(object.metadata.name) },
    });
    await reflector.synced();
    await until(() => reflector.store.get({ namespace: 'n', name: 'a' })?.metadata.resourceVersion === '8');
    expect(deleted).toEqual([]);
    expect(new Set(failures)).toEqual(new Set(['index: unreadable']));
  });
});

it('an observer may throw', async () => {
  const { client, calls } = script([new Error('away'), page(5, [thing('a', 1)])], [[gone()], ['hang']]);
  const broken = () => {
    throw new Error('observer');
  };
  const reflector = new Reflector<KubernetesObject>({
    client,
    resource: things,
    backoff: { baseMilliseconds: 1 },
    observer: { failed: broken, relisted: broken, status: broken, listed: broken, watched: broken, current: broken },
  });
  running.push(reflector);
  reflector.start();
  await reflector.synced();
  await until(() => calls.lists.length >= 2 && calls.watches.length >= 1);
  expect(reflector.store.size).toBe(1);
});
