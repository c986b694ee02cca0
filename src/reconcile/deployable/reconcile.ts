/**
 * One object, brought a step further: read, decide (next-step.ts), write, send, write that it was sent. It may be cut off after any of
 * these; whoever comes next goes on from what is stored.
 */
import { CLEANUP_FINALIZER, type Kind } from '../../api/index.ts';
import { type Dispatcher, parseDeploymentId, type RequestEvent } from '../../broker/index.ts';
import {
  addFinalizer,
  type Clock,
  type EventRecorder,
  isConflict,
  keyOf,
  type ObjectKey,
  type ReconcileContext,
  type Result,
  removeFinalizer,
} from '../../runtime/index.ts';
import type { Breakers } from './breakers.ts';
import type { BrokerFacts, Deployable, Facts, Note, OutboxEntry, Settings, Step } from './deployable.ts';
import type { Latest } from './latest.ts';
import { traceOf } from './message.ts';
import type { DeployableMetrics } from './metrics.ts';
import { nextStep } from './next-step.ts';
import { acknowledged, notAcknowledged } from './outbox.ts';
import type { OwnWrites } from './own-writes.ts';
import type { Receipts } from './receipts.ts';
import { swapStatus, writeStatus } from './write-status.ts';

interface DeployerParts {
  readonly kind: Kind;
  readonly facts: (object: Deployable) => Promise<Facts>;
  readonly message: (
    object: Deployable,
    entry: OutboxEntry,
    facts: Facts,
    broker: BrokerFacts,
  ) => Promise<RequestEvent>;
  readonly dispatcher: Dispatcher;
  /** Keeps what must outlive the object, before its finalizer goes. */
  readonly settle?: ((object: Deployable) => Promise<void>) | undefined;
  readonly breakers: Breakers;
  readonly latest: Latest;
  readonly ownWrites: OwnWrites;
  readonly receipts: Receipts;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly recorder: Pick<EventRecorder, 'record'> | undefined;
  readonly metrics: DeployableMetrics;
}

/** Where somebody else goes on being faster, it comes again this much later. */
const busyMilliseconds = 100;
const mostTries = 4;
/** Policies that are being read are there in a moment. */
const unknownMilliseconds = 1_000;
/** Where so many are worked on at a time, brokers take longer to report on them, */
const manyObjects = 8;
/** and an arrival is remembered for so many times as long before it is written: what is new goes first. */
const patience = 5;

export class Deployer {
  readonly #parts: DeployerParts;
  /** Objects that are being worked on now. */
  #active = 0;

  constructor(parts: DeployerParts) {
    this.#parts = parts;
  }

  async reconcile(key: ObjectKey, context: ReconcileContext): Promise<Result> {
    const { kind, latest } = this.#parts;
    const cached = await context.read.get<Deployable>(kind.resource, key);
    if (cached === undefined) {
      latest.forget(kind.kind, key);
      return undefined;
    }
    let object = latest.of(cached);
    for (let tries = 1; tries <= mostTries; tries += 1) {
      try {
        this.#active += 1;
        return await this.#advance(object, context);
      } catch (error) {
        if (!isConflict(error)) throw error;
      } finally {
        this.#active -= 1;
      }
      // What we went by is old; the cache will have it soon, the API server has it now.
      const found = await context.read.get<Deployable>(kind.resource, key, { live: true });
      if (found === undefined) return undefined;
      latest.keep(found);
      object = found;
    }
    return { requeueAfterMilliseconds: busyMilliseconds };
  }

  async #advance(object: Deployable, context: ReconcileContext): Promise<Result> {
    const { kind, latest, ownWrites, clock, facts: factsOf } = this.#parts;
    const { client } = context;
    const facts = await factsOf(object);
    let current = object;
    let step = nextStep(current, facts, clock.now());
    if (step.finalizer === 'add') {
      current = await addFinalizer(client, kind.resource, current, CLEANUP_FINALIZER);
      latest.keep(current);
      step = nextStep(current, facts, clock.now());
    }
    if (step.finalizer === 'remove') return this.#release(current, step, context);
    if (step.status !== current.status) {
      current = await writeStatus(client, kind.resource, current, step.status);
      latest.keep(current);
      ownWrites.expect(current);
      this.#recordStep(object, current, step, context);
    }
    const waits: number[] = facts.admission.admitted === 'unknown' ? [unknownMilliseconds] : [];
    const { object: settled, waits: untilWritten } = await this.#writeReceipts(current, context);
    current = settled;
    for (const entry of step.send) {
      if (this.#isReceived(current, entry)) continue;
      const { object: after, waitMilliseconds } = await this.#send(current, entry, facts, context);
      current = after;
      waits.push(waitMilliseconds);
    }
    const next = current === object ? step : nextStep(current, facts, clock.now());
    if (next.wakeAt !== undefined) waits.push(Math.max(0, next.wakeAt - clock.now()));
    // No event will tell of what was written here.
    if (current !== object && (next.status !== current.status || next.finalizer !== undefined)) waits.push(0);
    const wait = Math.min(...waits, ...untilWritten);
    return wait === Number.POSITIVE_INFINITY ? undefined : { requeueAfterMilliseconds: wait };
  }

  #isReceived({ metadata }: Deployable, { id }: OutboxEntry): boolean {
    return this.#parts.receipts.dueOf(metadata.uid ?? '', id) !== undefined;
  }

  /** Writes down what has arrived a while ago and no report has told yet. */
  async #writeReceipts(
    object: Deployable,
    { client }: ReconcileContext,
  ): Promise<{ object: Deployable; waits: number[] }> {
    const { kind, latest, receipts, clock } = this.#parts;
    const { uid = '' } = object.metadata;
    const outbox = object.status?.outbox ?? [];
    receipts.prune(
      uid,
      outbox.map(({ id }) => id),
    );
    const waits: number[] = [];
    let current = object;
    for (const { id } of outbox) {
      const due = receipts.dueOf(uid, id);
      if (due === undefined) continue;
      if (due > clock.now()) {
        waits.push(due - clock.now());
        continue;
      }
      current = await swapStatus(client, kind.resource, current, (fresh) => acknowledged(fresh, id, clock.now()));
      latest.keep(current);
    }
    return { object: current, waits };
  }

  /** Nothing is left of it, or somebody has answered for leaving it behind. */
  async #release(object: Deployable, step: Step, { client, log }: ReconcileContext): Promise<undefined> {
    const { kind, latest, metrics, settle } = this.#parts;
    await settle?.(object);
    await removeFinalizer(client, kind.resource, object, CLEANUP_FINALIZER);
    latest.forget(kind.kind, keyOf(object));
    this.#parts.receipts.prune(object.metadata.uid ?? '', []);
    this.#record(object, step.notes);
    const { deploymentId, targetRef } = object.status ?? {};
    const about = { kind: object.kind, uid: object.metadata.uid, deploymentId, broker: targetRef?.broker };
    if (step.notes.length === 0) {
      log.info('the object was released, nothing is left of it', about);
      return undefined;
    }
    metrics.abandoned(object.kind);
    log.warn('the object was released without a confirmation of its broker', { audit: true, ...about });
    return undefined;
  }

  #recordStep(before: Deployable, object: Deployable, step: Step, { log }: ReconcileContext): void {
    const { metrics } = this.#parts;
    this.#record(object, step.notes);
    const { status = {} } = object;
    if ((status.awaiting?.queries ?? 0) > (before.status?.awaiting?.queries ?? 0)) this.#logQuery(object, log);
    if (step.cause === undefined) return;
    metrics.decided(object.kind, step.cause);
    log.info('a deployment was decided on', { ...correlation(object), cause: step.cause, action: status.requested });
  }

  #logQuery(object: Deployable, log: ReconcileContext['log']): void {
    const { awaiting, targetRef } = object.status ?? {};
    if (awaiting?.overdue !== true) {
      log.info('a report of a broker may have been lost, and it is asked', correlation(object));
      return;
    }
    this.#parts.metrics.failed(object.kind, targetRef?.broker ?? '', 'timeout');
    log.warn('a broker has not answered in time and is asked', correlation(object));
  }

  #record(object: Deployable, notes: readonly Note[]): void {
    for (const note of notes) this.#parts.recorder?.record({ regarding: object, ...note });
  }

  async #send(
    object: Deployable,
    entry: OutboxEntry,
    facts: Facts,
    context: ReconcileContext,
  ): Promise<{ object: Deployable; waitMilliseconds: number }> {
    const { kind, dispatcher, breakers, clock, settings, latest, message, metrics, receipts } = this.#parts;
    const { client, signal } = context;
    const broker = facts.broker(object.status?.targetRef?.broker ?? '');
    if (broker === undefined) return { object, waitMilliseconds: Number.POSITIVE_INFINITY };
    const way = breakers.enter(broker.address.name, clock.now());
    if (!way.entered) return { object, waitMilliseconds: way.waitMilliseconds };
    const log = context.log.with({ ...correlation(object), messageId: entry.id });
    try {
      const event = await message(object, entry, facts, broker);
      const { channel } = await dispatcher.send(event, broker.address, { signal, urgent: object.spec.urgent === true });
      way.succeeded();
      metrics.acknowledged(object.kind, (clock.now() - Date.parse(entry.createdAt)) / 1000);
      log.info('a message was acknowledged', { channel, action: entry.action });
      const waitMilliseconds = settings.receiptMilliseconds * (this.#active < manyObjects ? 1 : patience);
      receipts.keep(object.metadata.uid ?? '', entry.id, clock.now() + waitMilliseconds);
      return { object, waitMilliseconds };
    } catch (failure) {
      way.failed(failure, clock.now());
      signal.throwIfAborted();
      const error = failure instanceof Error ? failure : new Error(String(failure));
      log.warn('a message was not acknowledged and stays in the outbox', { error, action: entry.action });
      const change = (fresh: Deployable) => notAcknowledged(fresh, entry.id, { error, now: clock.now(), settings });
      // Others may have written meanwhile, even a report on this very message.
      const after = await swapStatus(client, kind.resource, latest.of(object), change);
      latest.keep(after);
      return { object: after, waitMilliseconds: Number.POSITIVE_INFINITY };
    }
  }
}

/** What joins the lines of a log from the apply to the broker and back. */
function correlation(object: Deployable): Readonly<Record<string, unknown>> {
  const { deploymentId = '', targetRef } = object.status ?? {};
  return {
    kind: object.kind,
    ...keyOf(object),
    uid: object.metadata.uid,
    broker: targetRef?.broker,
    deploymentId,
    correlationId: deploymentId,
    generation: parseDeploymentId(deploymentId)?.generation,
    ...(deploymentId === '' ? {} : { traceparent: traceOf(deploymentId) }),
  };
}
