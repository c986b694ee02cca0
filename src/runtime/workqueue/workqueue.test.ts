import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../testing/index.ts';
import { Workqueue, type WorkqueueMetrics } from './workqueue.ts';

type Step =
  | { do: 'add'; key: string }
  | { do: 'add later'; key: string; milliseconds: number }
  | { do: 'take' }
  | { do: 'finish'; which: number }
  | { do: 'wait'; milliseconds: number };

const keys = ['a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1'];
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key: fc.constantFrom(...keys) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('add later' as const),
      key: fc.constantFrom(...keys),
      milliseconds: fc.integer({ min: 1, max: 50 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('finish' as const), which: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), milliseconds: fc.integer({ min: 1, max: 40 }) }),
  },
);

/** A simple model of a queue, to which the real one is compared. */
class Model {
  now = 0;
  dirty = new Set<string>();
  processing: string[] = [];
  ready: string[] = [];
  delayed: { key: string; due: number }[] = [];
  takers = 0;
  handedOut: string[] = [];
  marks = 0;

  add(key: string): void {
    if (this.dirty.has(key)) return;
    this.dirty.add(key);
    this.marks += 1;
    if (!this.processing.includes(key)) this.ready.push(key);
    this.serve();
  }

  addLater(key: string, milliseconds: number): void {
    const due = this.now + milliseconds;
    const known = this.delayed.find((entry) => entry.key === key);
    if (known !== undefined && known.due <= due) return;
    this.delayed = this.delayed.filter((entry) => entry !== known);
    this.delayed.push({ key, due });
  }

  take(): void {
    this.takers += 1;
    this.serve();
  }

  finish(which: number): string | undefined {
    const key = this.processing[which % Math.max(1, this.processing.length)];
    if (key === undefined) return undefined;
    this.processing = this.processing.filter((other) => other !== key);
    if (this.dirty.has(key)) this.ready.push(key);
    this.serve();
    return key;
  }

  wait(milliseconds: number): void {
    this.now += milliseconds;
    const due = this.delayed.filter((entry) => entry.due <= this.now).sort((a, b) => a.due - b.due);
    this.delayed = this.delayed.filter((entry) => entry.due > this.now);
    for (const entry of due) this.add(entry.key);
  }

  private serve(): void {
    while (this.takers > 0 && this.ready.length > 0) {
      const key = this.ready.shift() ?? '';
      this.takers -= 1;
      this.dirty.delete(key);
      this.processing.push(key);
      this.handedOut.push(key);
    }
  }
}

/** Runs the steps on the real queue and on the model, then finishes all remaining keys in both. */
async function runBoth(steps: readonly Step[], groupOf?: (key: string) => string) {
  const clock = new FakeClock();
  const queue = new Workqueue({ clock, ...(groupOf === undefined ? {} : { groupOf }) });
  const model = new Model();
  const handedOut: string[] = [];
  const busy = new Set<string>();
  const overlaps: string[] = [];
  const take = () =>
    void queue.get().then((key) => {
      if (key === undefined) return;
      if (busy.has(key)) overlaps.push(key);
      busy.add(key);
      handedOut.push(key);
    });
  const finish = (key: string) => {
    busy.delete(key);
    queue.done(key);
  };
  const apply = async (action: Step) => {
    if (action.do === 'add') {
      queue.add(action.key);
      model.add(action.key);
    } else if (action.do === 'add later') {
      queue.addAfter(action.key, action.milliseconds);
      model.addLater(action.key, action.milliseconds);
    } else if (action.do === 'take') {
      take();
      model.take();
    } else if (action.do === 'wait') {
      await clock.advance(action.milliseconds);
      model.wait(action.milliseconds);
    } else {
      // With groups, the two hand out keys in a different order, so each finishes its own.
      const key = groupOf === undefined ? model.finish(action.which) : [...busy][action.which % Math.max(1, busy.size)];
      if (key !== undefined) finish(key);
    }
    await settle();
  };
  for (const action of steps) await apply(action);
  await apply({ do: 'wait', milliseconds: 1000 });
  for (let turn = 0; turn < 200 && (queue.depth > 0 || busy.size > 0); turn += 1) {
    if (queue.depth > 0) await apply({ do: 'take' });
    if (busy.size > 0) await apply({ do: 'finish', which: 0 });
  }
  return { queue, model, handedOut, overlaps };
}

describe('workqueue, compared with a model', () => {
  it('hands out the same keys in the same order, once for each mark, and never one key twice at a time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue, model, handedOut, overlaps } = await runBoth(steps);
        expect(overlaps).toEqual([]);
        expect(handedOut).toEqual(model.handedOut);
        expect(handedOut).toHaveLength(model.marks);
        expect(queue.depth).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  it('loses and overlaps nothing if groups take turns', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { handedOut, overlaps } = await runBoth(steps, (key) => key.slice(0, 1));
        const added = new Set(steps.flatMap((action) => ('key' in action ? [action.key] : [])));
        expect(overlaps).toEqual([]);
        expect(new Set(handedOut)).toEqual(added);
      }),
      { numRuns: 100 },
    );
  });

  it('lets no key wait for more than its own group before it times the number of groups', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(keys, { minLength: 1 }), async (order) => {
        const queue = new Workqueue({ clock: new FakeClock(), groupOf: (key) => key.slice(0, 1) });
        for (const key of order) queue.add(key);
        const taken: string[] = [];
        while (queue.depth > 0) taken.push((await queue.get()) ?? '');
        for (const key of order) {
          const group = order.filter((other) => other[0] === key[0]);
          const bound = (group.indexOf(key) + 1) * new Set(order.map((other) => other[0])).size;
          expect(taken.indexOf(key)).toBeLessThan(bound);
          expect(taken.filter((other) => other[0] === key[0])).toEqual(group);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('workqueue', () => {
  it('does not starve other keys if one key is added repeatedly', async () => {
    const queue = new Workqueue({ clock: new FakeClock() });
    const taken: string[] = [];
    queue.add('hot');
    queue.add('cold-1');
    queue.add('cold-2');
    for (let turn = 0; turn < 6; turn += 1) {
      const key = (await queue.get()) ?? '';
      taken.push(key);
      queue.add('hot');
      queue.done(key);
    }
    expect(taken).toEqual(['hot', 'cold-1', 'cold-2', 'hot', 'hot', 'hot']);
  });

  it('does not starve a group of one behind a group of a thousand', async () => {
    const queue = new Workqueue({ clock: new FakeClock(), groupOf: (key) => key.split('/')[0] ?? '' });
    for (let index = 0; index < 1000; index += 1) queue.add(`hot/${index}`);
    queue.add('cold/1');
    expect(await queue.get()).toBe('hot/0');
    expect(await queue.get()).toBe('cold/1');
  });

  it('backs off exponentially per key, until the key is forgotten', async () => {
    const clock = new FakeClock();
    const queue = new Workqueue({ clock, backoff: { baseMilliseconds: 10, maximumMilliseconds: 35 } });
    const waits: number[] = [];
    for (let failure = 0; failure < 4; failure += 1) {
      queue.addRateLimited('k');
      const before = clock.monotonic();
      while (queue.depth === 0) await clock.advance(1);
      waits.push(clock.monotonic() - before);
      queue.done((await queue.get()) ?? '');
    }
    expect(waits).toEqual([10, 20, 35, 35]);
    expect(queue.failures('k')).toBe(4);
    queue.forget('k');
    queue.addRateLimited('k');
    await clock.advance(10);
    expect(queue.depth).toBe(1);
  });

  it('limits the rate over all keys', async () => {
    const clock = new FakeClock();
    const queue = new Workqueue({
      clock,
      backoff: { baseMilliseconds: 1 },
      bucket: { tokensPerSecond: 10, burst: 2 },
    });
    for (let index = 0; index < 5; index += 1) queue.addRateLimited(`k${index}`);
    await clock.advance(1);
    expect(queue.depth).toBe(2);
    await clock.advance(100);
    expect(queue.depth).toBe(3);
    await clock.advance(200);
    expect(queue.depth).toBe(5);
  });

  it('keeps one timer for any number of delayed keys, and none when nothing is delayed', async () => {
    const clock = new FakeClock();
    const queue = new Workqueue({ clock });
    for (let index = 0; index < 500; index += 1) queue.addAfter(`k${index}`, 1000 - index);
    expect(clock.pending).toBe(1);
    await clock.advance(1000);
    expect(queue.depth).toBe(500);
    expect(await queue.get()).toBe('k499');
    expect(clock.pending).toBe(0);
  });

  it('shuts down: releases waiting workers, accepts no keys, and waits for keys in progress', async () => {
    const clock = new FakeClock();
    const queue = new Workqueue({ clock });
    queue.add('a');
    queue.add('b');
    const key = await queue.get();
    queue.addAfter('later', 10);
    let drained = false;
    const shutdown = queue.shutdown().then(() => {
      drained = true;
    });
    expect(await queue.get()).toBeUndefined();
    queue.add('c');
    queue.addRateLimited('c');
    await clock.advance(1000);
    expect(queue.depth).toBe(0);
    expect(drained).toBe(false);
    queue.done(key ?? '');
    await shutdown;
    expect(drained).toBe(true);
    const idle = new Workqueue({ clock });
    const waiting = idle.get();
    await idle.shutdown();
    expect(await waiting).toBeUndefined();
  });

  it('reports depth, adds, waits, work and retries', async () => {
    const clock = new FakeClock();
    const seen: [string, number][] = [];
    const metrics: WorkqueueMetrics = {
      depth: (keysWaiting) => seen.push(['depth', keysWaiting]),
      added: () => seen.push(['added', 1]),
      retried: () => seen.push(['retried', 1]),
      waited: (seconds) => seen.push(['waited', seconds]),
      worked: (seconds) => seen.push(['worked', seconds]),
    };
    const queue = new Workqueue({ clock, metrics });
    queue.add('a');
    await clock.advance(2000);
    const key = (await queue.get()) ?? '';
    await clock.advance(3000);
    expect(queue.running()).toEqual({ unfinishedSeconds: 3, longestSeconds: 3 });
    queue.done(key);
    queue.addRateLimited(key);
    expect(seen).toEqual([
      ['added', 1],
      ['depth', 1],
      ['waited', 2],
      ['depth', 0],
      ['worked', 3],
      ['retried', 1],
    ]);
  });
});
