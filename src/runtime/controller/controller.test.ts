/**
 * How a controller handles failures, with a fake clock. Controllers on a real API server:
 * test/runtime/controller.test.ts.
 */
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Client } from '../client/client.ts';
import { ApiError, ConfigError, FenceError } from '../errors.ts';
import { Manager, stopSignal } from '../manager/manager.ts';
import type { KubernetesObject, ObjectKey } from '../objects/object.ts';
import type { ReflectorHandlers } from '../reflector/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { FakeClock, settle } from '../testing/index.ts';
import { controllerManagedBy } from './builder.ts';
import { Caches } from './caches.ts';
import { Controller, type ControllerOptions, type WatchedSource } from './controller.ts';
import { toItself } from './mappers.ts';
import type { Reconcile } from './reconcile.ts';

const widgets = { group: 'test', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true };
const widget = (name: string): KubernetesObject => ({
  apiVersion: 'test/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'n' },
});

class Diary implements Logger {
  lines: string[] = [];
  debug = (message: string) => void this.lines.push(message);
  info = this.debug;
  warn = this.debug;
  error = this.debug;
  with = () => this;
}

async function started(reconcile: Reconcile, options: ControllerOptions = {}, source: Partial<WatchedSource> = {}) {
  const clock = new FakeClock();
  const log = new Diary();
  const stop = new AbortController();
  let handlers: ReflectorHandlers<KubernetesObject> = {};
  let subscribed = 0;
  const caches = {
    subscribe(_resource: unknown, _selection: unknown, given: ReflectorHandlers<KubernetesObject>) {
      handlers = given;
      subscribed += 1;
      return () => {
        subscribed -= 1;
      };
    },
    syncedOf: async () => {},
  } as unknown as Caches;
  const controller = new Controller({
    name: 'test',
    sources: [{ resource: widgets, selection: {}, mapper: toItself, predicates: [], ...source }],
    reconcile,
    options,
    caches,
    client: {} as Client,
    clock,
    log,
    metrics: undefined,
  });
  const ended = controller.start(stop.signal);
  await settle();
  return { clock, log, stop, ended, controller, handlers, subscriptions: () => subscribed };
}

describe('a controller', () => {
  const rows: { reason: string; fails: unknown; again: number; line: string }[] = [
    { reason: 'an error', fails: new Error('x'), again: 5, line: 'reconcile failed; requeued' },
    { reason: 'what is no error', fails: 'x', again: 5, line: 'reconcile failed; requeued' },
    {
      reason: 'a server that asks to wait',
      fails: new ApiError({ doing: '', status: 429, reason: 'TooManyRequests', message: '', retryAfterSeconds: 7 }),
      again: 7000,
      line: 'reconcile failed; requeued',
    },
    {
      reason: 'a conflict',
      fails: new ApiError({ doing: '', status: 409, reason: 'Conflict', message: '' }),
      again: 5,
      line: 'reconcile conflict; requeued',
    },
    {
      reason: 'a fence that may stand again with the next renewal',
      fails: new FenceError('gone'),
      again: 5,
      line: 'reconcile aborted; this process lost the right to write',
    },
  ];
  for (const { reason, fails, again, line } of rows) {
    it(`after ${reason}: again after ${again} ms`, async () => {
      let calls = 0;
      const { clock, log, controller } = await started(async () => {
        calls += 1;
        if (calls === 1) throw fails;
      });
      controller.enqueue({ namespace: 'n', name: 'a' });
      await settle();
      expect(log.lines).toContain(line);
      await clock.advance(again - 1);
      expect(calls).toBe(1);
      await clock.advance(1);
      expect(calls).toBe(2);
    });
  }

  it('treats an invalid requeue time as a failure', async () => {
    let calls = 0;
    const { clock, log, controller } = await started(async () => {
      calls += 1;
      return { requeueAfterMilliseconds: Number.NaN };
    });
    controller.enqueue({ name: 'a' });
    await clock.advance(100);
    expect(calls).toBeLessThan(6);
    expect(log.lines).toContain('reconcile failed; requeued');
  });

  it('enqueues the old and the new owner once each when an update moves an object', async () => {
    const asked: ObjectKey[] = [];
    const { handlers } = await started(
      async (key) => void asked.push(key),
      {},
      { mapper: (object) => [{ name: object.metadata.labels?.owner ?? 'nobody' }, { name: 'everybody' }] },
    );
    const of = (owner: string) => ({ ...widget('a'), metadata: { name: 'a', labels: { owner } } });
    handlers.updated?.(of('new'), of('old'));
    await settle();
    expect(asked.map(({ name }) => name).sort()).toEqual(['everybody', 'new', 'old']);
  });

  it('survives a mapper and a predicate that throw', async () => {
    let calls = 0;
    const { handlers, log } = await started(
      async () => {
        calls += 1;
      },
      {},
      {
        predicates: [
          ({ object }) => {
            if (object.metadata.name === 'bad') throw new Error('on purpose');
            return true;
          },
        ],
      },
    );
    handlers.added?.(widget('bad'), false);
    handlers.added?.(widget('good'), false);
    handlers.deleted?.(widget('good'));
    await settle();
    expect(calls).toBeGreaterThan(0);
    expect(log.lines).toContain('predicate or mapper failed; change ignored');
  });

  it('stops after the drain although a reconcile does not end', async () => {
    const signals: AbortSignal[] = [];
    const { clock, stop, ended, log, controller, subscriptions } = await started(
      (_key, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
      { drainMilliseconds: 5_000 },
    );
    controller.enqueue({ name: 'a' });
    await settle();
    stop.abort();
    await settle();
    expect(subscriptions()).toBe(0);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(5_000);
    expect(signals[0]?.aborted).toBe(true);
    await clock.advance(1_000);
    await ended;
    expect(log.lines).toEqual(['reconcile aborted; the controller is stopping', 'reconciled']);
  });

  it('does not drain if leadership is lost', async () => {
    const signals: AbortSignal[] = [];
    const { clock, stop, ended, controller } = await started((_key, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    controller.enqueue({ name: 'a' });
    await settle();
    stop.abort(new FenceError('lost'));
    await clock.advance(0);
    expect(signals[0]?.aborted).toBe(true);
    await ended;
    await clock.advance(100_000);
    expect(signals).toHaveLength(1);
  });
});

describe('configuration errors are reported at once', () => {
  const manager = () => new Manager({ client: {} as Client, registry: new Registry() });
  const nothing: Reconcile = async () => {};

  it('a controller that reconciles nothing', () => {
    expect(() => controllerManagedBy(manager(), 'idle').complete(nothing)).toThrow(ConfigError);
    expect(() => controllerManagedBy(manager(), 'orphan').owns(widgets).complete(nothing)).toThrow(ConfigError);
  });

  it('an index for a started cache, a read of an unknown one', () => {
    const hanging = { list: () => new Promise(() => {}) } as unknown as Client;
    const caches = new Caches(hanging, { clock: new FakeClock(), log: new Diary() });
    caches.request({ resource: widgets });
    expect(() => caches.store(widgets)).toThrow(expect.objectContaining({ code: 'config/cache-not-started' }));
    caches.start();
    expect(caches.store(widgets).size).toBe(0);
    caches.request({ resource: widgets });
    expect(() => caches.request({ resource: widgets, indexes: { a: () => [] } })).toThrow(ConfigError);
    caches.request({ resource: widgets, namespace: 'later' });
    expect(caches.store(widgets, { namespace: 'later' }).size).toBe(0);
    expect(caches.failing()).toEqual([]);
  });
});

it('stopSignal is aborted by the first SIGTERM', () => {
  const before = new Set(process.listeners('SIGINT'));
  const others = process.listeners('SIGTERM');
  const signal = stopSignal();
  const [ours] = process.listeners('SIGTERM').filter((listener) => !others.includes(listener));
  expect(signal.aborted).toBe(false);
  ours?.('SIGTERM');
  expect(signal.aborted).toBe(true);
  for (const listener of process.listeners('SIGINT')) if (!before.has(listener)) process.off('SIGINT', listener);
});
