/**
 * A model test: an API server with compare-and-swap, a lagging cache, processes that are interrupted between any two
 * requests, lost, repeated and reordered messages and reports, and a broker with a ledger.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLEANUP_FINALIZER, database, RETRY_ANNOTATION } from '../../api/index.ts';
import {
  type BrokerEvent,
  ChannelError,
  compareDeployments,
  parseDeploymentId,
  type ReportedPhase,
  type RequestEvent,
  type StatusEvent,
  statusEvent,
} from '../../broker/index.ts';
import { ApiError, type Client, type Clock, type Reader, silentLogger } from '../../runtime/index.ts';
import { Breakers } from './breakers.ts';
import { type Admitted, type Deployable, defaultSettings, type Facts } from './deployable.ts';
import { Latest } from './latest.ts';
import { messageOf } from './message.ts';
import { deployableMetrics } from './metrics.ts';
import { OwnWrites } from './own-writes.ts';
import { Receipts } from './receipts.ts';
import { Deployer } from './reconcile.ts';
import { reportSink } from './sink.ts';

const key = { namespace: 'team', name: 'users' };
const conflict = () => new ApiError({ doing: 'patch', status: 409, reason: 'Conflict', message: 'changed' });
const notFound = () => new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: 'gone' });
const settings = { ...defaultSettings, retryMilliseconds: 1_000 };
const noMetrics = deployableMetrics({ registry: undefined, objects: () => undefined, now: () => 0 });

type Json = Record<string, unknown>;

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Json = { ...((target as Json | undefined) ?? {}) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merge(result[name], value);
  }
  return result;
}

/** An API server with one object. */
class ApiServer {
  object: Deployable | undefined;
  #version = 1;
  #uids = 0;
  /** Called when our finalizer is removed. */
  released = (_: Deployable) => {};

  create(): void {
    this.#uids += 1;
    this.#store({
      apiVersion: 'platform.company.com/v1',
      kind: 'Database',
      metadata: { ...key, uid: `uid-${this.#uids}`, generation: 1, finalizers: [CLEANUP_FINALIZER] },
      spec: { targetRef: { name: 'target' }, engine: 'postgresql', size: 0 },
    });
  }

  edit(change: (object: Deployable) => Deployable): void {
    if (this.object !== undefined) this.#store(change(structuredClone(this.object)));
  }

  changeSpec(): void {
    this.edit((object) => ({
      ...object,
      metadata: { ...object.metadata, generation: (object.metadata.generation ?? 0) + 1 },
      spec: { ...object.spec, size: Number(object.spec.size) + 1 },
    }));
  }

  remove(): void {
    if (this.object?.metadata.deletionTimestamp !== undefined) return;
    this.edit((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        generation: (object.metadata.generation ?? 0) + 1,
      },
    }));
  }

  patch(body: Json, subresource: string | undefined): Deployable {
    if (this.object === undefined) throw notFound();
    const { resourceVersion, uid, finalizers } = body.metadata as Json;
    if (resourceVersion !== this.object.metadata.resourceVersion || uid !== this.object.metadata.uid) throw conflict();
    const before = this.object;
    if (subresource === 'status') {
      this.#store({ ...before, status: merge(before.status, body.status) as NonNullable<Deployable['status']> });
    } else {
      const kept = finalizers as string[];
      if (!kept.includes(CLEANUP_FINALIZER)) this.released(before);
      this.#store({ ...before, metadata: { ...before.metadata, finalizers: kept } });
    }
    return structuredClone(this.object ?? before);
  }

  #store(object: Deployable): void {
    this.#version += 1;
    const { metadata } = object;
    const gone = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
    this.object = gone
      ? undefined
      : { ...object, metadata: { ...metadata, resourceVersion: String(this.#version).padStart(8, '0') } };
  }
}

interface BrokerRecord {
  id: string;
  action: 'Deploy' | 'Delete';
  state: 'claimed' | 'done' | 'failed' | 'deleted';
  phase: ReportedPhase;
}

/** A correct broker: ordered, deduplicating, with increasing sequence numbers. */
class ModelBroker {
  readonly ledger: { uid: string; id: string; action: string }[] = [];
  readonly records = new Map<string, BrokerRecord>();
  readonly reports: StatusEvent[] = [];
  /** The content of every message sent, by its id. */
  readonly contents = new Map<string, string>();
  #sequence = 0;

  receive(event: RequestEvent): void {
    const { data } = event;
    const { uid } = data.resource;
    const record = this.records.get(uid);
    if (data.action === 'Query') {
      if (record === undefined) this.#report(event, 'absent');
      else if (record.id === data.deploymentId) this.#report(event, record.phase);
      return;
    }
    if (record !== undefined) {
      const order = compareDeployments(parsed(data.deploymentId), parsed(record.id));
      if (order < 0) return;
      if (order === 0) {
        this.#report(event, record.phase);
        return;
      }
    }
    this.ledger.push({ uid, id: data.deploymentId, action: data.action });
    this.records.set(uid, { id: data.deploymentId, action: data.action, state: 'claimed', phase: 'accepted' });
    this.#report(event, 'accepted');
    this.#last.set(uid, event);
  }

  readonly #last = new Map<string, RequestEvent>();

  /** Executes the claimed work. */
  work(how: 'succeed' | 'transient' | 'permanent' | 'quota'): void {
    for (const [uid, record] of this.records) {
      const event = this.#last.get(uid);
      if (record.state !== 'claimed' || event === undefined) continue;
      if (how === 'succeed') {
        record.state = record.action === 'Delete' ? 'deleted' : 'done';
        record.phase = record.action === 'Delete' ? 'deleted' : 'ready';
        this.#report(event, record.phase);
      } else {
        record.state = 'failed';
        record.phase = 'failed';
        this.#report(event, 'failed', how);
      }
    }
  }

  drift(): void {
    for (const [uid, record] of this.records) {
      const event = this.#last.get(uid);
      if (record.state !== 'done' || event === undefined || record.phase !== 'ready') continue;
      record.phase = 'drifted';
      this.#report(event, 'drifted');
    }
  }

  #report(event: RequestEvent, phase: ReportedPhase, failure?: 'transient' | 'permanent' | 'quota'): void {
    this.#sequence += 1;
    const { resource, deploymentId, broker } = event.data;
    const error = { class: failure ?? 'transient', code: 'Broken', message: 'it broke' } as const;
    this.reports.push(
      statusEvent({
        broker,
        deploymentId,
        resource,
        sequence: this.#sequence,
        phase,
        ...(phase === 'failed' ? { error } : {}),
      }),
    );
  }
}

const parsed = (id: string) => {
  const found = parseDeploymentId(id);
  if (found === undefined) throw new Error(`${id} is not a deployment`);
  return found;
};

/** A request of a process that is not answered yet. */
interface Pending {
  readonly process: Process;
  /** `lost`: it took effect, but the answer was lost. `dropped`: it never arrived. */
  settle(how: 'done' | 'lost' | 'dropped'): void;
}

class Process {
  alive = true;
  cache: Deployable | undefined;
  readonly latest = new Latest();
  readonly ownWrites = new OwnWrites();
  readonly receipts = new Receipts();
  readonly deployer: Deployer;
  readonly take: (event: BrokerEvent) => Promise<unknown>;
  readonly miss: (event: StatusEvent) => Promise<unknown>;
  reconciling: Promise<unknown> | undefined;
  /** When it reconciles without an event; at once after a start or an event. */
  #dueAt: number | undefined = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.cache = structuredClone(world.api.object);
    this.deployer = new Deployer({
      kind: database,
      facts: async () => world.facts(),
      message: async (object, entry, facts, { address }) =>
        messageOf(object, entry, facts, address, {}, world.clock.now()),
      dispatcher: {
        send: async (event) => {
          await this.#ask(
            () => world.sent(event),
            () => new ChannelError({ channel: 'Kafka', failure: 'timeout', message: 'no answer' }),
          );
          return { channel: 'Kafka' as const };
        },
      },
      breakers: new Breakers({ failures: 3 }),
      latest: this.latest,
      ownWrites: this.ownWrites,
      receipts: this.receipts,
      clock: world.clock,
      settings,
      recorder: undefined,
      metrics: noMetrics,
    });
    const sink = reportSink({
      client: this.client,
      cached: () => this.cache,
      latest: this.latest,
      receipts: this.receipts,
      connections: undefined,
      decrypt: undefined,
      events: undefined,
      recorder: undefined,
      metrics: noMetrics,
      settings,
      clock: world.clock,
    });
    this.take = (event) => sink.receive(event, { name: 'broker', channel: 'Kafka' });
    this.miss = async (event) => sink.recordMissed?.(event, 'unknown-key');
  }

  #ask<T>(effect: () => T, failure: () => Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#world.pending.push({
        process: this,
        settle: (how) => {
          // A request of a killed process may still take effect.
          if (how === 'dropped') return reject(failure());
          try {
            const answer = effect();
            if (how === 'lost') reject(failure());
            else resolve(answer);
          } catch (error) {
            reject(error as Error);
          }
        },
      });
    });
  }

  get client(): Client {
    const { api } = this.#world;
    const broken = () => new Error('connection lost');
    return {
      get: () =>
        this.#ask(() => {
          if (api.object === undefined) throw notFound();
          return structuredClone(api.object);
        }, broken),
      patch: (_resource: unknown, _key: unknown, patch: { body: Json }, options: { subresource?: string } = {}) =>
        this.#ask(() => api.patch(structuredClone(patch.body), options.subresource), broken),
    } as unknown as Client;
  }

  /** Lets its watch catch up. */
  catchUp(): void {
    const old = this.cache;
    this.cache = structuredClone(this.#world.api.object);
    if (this.cache === undefined || old === undefined) {
      this.#dueAt = 0;
    } else if (old.metadata.resourceVersion !== this.cache.metadata.resourceVersion) {
      if (this.ownWrites.isForeign({ type: 'updated', object: this.cache, old })) this.#dueAt = 0;
    }
  }

  rouse(): void {
    this.#dueAt = 0;
  }

  reconcileIfDue(): void {
    if (this.#dueAt !== undefined && this.#dueAt <= this.#world.time) this.reconcile();
  }

  reconcile(): void {
    if (this.reconciling !== undefined || !this.alive) return;
    this.#dueAt = undefined;
    const { client } = this;
    const read = {
      get: async (_resource: unknown, _key: unknown, options: { live?: boolean } = {}) =>
        options.live === true ? client.get(database.resource, key).catch(() => undefined) : this.cache,
    } as unknown as Reader;
    const abort = new AbortController();
    const context = { client, read, log: silentLogger, signal: abort.signal, failures: 0 };
    const running: Promise<unknown> = this.deployer
      .reconcile(key, context)
      .then((result) => this.#lookAfter(result?.requeueAfterMilliseconds))
      .catch(() => this.#lookAfter(1))
      .finally(() => {
        if (this.reconciling === running) this.reconciling = undefined;
      });
    this.reconciling = running;
  }

  #lookAfter(milliseconds: number | undefined): void {
    if (milliseconds === undefined) return;
    this.#dueAt = Math.min(this.#dueAt ?? Number.POSITIVE_INFINITY, this.#world.time + milliseconds);
  }
}

class World {
  time = Date.UTC(2026, 0, 1);
  readonly api = new ApiServer();
  readonly broker = new ModelBroker();
  readonly clock: Clock = {
    now: () => this.time,
    monotonic: () => this.time,
    schedule: (_, callback) => {
      queueMicrotask(callback);
      return () => {};
    },
  };
  readonly pending: Pending[] = [];
  readonly inFlight: RequestEvent[] = [];
  readonly everSent = new Set<string>();
  processes: Process[] = [];
  admission: Admitted = { admitted: true };
  paused = false;

  constructor() {
    // A violation must not be thrown into the process, which would handle it as an answer; `check` reports it.
    this.api.released = ({ metadata, status }) => {
      const record = this.broker.records.get(metadata.uid ?? '');
      const confirmed = record?.state === 'deleted' && record.id === status?.deploymentId;
      if (!confirmed && this.everSent.has(metadata.uid ?? ''))
        this.violations.push(`${metadata.uid} was released too early`);
    };
    this.api.create();
    this.processes = [new Process(this), new Process(this)];
  }

  facts(): Facts {
    return {
      admission: this.admission,
      owner: { end: 'none', path: [], costTags: {} },
      target: { request: { name: 'target', provider: 'test' }, broker: 'broker', takesOver: [] },
      broker: () => ({
        address: { name: 'broker', channel: 'Kafka', kafka: { requestTopic: 'r', statusTopic: 's' } },
        paused: this.paused,
      }),
      settings,
    };
  }

  sent(event: RequestEvent): void {
    const { action, spec, bindings, resource } = event.data;
    const content = JSON.stringify([action, spec, bindings]);
    const known = this.broker.contents.get(event.id);
    if ((known ?? content) !== content) this.violations.push(`${event.id} says two things`);
    this.broker.contents.set(event.id, content);
    this.everSent.add(resource.uid);
    this.inFlight.push(event);
  }

  readonly violations: string[] = [];

  check(): void {
    expect(this.violations).toEqual([]);
    const { status, metadata } = this.api.object ?? {};
    const { outbox = [], deploymentId, requested, lastReport } = status ?? {};
    expect(outbox.length, 'the outbox is bounded').toBeLessThanOrEqual(2);
    const message = `${deploymentId}/${requested}`;
    const settled = deploymentId === undefined || outbox.some(({ id }) => id === message);
    if (!settled) expect(this.broker.contents.has(message), `${message} is in the outbox until it was sent`).toBe(true);
    if (lastReport === undefined) return;
    const about = `${metadata?.uid} ${lastReport.deploymentId}`;
    expect(lastReport.sequence ?? 0, 'reports count upwards').toBeGreaterThanOrEqual(this.#heard.get(about) ?? 0);
    this.#heard.set(about, lastReport.sequence ?? 0);
  }

  readonly #heard = new Map<string, number>();

  async answerAll(): Promise<void> {
    for (await flush(); this.pending.length > 0; await flush()) {
      for (const { settle } of this.pending.splice(0)) settle('done');
    }
  }

  /** Changes policies or the Broker, and notifies the watchers. */
  surround({ admission = this.admission, paused = this.paused }: { admission?: Admitted; paused?: boolean }): void {
    this.admission = admission;
    this.paused = paused;
    for (const process of this.processes) process.rouse();
  }

  /** Ends all faults: everything in progress finishes, and remaining work is done. */
  async settle(): Promise<void> {
    if (this.admission.admitted !== true) this.surround({ admission: { admitted: true } });
    if (this.paused) this.surround({ paused: false });
    for (let round = 0; round < 400; round += 1) {
      for (const process of this.processes) process.catchUp();
      for (const { settle } of this.pending.splice(0)) settle('done');
      await flush();
      for (const event of this.inFlight.splice(0)) this.broker.receive(event);
      this.broker.work('succeed');
      for (const report of this.broker.reports.splice(0)) void this.processes[0]?.take(report).catch(() => {});
      await flush();
      if (this.pending.length > 0) continue;
      for (const process of this.processes) process.catchUp();
      const version = this.api.object?.metadata.resourceVersion;
      this.processes[0]?.reconcileIfDue();
      await flush();
      const quiet = this.pending.length === 0 && this.inFlight.length === 0 && this.broker.reports.length === 0;
      if (!quiet || version !== this.api.object?.metadata.resourceVersion) continue;
      const { status } = this.api.object ?? {};
      if (
        this.api.object === undefined ||
        (status?.phase === 'ready' &&
          status.awaiting === undefined &&
          status.observedGeneration === this.api.object.metadata.generation)
      )
        return;
      if (status?.phase === 'failed') this.retry();
      this.time += 11 * 60_000;
    }
  }

  #retries = 0;

  retry(): void {
    this.#retries += 1;
    this.api.edit((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        annotations: { ...object.metadata.annotations, [RETRY_ANNOTATION]: String(this.#retries) },
      },
    }));
  }

  bind(revision: number): void {
    const binding = { kind: 'Cache' as const, namespace: 'team', name: 'c', revision: String(revision) };
    this.api.edit((object) => ({ ...object, status: { ...object.status, bindings: [binding] } }));
  }
}

const flush = () => new Promise<void>((resolve) => setImmediate(resolve));

type Command = (world: World) => void | Promise<void>;
const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];
const which = fc.nat(7);

const commands: fc.Arbitrary<Command> = fc.oneof(
  // Without faults in between, so that later states are reached too.
  {
    weight: 6,
    arbitrary: which.map((n) => async (world: World) => {
      const process = at(world.processes, n);
      if (process === undefined) return;
      process.catchUp();
      process.reconcile();
      await world.answerAll();
    }),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, backwards]) => async (world: World) => {
      for (const event of world.inFlight.splice(n)) world.broker.receive(event);
      world.broker.work('succeed');
      const reports = world.broker.reports.splice(0);
      for (const report of backwards ? reports.reverse() : reports) {
        const taken = at(world.processes, n)?.take(report);
        await world.answerAll();
        await taken?.catch(() => world.broker.reports.push(report));
        world.check();
      }
    }),
  },
  { weight: 6, arbitrary: which.map((n) => (world: World) => at(world.processes, n)?.reconcile()) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(which, fc.constantFrom('done', 'done', 'done', 'lost', 'dropped'))
      .map(([n, how]) => (world: World) => {
        const [one] = world.pending.splice(n % Math.max(1, world.pending.length), 1);
        one?.settle(how as 'done');
      }),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, again]) => (world: World) => {
      const event = at(world.inFlight, n);
      if (event === undefined) return;
      if (!again) world.inFlight.splice(world.inFlight.indexOf(event), 1);
      world.broker.receive(event);
    }),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(which, which, fc.boolean()).map(([n, p, again]) => (world: World) => {
      const report = at(world.broker.reports, n);
      if (report === undefined) return;
      if (!again) world.broker.reports.splice(world.broker.reports.indexOf(report), 1);
      void at(world.processes, p)
        ?.take(report)
        // A report is redelivered until it is accepted.
        .catch(() => world.broker.reports.push(report));
    }),
  },
  {
    weight: 2,
    // The broker cannot be verified for a while: all its reports are lost, in order.
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, drifts]) => async (world: World) => {
      await world.answerAll();
      if (drifts) world.broker.drift();
      for (const report of world.broker.reports.splice(0).sort((a, b) => a.data.sequence - b.data.sequence)) {
        const missed = at(world.processes, n)?.miss(report);
        await world.answerAll();
        await missed;
      }
    }),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom('succeed', 'succeed', 'transient', 'permanent', 'quota').map((how) => (world: World) => {
      world.broker.work(how as 'succeed');
    }),
  },
  {
    weight: 4,
    arbitrary: which.map((n) => (world: World) => {
      const process = at(world.processes, n);
      if (process !== undefined) process.catchUp();
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, late]) => (world: World) => {
      const index = n % world.processes.length;
      const dead = world.processes[index];
      if (dead === undefined) return;
      dead.alive = false;
      // Pending requests may still arrive; nobody receives the answers.
      const left = world.pending.filter(({ process }) => process === dead);
      if (!late) for (const one of left) world.pending.splice(world.pending.indexOf(one), 1);
      world.processes[index] = new Process(world);
    }),
  },
  { weight: 2, arbitrary: fc.constant((world: World) => world.api.changeSpec()) },
  { weight: 1, arbitrary: fc.constant((world: World) => world.api.remove()) },
  {
    weight: 1,
    arbitrary: fc.constant((world: World) => {
      if (world.api.object === undefined) world.api.create();
    }),
  },
  { weight: 1, arbitrary: fc.constant((world: World) => world.broker.drift()) },
  { weight: 1, arbitrary: fc.constant((world: World) => world.retry()) },
  { weight: 1, arbitrary: which.map((n) => (world: World) => world.bind(n)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<Admitted>(
        { admitted: true },
        { admitted: false, reasons: ['no'] },
        { admitted: 'unknown', reasons: [] },
      )
      .map((admission) => (world: World) => {
        world.surround({ admission });
      }),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map((paused) => (world: World) => {
      world.surround({ paused });
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(1_000, 60_000, 11 * 60_000).map((milliseconds) => (world: World) => {
      world.time += milliseconds;
    }),
  },
);

describe('with any interruption, loss, repetition or reordering', () => {
  test('everything converges, and the ledger of the broker is in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(commands, { minLength: 10, maxLength: 120 }), async (list) => {
        const world = new World();
        for (const command of list) {
          await command(world);
          await flush();
          world.check();
        }
        await world.settle();
        world.check();
        const { object } = world.api;
        const { ledger, records } = world.broker;
        expect(ledger.map(({ id }) => id)).toEqual([...new Set(ledger.map(({ id }) => id))]);
        for (const uid of new Set(ledger.map((entry) => entry.uid))) {
          const done = ledger.filter((entry) => entry.uid === uid).map(({ id }) => parsed(id));
          expect(done.toSorted(compareDeployments)).toEqual(done);
          // Late effects of old messages change nothing.
          if (uid !== object?.metadata.uid) expect(records.get(uid)?.state, `${uid} is left behind`).toBe('deleted');
        }
        if (object === undefined) return;
        const { status, metadata } = object;
        expect(status).toMatchObject({ phase: 'ready', outbox: [], deployedGeneration: metadata.generation });
        expect(records.get(metadata.uid ?? '')?.phase, 'the last report of the broker was applied').toBe('ready');
        const last = ledger.findLast(({ uid }) => uid === metadata.uid);
        expect(last).toMatchObject({ id: status?.deploymentId, action: 'Deploy' });
        expect(parsed(last?.id ?? '').generation).toBe(metadata.generation);
      }),
      { numRuns: 160 },
    );
  });

  test('an object that is not admitted is never sent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(commands, { minLength: 10, maxLength: 60 }), fc.boolean(), async (list, known) => {
        const world = new World();
        Object.defineProperty(world, 'admission', {
          get: () => (known ? { admitted: false, reasons: ['no'] } : { admitted: 'unknown', reasons: [] }),
          set: () => {},
        });
        for (const command of list) {
          await command(world);
          await flush();
        }
        expect([...world.everSent]).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
