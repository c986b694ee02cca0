/** With a client that only counts, and time that stands still: bounds and faults. On a real server: test/runtime/events.test.ts. */
import { describe, expect, it } from 'vitest';
import type { Client } from '../client/client.ts';
import { ApiError, ConfigError, ConnectionError } from '../errors.ts';
import { FakeClock } from '../testing/index.ts';
import type { EventInput } from './event-object.ts';
import { EventRecorder, type EventRecorderOptions } from './recorder.ts';

interface Sink {
  client: Client;
  calls: string[];
  failure: Error | undefined;
}

function sink(): Sink {
  const it: Sink = { calls: [], failure: undefined, client: undefined as unknown as Client };
  const answer = (call: string) => async () => {
    if (it.failure !== undefined) throw it.failure;
    it.calls.push(call);
    return {};
  };
  it.client = {
    create: (_resource: unknown, object: { series?: { count: number } }) =>
      answer(object.series === undefined ? 'create' : `create ${object.series.count}`)(),
    patch: (_resource: unknown, _key: unknown, { body }: { body: { series: { count: number } } }) =>
      answer(`patch ${body.series.count}`)(),
  } as unknown as Client;
  return it;
}

function input(name: string, reason = 'Ready'): EventInput {
  const regarding = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' } };
  return { regarding, type: 'Normal', reason, action: 'Test', note: 'note' };
}

async function started(to: Sink, options: Partial<EventRecorderOptions> = {}) {
  const clock = new FakeClock();
  const recorder = new EventRecorder({ client: to.client, reportingController: 'kidp/test', clock, ...options });
  const stop = new AbortController();
  const ended = recorder.start(stop.signal);
  await clock.advance(0);
  return { clock, recorder, stop, ended };
}

describe('event recorder', () => {
  it('creates the first, updates at the second at once, and then no more often than it should', async () => {
    const to = sink();
    const { clock, recorder } = await started(to, { updateMilliseconds: 10_000 });
    for (let count = 0; count < 2; count += 1) {
      recorder.record(input('a'));
      await clock.advance(100);
    }
    for (let count = 0; count < 50; count += 1) {
      recorder.record(input('a'));
      await clock.advance(100);
    }
    expect(to.calls).toEqual(['create', 'patch 2']);
    await clock.advance(10_000);
    expect(to.calls).toEqual(['create', 'patch 2', 'patch 52']);
    await clock.advance(60_000);
    expect(to.calls).toHaveLength(3);
  });

  it('starts over after six quiet minutes', async () => {
    const to = sink();
    const { clock, recorder } = await started(to);
    recorder.record(input('a'));
    await clock.advance(6 * 60_000);
    recorder.record(input('a'));
    await clock.advance(0);
    expect(to.calls).toEqual(['create', 'create']);
  });

  it('creates it again with its count where the server has forgotten it', async () => {
    const to = sink();
    const { clock, recorder } = await started(to);
    recorder.record(input('a'));
    await clock.advance(100);
    const { patch } = to.client;
    to.client.patch = async () => {
      throw new ApiError({ doing: 'test', status: 404, reason: 'NotFound', message: 'gone' });
    };
    recorder.record(input('a'));
    await clock.advance(100);
    to.client.patch = patch;
    expect(to.calls).toEqual(['create', 'create 2']);
  });

  it('tries again where the server is away, and gives up where it refuses', async () => {
    const to = sink();
    const { clock, recorder } = await started(to);
    to.failure = new ConnectionError({ doing: 'test', failure: 'refused', message: 'away', hint: '' });
    recorder.record(input('a'));
    await clock.advance(5_000);
    to.failure = undefined;
    await clock.advance(60_000);
    expect(to.calls).toEqual(['create']);
    to.failure = new ApiError({ doing: 'test', status: 403, reason: 'Forbidden', message: 'no' });
    recorder.record(input('b'));
    await clock.advance(100);
    to.failure = undefined;
    await clock.advance(60_000);
    expect(to.calls).toEqual(['create']);
    expect(recorder.dropped).toBe(1);
  });

  it('drops, and counts, what is too much about one object, and lets others through', async () => {
    const outcomes: string[] = [];
    const to = sink();
    const { clock, recorder } = await started(to, {
      perObject: { tokensPerSecond: 1, burst: 3 },
      onOutcome: (outcome) => outcomes.push(outcome),
    });
    for (let count = 0; count < 10; count += 1) recorder.record(input('noisy', `Reason${count}`));
    recorder.record(input('quiet'));
    await clock.advance(100);
    expect(to.calls).toHaveLength(4);
    expect(recorder.dropped).toBe(7);
    expect(outcomes.filter((outcome) => outcome === 'dropped')).toHaveLength(7);
  });

  it('limits what one user may cause, about one object and about many, and counts others on their own', async () => {
    const to = sink();
    const { clock, recorder } = await started(to);
    const by = (user: string, name: string, reason: string) => recorder.record({ ...input(name, reason), user });
    for (let count = 0; count < 150; count += 1) by('eve', 'same', 'Denied');
    await clock.advance(60_000);
    expect(to.calls.filter((call) => call.startsWith('create'))).toHaveLength(1);
    expect(to.calls.at(-1)).toBe('create 150');
    for (let count = 0; count < 150; count += 1) by('eve', `other-${count}`, 'Denied');
    await clock.advance(60_000);
    expect(to.calls.filter((call) => call.startsWith('create')).length).toBeLessThanOrEqual(30);
    const before = to.calls.length;
    by('ada', 'same', 'Denied');
    await clock.advance(100);
    expect(to.calls.slice(before)).toEqual(['create']);
  });

  it('holds no more than it may, and writes no faster, however many there are', async () => {
    const to = sink();
    const { clock, recorder } = await started(to, { maximumSeries: 10, writes: { tokensPerSecond: 1, burst: 1 } });
    for (let count = 0; count < 1000; count += 1) recorder.record(input(`a${count}`));
    expect(recorder.dropped).toBeGreaterThan(980);
    await clock.advance(5_000);
    expect(to.calls.length).toBeLessThanOrEqual(6);
    expect(to.calls.length).toBeGreaterThan(2);
  });

  it('writes what is left when it is stopped', async () => {
    const to = sink();
    const { clock, recorder, stop, ended } = await started(to);
    for (let count = 0; count < 5; count += 1) recorder.record(input('a'));
    await clock.advance(0);
    for (let count = 0; count < 5; count += 1) recorder.record(input('a'));
    stop.abort();
    await clock.advance(0);
    await ended;
    expect(to.calls.at(-1)).toBe('patch 10');
  });

  it('does not throw at its caller, whatever it is given', () => {
    const recorder = new EventRecorder({ client: sink().client, reportingController: 'kidp/test' });
    recorder.record({ ...input('a'), regarding: undefined as never });
    expect(recorder.dropped).toBe(1);
  });

  it('refuses a reporter the API would refuse each time', () => {
    expect(() => new EventRecorder({ client: sink().client, reportingController: 'not a name' })).toThrow(ConfigError);
  });
});
