/**
 * The report sink, on every replica: updates the status by compare-and-swap, records events and returns the outcome.
 */
import { deployableKinds, type Kind } from '../../api/index.ts';
import {
  type BrokerEvent,
  HEARTBEAT_TYPE,
  type ReportOutcome,
  type ReportSink,
  STATUS_TYPE,
  type StatusEvent,
  type StatusReport,
  type VerifiedBroker,
} from '../../broker/index.ts';
import { ApiError, type Client, type Clock, type EventRecorder, isConflict, isNotFound } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import { type Unusable, writeConnectionSecret } from './connection-secret.ts';
import type { Deployable, Settings } from './deployable.ts';
import type { DeployableOptions } from './index.ts';
import type { Latest } from './latest.ts';
import type { DeployableMetrics } from './metrics.ts';
import { notesBetween } from './notes.ts';
import type { Receipts } from './receipts.ts';
import { applyReport, markReportMissed } from './reports.ts';
import { swapStatus, writeStatus } from './write-status.ts';

interface SinkParts {
  /** Not the leader's client: any replica applies a report, and compare-and-swap keeps the order. */
  readonly client: Client;
  /** The cached object, if any. */
  readonly cached: (kind: Kind, key: { namespace: string; name: string }) => Deployable | undefined;
  readonly latest: Latest;
  readonly receipts: Receipts;
  readonly connections: DeployableOptions['connections'];
  readonly decrypt: DeployableOptions['decrypt'];
  readonly events: DeployableOptions['events'];
  readonly recorder: Pick<EventRecorder, 'record'> | undefined;
  readonly metrics: DeployableMetrics;
  readonly settings: Settings;
  readonly clock: Clock;
}

/** The number of attempts on conflicts; after that the report must be redelivered. */
const mostTries = 20;

export function reportSink(parts: SinkParts): ReportSink {
  return {
    async receive(event: BrokerEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome> {
      if (event.type === STATUS_TYPE) return new ReportHandler(parts, event, from, signal).take();
      const { events } = parts;
      if (events === undefined) return refused('invalid', 'this event type is not supported here');
      try {
        return await (event.type === HEARTBEAT_TYPE
          ? events.heartbeat(event, from, signal)
          : events.usage(event, from, signal));
      } catch (error) {
        // An event that violates the schema will not be valid when redelivered.
        if (error instanceof ApiError && error.status === 422) return refused('invalid', error.message);
        throw error;
      }
    },
    recordMissed: (event, reason, signal) => miss(parts, event, reason, signal),
  };
}

/** Reads the cache only: forged reports must not cause requests to the API server. */
async function miss(
  { client, cached, latest, recorder, clock }: SinkParts,
  { data: report }: StatusEvent,
  reason: string,
  signal?: AbortSignal,
): Promise<void> {
  const { kind: wanted, namespace, name } = report.resource;
  const kind = deployableKinds.find((each) => each.kind === wanted);
  const known = kind === undefined ? undefined : cached(kind, { namespace, name });
  if (kind === undefined || known === undefined) return;
  const object = latest.of(known);
  if (markReportMissed(object, report, clock.now()) === undefined) return;
  let isMissed = false;
  const change = (fresh: Deployable) => {
    const status = markReportMissed(fresh, report, clock.now());
    isMissed = status !== undefined;
    return status ?? fresh.status ?? {};
  };
  try {
    const written = await swapStatus(client, kind.resource, object, change, signal);
    latest.keep(written);
    if (!isMissed) return;
    recorder?.record({
      regarding: written,
      type: 'Warning',
      reason: 'ReportRefused',
      action: 'Report',
      note: `A report claiming to be from Broker ${report.broker} failed verification (${reason}); the broker is queried once it is verified. Check that spec.identity of the Broker lists its keys`,
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

type Refusal = Extract<ReportOutcome, { result: 'refused' }>;

const refused = (code: Refusal['code'], message: string): Refusal => ({ result: 'refused', code, message });

/** Handles one report. */
class ReportHandler {
  readonly #parts: SinkParts;
  readonly #event: StatusEvent;
  readonly #from: VerifiedBroker;
  readonly #signal: AbortSignal | undefined;

  constructor(parts: SinkParts, event: StatusEvent, from: VerifiedBroker, signal: AbortSignal | undefined) {
    this.#parts = parts;
    this.#event = event;
    this.#from = from;
    this.#signal = signal;
  }

  async take(): Promise<ReportOutcome> {
    const { kind: wanted, namespace, name, uid } = this.#event.data.resource;
    const kind = deployableKinds.find((each) => each.kind === wanted);
    if (kind === undefined) return this.#finish(refused('unknown-object', `${wanted} is not a deployable kind`));
    const cached = this.#parts.cached(kind, { namespace, name });
    const known = cached === undefined || cached.metadata.uid !== uid ? undefined : this.#parts.latest.of(cached);
    let object = known ?? (await this.#read(kind));
    let isLive = known === undefined;
    for (let tries = 1; ; tries += 1) {
      if (object === undefined || object.metadata.uid !== uid) return this.#gone();
      const taken = await this.#tryApply(kind, object, isLive);
      if (taken !== 'retry') return taken;
      if (tries === mostTries) {
        throw new Error(`${wanted} ${namespace}/${name} keeps changing; redeliver the report`);
      }
      // A random delay keeps the same writers from conflicting again.
      if (tries > 2) await sleep(this.#parts.clock, Math.random() * 20 * tries, this.#signal);
      this.#signal?.throwIfAborted();
      object = await this.#read(kind);
      isLive = true;
    }
  }

  async #tryApply(kind: Kind, object: Deployable, isLive: boolean): Promise<ReportOutcome | 'retry'> {
    const { client, clock, settings, latest, receipts, connections: enabled, decrypt } = this.#parts;
    const { data: report, time } = this.#event;
    const isReceived = (id: string) => receipts.dueOf(object.metadata.uid ?? '', id) !== undefined;
    const context = { from: this.#from.name, time, now: clock.now(), settings, isReceived };
    const first = applyReport(object, report, context);
    if (first.outcome.result === 'refused') return isLive ? this.#finish(first.outcome, object) : 'retry';
    if (first.status === undefined) return this.#finish(first.outcome, object);
    const parts = { client, enabled, decrypt, signal: this.#signal };
    const connection = await writeConnectionSecret(object, report, parts);
    const isUsable = !('problem' in connection);
    const said = isUsable ? report : failureOf(report, connection);
    const { outcome, status } = applyReport(object, said, {
      ...context,
      ...(isUsable && connection.secret !== undefined ? { connectionSecret: connection.secret } : {}),
    });
    if (status === undefined) return this.#finish(outcome, object);
    try {
      const written = await writeStatus(client, kind.resource, object, status, this.#signal);
      latest.keep(written);
      return isUsable ? this.#finish(outcome, object, written) : this.#unusable(connection, said, object, written);
    } catch (error) {
      if (isConflict(error)) return 'retry';
      if (isNotFound(error)) return this.#gone();
      if (error instanceof ApiError && error.status === 422)
        return this.#finish(refused('invalid', error.message), object);
      throw error;
    }
  }

  async #read(kind: Kind): Promise<Deployable | undefined> {
    const { namespace, name } = this.#event.data.resource;
    const options = this.#signal === undefined ? {} : { signal: this.#signal };
    try {
      return await this.#parts.client.get<Deployable>(kind.resource, { namespace, name }, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** A deletion may be reported again after the object is deleted. */
  #gone(): ReportOutcome {
    const { phase, resource } = this.#event.data;
    if (phase === 'deleted') return this.#finish({ result: 'duplicate' });
    const { kind, namespace, name, uid } = resource;
    return this.#finish(refused('unknown-object', `${kind} ${namespace}/${name} with uid ${uid} does not exist`));
  }

  /** The broker learns that its credentials were rejected, and the owner of the object what to do. */
  #unusable({ problem, taken }: Unusable, said: StatusReport, before: Deployable, after: Deployable): ReportOutcome {
    this.#parts.recorder?.record({
      regarding: after,
      type: 'Warning',
      reason: taken === true ? 'ConnectionSecretTaken' : 'CredentialsRefused',
      action: 'Report',
      note: problem,
    });
    return this.#finish(refused('invalid', problem), before, after, said);
  }

  #finish(
    outcome: ReportOutcome,
    before?: Deployable,
    after?: Deployable,
    report: StatusReport = this.#event.data,
  ): ReportOutcome {
    const { metrics, recorder } = this.#parts;
    const { kind } = report.resource;
    const { phase } = this.#event.data;
    metrics.reported(this.#from.name, phase, outcome.result === 'refused' ? outcome.code : outcome.result);
    const result = { ...outcome, ...phasesOf(before, after) };
    if (before === undefined || after?.status === undefined) return result;
    if (report.phase === 'failed') metrics.failed(kind, this.#from.name, report.error?.class ?? 'transient');
    if (report.phase === 'drifted') metrics.failed(kind, this.#from.name, 'drift');
    for (const note of notesBetween(before.status, after.status)) recorder?.record({ regarding: after, ...note });
    return result;
  }
}

/** A deployment whose credentials cannot be stored is unusable, so it counts as failed. */
function failureOf({ credentials: _, ...report }: StatusReport, unusable: Unusable): StatusReport {
  const { problem: message, class: kind = 'permanent' } = unusable;
  return { ...report, phase: 'failed', message, error: { class: kind, code: 'connection-secret', message } };
}

/** The phases for the audit log of the transport. */
function phasesOf(before: Deployable | undefined, after: Deployable | undefined): { before?: string; after?: string } {
  const [from, to] = [before?.status?.phase, (after ?? before)?.status?.phase];
  return { ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) };
}
