/**
 * Reconciles one object: read, decide (next-step.ts), write, send, record the send. It may be interrupted after any of
 * these; the next reconcile continues from the stored state.
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
  /** Persists data that must outlive the object, before its finalizer is removed. */
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

/** The requeue delay after repeated conflicts. */
const busyMilliseconds = 100;
const mostTries = 4;
/** Unsynced policies are usually ready within a moment. */
const unknownMilliseconds = 1_000;
/** With this many active objects, brokers take longer to report, */
const manyObjects = 8;
/** and an acknowledgement is held back for this many times as long, so that new work goes first. */
const patience = 5;

export class Deployer {
  readonly #parts: DeployerParts;
  /** The number of objects being reconciled. */
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
      // The object is stale; the API server has the current version.
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
    // Our own write causes no event, so the next step follows at once.
    if (current !== object && (next.status !== current.status || next.finalizer !== undefined)) waits.push(0);
    const wait = Math.min(...waits, ...untilWritten);
    return wait === Number.POSITIVE_INFINITY ? undefined : { requeueAfterMilliseconds: wait };
  }

  #isReceived({ metadata }: Deployable, { id }: OutboxEntry): boolean {
    return this.#parts.receipts.dueOf(metadata.uid ?? '', id) !== undefined;
  }

  /** Writes acknowledgements that no report has confirmed in time. */
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

  /** Removes the finalizer: the deployment is deleted, or a user accepted that it is left behind. */
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
      log.info('finalizer removed; deployment is deleted', about);
      return undefined;
    }
    metrics.abandoned(object.kind);
    log.warn('finalizer removed without cleanup confirmation from the broker', { audit: true, ...about });
    return undefined;
  }

  #recordStep(before: Deployable, object: Deployable, step: Step, { log }: ReconcileContext): void {
    const { metrics } = this.#parts;
    this.#record(object, step.notes);
    const { status = {} } = object;
    if ((status.awaiting?.queries ?? 0) > (before.status?.awaiting?.queries ?? 0)) this.#logQuery(object, log);
    if (step.cause === undefined) return;
    metrics.decided(object.kind, step.cause);
    log.info('deployment decided', { ...correlation(object), cause: step.cause, action: status.requested });
  }

  #logQuery(object: Deployable, log: ReconcileContext['log']): void {
    const { awaiting, targetRef } = object.status ?? {};
    if (awaiting?.overdue !== true) {
      log.info('broker report may be lost; querying broker', correlation(object));
      return;
    }
    this.#parts.metrics.failed(object.kind, targetRef?.broker ?? '', 'timeout');
    log.warn('broker did not answer in time; querying broker', correlation(object));
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
      log.info('message acknowledged', { channel, action: entry.action });
      const waitMilliseconds = settings.receiptMilliseconds * (this.#active < manyObjects ? 1 : patience);
      receipts.keep(object.metadata.uid ?? '', entry.id, clock.now() + waitMilliseconds);
      return { object, waitMilliseconds };
    } catch (failure) {
      way.failed(failure, clock.now());
      signal.throwIfAborted();
      const error = failure instanceof Error ? failure : new Error(String(failure));
      log.warn('message not acknowledged; kept in outbox', { error, action: entry.action });
      const change = (fresh: Deployable) => notAcknowledged(fresh, entry.id, { error, now: clock.now(), settings });
      // Others may have written meanwhile, even a report on this message.
      const after = await swapStatus(client, kind.resource, latest.of(object), change);
      latest.keep(after);
      return { object: after, waitMilliseconds: Number.POSITIVE_INFINITY };
    }
  }
}

/** Correlation fields that join the log lines from the apply to the broker and back. */
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
