import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { ChannelError } from '../../broker/index.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import { Breakers } from './breakers.ts';
import type { Deployable } from './deployable.ts';
import { Latest } from './latest.ts';
import { deployableMetrics } from './metrics.ts';
import { OwnWrites } from './own-writes.ts';
import { Receipts } from './receipts.ts';
import { sweepOnChange } from './sweep.ts';
import { differences } from './write-status.ts';

const objectWith = (more: { metadata?: object; status?: object } = {}): Deployable =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind: 'Database',
    metadata: { name: 'users', namespace: 'team', uid: 'u', resourceVersion: '5', ...more.metadata },
    spec: {},
    ...(more.status === undefined ? {} : { status: more.status }),
  }) as Deployable;

describe('what is written', () => {
  test.each([
    { reason: 'equal fields are omitted', before: { a: 1, b: [1] }, after: { a: 1, b: [1] }, patch: {} },
    { reason: 'removed fields are null', before: { a: 1, b: 2 }, after: { a: 1 }, patch: { b: null } },
    { reason: 'lists are replaced whole', before: { a: [1, 2] }, after: { a: [2] }, patch: { a: [2] } },
    {
      reason: 'within an object too',
      before: { a: { b: 1, c: 2 } },
      after: { a: { b: 3 } },
      patch: { a: { b: 3, c: null } },
    },
    { reason: 'an object in place of none', before: {}, after: { a: { b: 1 } }, patch: { a: { b: 1 } } },
  ])('$reason', ({ before, after, patch }) => {
    expect(differences(before, after)).toEqual(patch);
  });
});

describe('an event', () => {
  const at = (resourceVersion: string) => objectWith({ metadata: { resourceVersion } });
  const updated = (object: Deployable) => ({ type: 'updated' as const, object, old: at('1') });

  test.each([
    { reason: 'of our own write is ignored', written: ['5'], seen: ['5'], news: [false] },
    { reason: 'of a later write by others passes', written: ['5'], seen: ['5', '6'], news: [false, true] },
    { reason: 'of an earlier write by others passes', written: ['5'], seen: ['4', '5'], news: [true, false] },
    {
      reason: 'of the first of two own writes passes, of the second not',
      written: ['5', '6'],
      seen: ['5', '6'],
      news: [true, false],
    },
    { reason: 'without own writes passes', written: [], seen: ['5'], news: [true] },
  ])('$reason', ({ written, seen, news }) => {
    const ownWrites = new OwnWrites();
    for (const version of written) ownWrites.expect(at(version));
    expect(seen.map((version) => ownWrites.isForeign(updated(at(version))))).toEqual(news);
  });

  test('of a created or deleted object always passes, and a deleted object is forgotten', () => {
    const ownWrites = new OwnWrites();
    ownWrites.expect(at('5'));
    expect(ownWrites.isForeign({ type: 'added', object: at('5'), initial: true })).toBe(true);
    expect(ownWrites.isForeign({ type: 'deleted', object: at('5') })).toBe(true);
    expect(ownWrites.size).toBe(0);
  });

  test('that never arrives is kept up to a limit', () => {
    const ownWrites = new OwnWrites();
    for (let uid = 0; uid < 5_000; uid += 1) ownWrites.expect(objectWith({ metadata: { uid: String(uid) } }));
    expect(ownWrites.size).toBe(4_096);
  });
});

describe('the newest version that is known', () => {
  const at = (resourceVersion: string, uid = 'u') => objectWith({ metadata: { resourceVersion, uid } });

  test('is the written one, until the cache has it', () => {
    const latest = new Latest();
    latest.keep(at('10'));
    expect(latest.of(at('9')).metadata.resourceVersion).toBe('10');
    expect(latest.of(at('10')).metadata.resourceVersion).toBe('10');
    expect(latest.size).toBe(0);
  });

  test('is never an older one', () => {
    const latest = new Latest();
    latest.keep(at('10'));
    latest.keep(at('9'));
    expect(latest.of(at('8')).metadata.resourceVersion).toBe('10');
    expect(latest.of(at('11')).metadata.resourceVersion).toBe('11');
  });

  test('is that of the re-created object', () => {
    const latest = new Latest();
    latest.keep(at('10'));
    expect(latest.of(at('12', 'v')).metadata.uid).toBe('v');
    latest.keep(at('13', 'v'));
    latest.forget('Database', { namespace: 'team', name: 'users' });
    expect(latest.size).toBe(0);
  });

  test('is kept for a limited number of objects', () => {
    const latest = new Latest();
    const named = (index: number) => objectWith({ metadata: { name: `n${index}`, resourceVersion: '10' } });
    for (let index = 0; index < 5_000; index += 1) latest.keep(named(index));
    expect(latest.size).toBe(2_048);
    const older = objectWith({ metadata: { name: 'n4999', resourceVersion: '9' } });
    expect(latest.of(older).metadata.resourceVersion).toBe('10');
  });
});

test('receipts are dropped with their messages', () => {
  const receipts = new Receipts();
  receipts.keep('u', 'a', 1);
  receipts.keep('u', 'b', 2);
  receipts.prune('u', ['b']);
  expect([receipts.dueOf('u', 'a'), receipts.dueOf('u', 'b')]).toEqual([undefined, 2]);
  receipts.prune('u', []);
  expect(receipts.size).toBe(0);
});

describe('a broker that does not answer', () => {
  const away = new ChannelError({ channel: 'HTTP', failure: 'unavailable', message: 'away' });
  const enter = (breakers: Breakers, now: number) => {
    const entry = breakers.enter('b', now);
    if (!entry.entered) throw new Error(`closed for ${entry.waitMilliseconds}`);
    return entry;
  };

  test('is skipped after some failures, probed once, and available again after a success', () => {
    const breakers = new Breakers({ failures: 2, shortestMilliseconds: 1_000 });
    for (const now of [0, 1]) enter(breakers, now).failed(away, now);
    expect(breakers.enter('b', 2)).toEqual({ entered: false, waitMilliseconds: 999 });
    expect(breakers.enter('other', 2).entered).toBe(true);
    const trial = enter(breakers, 1_001);
    expect(breakers.enter('b', 1_001).entered).toBe(false);
    trial.failed(away, 1_100);
    expect(breakers.enter('b', 1_200)).toEqual({ entered: false, waitMilliseconds: 1_900 });
    enter(breakers, 3_100).succeeded();
    expect([breakers.enter('b', 3_100).entered, breakers.enter('b', 3_100).entered]).toEqual([true, true]);
  });

  test('gets a limited number of concurrent messages', () => {
    const breakers = new Breakers({ mostAtOnce: 1 });
    const first = enter(breakers, 0);
    expect(breakers.enter('b', 0).entered).toBe(false);
    first.succeeded();
    expect(breakers.enter('b', 0).entered).toBe(true);
  });

  test('is not polled by the thousands of messages that wait for it', () => {
    const breakers = new Breakers({ failures: 1, shortestMilliseconds: 1_000 });
    enter(breakers, 0).failed(away, 0);
    // One probes and gets no answer for ten seconds.
    const due = Array.from({ length: 2_000 }, () => 1_000);
    let looks = 0;
    enter(breakers, 1_000);
    for (let now = 1_000; now < 11_000; now += 5) {
      for (const [index, at] of due.entries()) {
        if (at > now) continue;
        const entry = breakers.enter('b', now);
        looks += 1;
        due[index] = now + (entry.entered ? 0 : entry.waitMilliseconds);
      }
    }
    expect(looks).toBeLessThan(13_000);
    expect(Math.max(...due)).toBeLessThan(14_000);
  });

  test.each([
    { reason: 'refuses one message takes the next', failure: 'refused' as const, entered: true },
    { reason: 'asks for time gets it', failure: 'throttled' as const, retryAfterMilliseconds: 5_000, entered: false },
  ])('that $reason', ({ failure, entered, ...more }) => {
    const breakers = new Breakers({ failures: 3 });
    enter(breakers, 0).failed(new ChannelError({ channel: 'HTTP', failure, message: 'x', ...more }), 0);
    expect(breakers.enter('b', 4_000).entered).toBe(entered);
  });
});

test('a message that cannot be built does not count as a failure of its broker', () => {
  const breakers = new Breakers({ failures: 1, mostAtOnce: 1 });
  for (const now of [0, 1, 2]) {
    const entry = breakers.enter('b', now);
    expect(entry.entered).toBe(true);
    if (entry.entered) entry.failed(new Error('no key to seal a connection with'), now);
  }
});

test('objects are counted by phase, and stuck ones separately', async () => {
  const registry = new Registry();
  const now = Date.parse('2026-02-01T12:00:00Z');
  const since = (time: string, phase: string) => ({
    metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase, conditions: [{ type: 'Ready', status: 'False', reason: 'x', lastTransitionTime: time }] },
  });
  const all = [
    objectWith(since('2026-02-01T11:49:00Z', 'pending')),
    objectWith(since('2026-02-01T11:55:00Z', 'pending')),
    objectWith({ metadata: { creationTimestamp: '2026-02-01T10:00:00Z' } }),
    objectWith(since('2026-01-01T00:00:00Z', 'ready')),
    objectWith({ metadata: { deletionTimestamp: '2026-02-01T11:00:00Z' }, status: { phase: 'ready' } }),
  ];
  deployableMetrics({ registry, objects: (kind) => (kind === 'Database' ? all : undefined), now: () => now });
  const valuesOf = async (name: string) => {
    const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] };
    return Object.fromEntries(
      values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.status, value]),
    );
  };
  expect(await valuesOf('kidp_resource_count')).toEqual({ pending: 3, ready: 2 });
  expect(await valuesOf('kidp_resource_stuck_count')).toEqual({ pending: 2, deleting: 1 });
});

test('after a policy change, waiting objects are re-evaluated first, the rest in slices', async () => {
  const clock = new FakeClock();
  const ready = { phase: 'ready', conditions: [{ type: 'Admitted', status: 'True' }] };
  const objects = [
    ...Array.from({ length: 250 }, (_, index) => objectWith({ metadata: { name: `r${index}` }, status: ready })),
    objectWith({ metadata: { name: 'waits' }, status: { phase: 'pending' } }),
  ];
  const seen: string[] = [];
  let changed = () => {};
  const stopping = new AbortController();
  const ended = sweepOnChange({
    clock,
    kinds: [{ objects: () => objects, enqueue: ({ name }) => void seen.push(name) }],
    changes: (listener) => {
      changed = listener;
      return () => {};
    },
  }).start(stopping.signal);
  changed();
  await clock.advance(0);
  expect([seen[0], seen.length]).toEqual(['waits', 101]);
  await clock.advance(1_000);
  expect(seen).toHaveLength(251);
  changed();
  await clock.advance(1_000);
  expect(seen.slice(251)).toEqual(['waits']);
  await clock.advance(30_000);
  expect(seen).toHaveLength(252 + 251);
  stopping.abort();
  await ended;
});
