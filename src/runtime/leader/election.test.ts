/**
 * Tests with a fake clock (except where Node's timers are tested), for conditions that a real server and clock cannot
 * produce on demand: skew, steps, a pause at a chosen moment. The lease store behaves like the API server with one
 * object. Two real processes on a real server: test/runtime/leader.test.ts.
 */
import { describe, expect, it } from 'vitest';
import type { Client } from '../client/client.ts';
import { sleep } from '../clock.ts';
import { ApiError, ConfigError, ConnectionError, FenceError } from '../errors.ts';
import { eventually, FakeClock } from '../testing/index.ts';
import { LeaderElection } from './election.ts';
import { fenced } from './fence.ts';
import type { Lease } from './lease.ts';

const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

class LeaseStore {
  lease: Lease | undefined;
  version = 0;
  writes: string[] = [];
  /** If set, every call fails with this error. */
  failure: Error | undefined;
  /** If set, an update takes effect at once, and its answer waits for this promise. */
  answerAfter: Promise<void> | undefined;

  client(name: string): Client {
    const refuse = (status: number, reason: string) => new ApiError({ doing: 'test', status, reason, message: reason });
    const client = {
      get: async () => {
        if (this.failure !== undefined) throw this.failure;
        if (this.lease === undefined) throw refuse(404, 'NotFound');
        return structuredClone(this.lease);
      },
      create: async (_resource: unknown, lease: Lease) => {
        if (this.failure !== undefined) throw this.failure;
        if (this.lease !== undefined) throw refuse(409, 'AlreadyExists');
        return this.write(name, lease);
      },
      update: async (_resource: unknown, lease: Lease) => {
        if (this.failure !== undefined) throw this.failure;
        if (this.lease === undefined) throw refuse(404, 'NotFound');
        if (this.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) throw refuse(409, 'Conflict');
        const written = this.write(name, lease);
        await this.answerAfter;
        return written;
      },
    };
    return client as unknown as Client;
  }

  write(name: string, lease: Lease): Lease {
    this.version += 1;
    this.writes.push(name);
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.version) } };
    return structuredClone(this.lease);
  }
}

function candidate(store: LeaseStore, name: string, clock: FakeClock): LeaderElection {
  return new LeaderElection({
    client: store.client(name),
    lease: { namespace: 'default', name: 'lock' },
    identity: name,
    clock,
    random: () => 1,
  });
}

/** Starts to acquire and waits for the first attempt. */
async function contend(election: LeaderElection, clock: FakeClock): Promise<AbortController> {
  const stop = new AbortController();
  void election.acquire(stop.signal);
  await clock.advance(0);
  return stop;
}

describe('leader election', () => {
  it('creates the Lease if there is none, and renews it', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const a = candidate(store, 'a', clock);
    await contend(a, clock);
    expect(a.leading).toBe(true);
    await clock.advance(60_000);
    expect(a.leading).toBe(true);
    expect(store.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(store.writes.length).toBeGreaterThan(25);
  });

  it('takes over after lease duration, within one retry period, once the holder is silent', async () => {
    const store = new LeaseStore();
    const clockOfA = new FakeClock();
    const clock = new FakeClock();
    const a = candidate(store, 'a', clockOfA);
    await contend(a, clockOfA);
    const b = candidate(store, 'b', clock);
    await contend(b, clock);
    await clock.advance(14_999);
    expect(b.leading).toBe(false);
    await clock.advance(2_001);
    expect(b.leading).toBe(true);
    expect(b.term).toBe(1);
  });

  it('does not take over from a holder whose wall clock is hours behind', async () => {
    const store = new LeaseStore();
    const monotonic = new FakeClock();
    const skewed = new FakeClock(0);
    const a = candidate(store, 'a', skewed);
    await contend(a, skewed);
    const b = candidate(store, 'b', monotonic);
    await contend(b, monotonic);
    for (let second = 0; second < 60; second += 1) {
      await skewed.advance(1000);
      await monotonic.advance(1000);
    }
    expect(a.leading).toBe(true);
    expect(b.leading).toBe(false);
  });

  it('stops leading at the renew deadline if the server is unavailable, and reports it once', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const a = candidate(store, 'a', clock);
    await contend(a, clock);
    store.failure = new ConnectionError({ doing: 'test', failure: 'refused', message: 'away', hint: '' });
    await clock.advance(9_000);
    expect(a.leading).toBe(true);
    await clock.advance(2_100);
    expect(a.leading).toBe(false);
    expect(a.signal.reason).toBeInstanceOf(FenceError);
  });

  it('ends at the deadline although timers fire early, without waiting for the answer to a renewal', async () => {
    // On the real clock. Only the timer of the deadline can end these elections: their renewals are never answered.
    for (let run = 0; run < 12; run += 1) {
      const store = new LeaseStore();
      const election = new LeaderElection({
        client: store.client('a'),
        lease: { namespace: 'default', name: 'lock' },
        leaseDurationMilliseconds: 1000,
        renewDeadlineMilliseconds: 50,
        retryPeriodMilliseconds: 20,
      });
      await election.acquire(new AbortController().signal);
      store.answerAfter = new Promise(() => {});
      await eventually(() => election.signal.aborted, { every: 5 });
    }
  });

  it('ends at the deadline if its timer fires early', async () => {
    class EarlyClock extends FakeClock {
      override schedule(milliseconds: number, callback: () => void) {
        return super.schedule(milliseconds > 1 ? milliseconds - 0.9 : milliseconds, callback);
      }
    }
    const store = new LeaseStore();
    const clock = new EarlyClock();
    const a = candidate(store, 'a', clock);
    await contend(a, clock);
    store.answerAfter = new Promise(() => {});
    await clock.advance(10_001);
    expect(a.signal.aborted).toBe(true);
  });

  it('survives a failure that is shorter than the renew deadline', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const a = candidate(store, 'a', clock);
    await contend(a, clock);
    store.failure = new ConnectionError({ doing: 'test', failure: 'reset', message: 'away', hint: '' });
    await clock.advance(7_000);
    store.failure = undefined;
    await clock.advance(20_000);
    expect(a.leading).toBe(true);
  });

  it('keeps leading if a renewal was written but its answer was lost', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const client = store.client('a');
    let lost = 0;
    const a = new LeaderElection({
      client: {
        ...client,
        async update(resource, lease, options) {
          const written = await client.update(resource, lease, options);
          if (lost > 0) return written;
          lost += 1;
          await sleep(clock, options?.timeoutMilliseconds ?? 30_000);
          throw new ConnectionError({ doing: 'test', failure: 'timeout', message: 'no answer', hint: '' });
        },
      },
      lease: { namespace: 'default', name: 'lock' },
      identity: 'a',
      clock,
    });
    await contend(a, clock);
    await clock.advance(30_000);
    expect(lost).toBe(1);
    expect(a.leading).toBe(true);
  });

  const ends: { reason: string; meanwhile: (store: LeaseStore, clock: FakeClock) => void }[] = [
    { reason: 'was stopped past its lease (SIGSTOP)', meanwhile: (_store, clock) => clock.jump(20_000) },
    {
      reason: 'slept with its machine, where only the wall clock went on',
      meanwhile: (_store, clock) => clock.stepWallClock(20_000),
    },
    {
      reason: 'finds another holder in the lease',
      meanwhile: (store) => {
        if (store.lease !== undefined) store.write('b', { ...store.lease, spec: { holderIdentity: 'b' } });
      },
    },
    {
      reason: 'finds the lease deleted',
      meanwhile: (store) => {
        store.lease = undefined;
      },
    },
  ];
  for (const { reason, meanwhile } of ends) {
    it(`loses for good, and writes nothing more, a leader that ${reason}`, async () => {
      const store = new LeaseStore();
      const clock = new FakeClock();
      const a = candidate(store, 'a', clock);
      await contend(a, clock);
      meanwhile(store, clock);
      const writes = store.writes.filter((name) => name === 'a').length;
      await clock.advance(2_000);
      expect(a.leading).toBe(false);
      expect(a.signal.aborted).toBe(true);
      await clock.advance(60_000);
      await a.release();
      expect(store.writes.filter((name) => name === 'a')).toHaveLength(writes);
    });
  }

  for (const wallClock of ['goes on', 'is set back']) {
    it(`ignores a renewal whose answer it read only after it was stopped, while the wall clock ${wallClock}`, async () => {
      const store = new LeaseStore();
      const clock = new FakeClock();
      const a = candidate(store, 'a', clock);
      await contend(a, clock);
      let answer = () => {};
      store.answerAfter = new Promise((resolve) => {
        answer = resolve;
      });
      await clock.advance(2_000);
      clock.jump(15_000);
      if (wallClock === 'is set back') clock.stepWallClock(-15_000);
      answer();
      await clock.advance(0);
      expect(a.leading).toBe(false);
      expect(a.signal.aborted).toBe(true);
    });
  }

  it('keeps leading if the wall clock is set back or the Lease is labelled', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const a = candidate(store, 'a', clock);
    await contend(a, clock);
    clock.stepWallClock(-3_600_000);
    if (store.lease !== undefined) {
      store.write('someone', { ...store.lease, metadata: { ...store.lease.metadata, labels: { a: 'b' } } });
    }
    await clock.advance(30_000);
    expect(a.leading).toBe(true);
  });

  it('releases the Lease, so that the next candidate leads at its next attempt', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const a = candidate(store, 'a', clock);
    await contend(a, clock);
    const b = candidate(store, 'b', clock);
    await contend(b, clock);
    await a.release();
    expect(a.leading).toBe(false);
    expect(store.lease?.spec).not.toHaveProperty('holderIdentity');
    await clock.advance(2_000);
    expect(b.leading).toBe(true);
    expect(b.term).toBe(1);
  });

  it('waits for a known leader to expire even if the Lease is deleted', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const silent = new FakeClock();
    await contend(candidate(store, 'a', silent), silent);
    const b = candidate(store, 'b', clock);
    await contend(b, clock);
    store.lease = undefined;
    await clock.advance(14_000);
    expect(b.leading).toBe(false);
    await clock.advance(2_000);
    expect(b.leading).toBe(true);
  });

  it('does not restart the terms if the lease it has seen is deleted', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    const silent = new FakeClock();
    await contend(candidate(store, 'a', silent), silent);
    if (store.lease !== undefined) store.lease.spec = { ...store.lease.spec, leaseTransitions: 7 };
    const b = candidate(store, 'b', clock);
    const c = candidate(store, 'c', clock);
    await contend(b, clock);
    await contend(c, clock);
    store.lease = undefined;
    await clock.advance(16_000);
    expect(b.term).toBe(8);
    // A candidate that had not seen the Lease created a new one, and then stopped.
    store.lease = undefined;
    const stranger = candidate(store, 'd', silent);
    await contend(stranger, silent);
    expect(stranger.term).toBe(0);
    await clock.advance(20_000);
    expect(c.leading).toBe(true);
    expect(c.term).toBe(9);
  });

  it('stops acquiring on request', async () => {
    const store = new LeaseStore();
    const clock = new FakeClock();
    await contend(candidate(store, 'a', clock), clock);
    const stop = new AbortController();
    const acquired = candidate(store, 'b', clock).acquire(stop.signal);
    await clock.advance(100);
    stop.abort();
    expect(await acquired).toBe(false);
  });

  const wrong = [
    { reason: 'a lease of a broken second', options: { leaseDurationMilliseconds: 1500 } },
    { reason: 'a deadline past the lease', options: { renewDeadlineMilliseconds: 15_000 } },
    { reason: 'a retry as long as the deadline', options: { retryPeriodMilliseconds: 10_000 } },
  ];
  for (const { reason, options } of wrong) {
    it(`refuses ${reason}`, () => {
      const client = new LeaseStore().client('a');
      expect(() => new LeaderElection({ client, lease: { namespace: 'n', name: 'l' }, ...options })).toThrow(
        ConfigError,
      );
    });
  }
});

describe('fenced', () => {
  it('rejects every kind of write once the Lease is lost, and passes reads', async () => {
    const calls: string[] = [];
    const note = (name: string) => async () => {
      calls.push(name);
      return {};
    };
    const inner = {
      get: note('get'),
      list: note('list'),
      create: note('create'),
      update: note('update'),
      patch: note('patch'),
      apply: note('apply'),
      delete: note('delete'),
      request: note('request'),
      impersonate: () => inner,
    } as unknown as Client;
    let remaining = 500;
    const client = fenced(inner, { remainingMilliseconds: () => remaining, signal: new AbortController().signal });
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    const writes: [string, () => Promise<unknown>][] = [
      ['create', () => client.create(configMaps, object)],
      ['update', () => client.update(configMaps, object)],
      ['patch', () => client.patch(configMaps, { name: 'a' }, { type: 'merge', body: {} })],
      ['apply', () => client.apply(configMaps, object, { fieldManager: 'test' })],
      ['delete', () => client.delete(configMaps, { name: 'a' })],
      ['request', () => client.request({ method: 'POST', path: '/' })],
      ['create', () => client.impersonate({ user: 'u' }).create(configMaps, object)],
    ];
    for (const [, write] of writes) await write();
    expect(calls).toEqual(writes.map(([name]) => name));
    remaining = 0;
    calls.length = 0;
    for (const [, write] of writes) await expect(write()).rejects.toBeInstanceOf(FenceError);
    await client.get(configMaps, { name: 'a' });
    await client.list(configMaps);
    await client.request({ method: 'GET', path: '/' });
    expect(calls).toEqual(['get', 'list', 'request']);
  });
});
