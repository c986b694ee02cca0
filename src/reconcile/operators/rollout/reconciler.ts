/**
 * `RolloutReconciler` reconciles one OperatorDeployment: it takes the step that `decide/` returns. It writes the status
 * before it acts, so that the process can end at any point and the next one continues.
 */
import { operatorDeployment, REQUESTED_BY_ANNOTATION, ROLLOUT_FINALIZER } from '../../../api/index.ts';
import type { WorkContext } from '../../../fleet/index.ts';
import {
  addFinalizer,
  type Client,
  type Clock,
  type Condition,
  type EventRecorder,
  isConflict,
  isNotFound,
  type Logger,
  mergeConditions,
  type ObjectKey,
  type ReconcileContext,
  type Result,
  removeFinalizer,
  type Tracer,
} from '../../../runtime/index.ts';
import type { Latest } from '../../deployable/latest.ts';
import type { RolloutSettings } from '../settings.ts';
import type { ClusterSteps, ClusterTarget } from './act/cluster-steps.ts';
import { isFenced, toFailure } from './act/failures.ts';
import { PlanningBlocked, type PlanningOptions, planRollout } from './act/plan-rollout.ts';
import type { StepJob, StepRunner } from './act/step-runner.ts';
import { ownedClusters } from './decide/actions.ts';
import { nextStep } from './decide/next-step.ts';
import {
  checked,
  deployed,
  planned,
  prepared,
  reopened,
  restored,
  resumed,
  started,
  stepFailed,
  switched,
} from './decide/outcomes.ts';
import { eventsBetween } from './decide/report.ts';
import type { RolloutMetrics } from './metrics.ts';
import type { RetryTimes } from './retry-times.ts';
import {
  type Action,
  type ClusterAction,
  type ClusterStatus,
  type Facts,
  isClusterAction,
  isFinished,
  isTouched,
  type Rollout,
  type RolloutAction,
  type RolloutStatus,
  takesSlot,
} from './rollout.ts';
import { createApprovals } from './store/approvals.ts';
import type { RolloutLeases } from './store/leases.ts';
import { StatusWriter } from './store/status-writer.ts';
import { recordRolloutSpan, spanAttributes, traceIdOf, traceparentFor } from './trace.ts';

interface RolloutReconcilerOptions {
  /** A fenced client, for steps that outlive the reconcile that started them. */
  readonly client: Client;
  /** The newest version of each rollout that this process knows: the cache lags behind its own writes. */
  readonly latest: Latest<Rollout>;
  readonly retryTimes: RetryTimes;
  readonly facts: (object: Rollout) => Facts;
  readonly planning: PlanningOptions;
  readonly steps: ClusterSteps;
  readonly leases: RolloutLeases;
  readonly runner: StepRunner;
  readonly settings: RolloutSettings;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: Pick<EventRecorder, 'record'> | undefined;
  readonly metrics: RolloutMetrics;
  /** The delay before the first retry of a failed step. */
  readonly retryMilliseconds: number;
}

const maxTries = 4;
const conflictRetryMilliseconds = 100;
/** The factor on the retry delay for causes that will hardly go away within seconds. */
const slowRetryFactor = 10;

export class RolloutReconciler {
  readonly #parts: RolloutReconcilerOptions;
  readonly #statusWriter: StatusWriter;

  constructor(parts: RolloutReconcilerOptions) {
    this.#parts = parts;
    const { client, latest } = parts;
    this.#statusWriter = new StatusWriter(client, latest, (before, after) => this.#announce(before, after));
  }

  async reconcile(key: ObjectKey, context: ReconcileContext): Promise<Result> {
    const cached = await context.read.get<Rollout>(operatorDeployment.resource, key);
    if (cached === undefined) {
      this.#forget(key);
      return undefined;
    }
    let object = this.#parts.latest.of(cached);
    for (let tries = 1; tries <= maxTries; tries += 1) {
      try {
        return await this.#reconcileOnce(object, context);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error)) throw error;
      }
      // The cached object is stale. The API server has the current one.
      const found = await context.read.get<Rollout>(operatorDeployment.resource, key, { live: true });
      if (found === undefined) return undefined;
      this.#parts.latest.keep(found);
      object = found;
    }
    return { requeueAfterMilliseconds: conflictRetryMilliseconds };
  }

  async #reconcileOnce(object: Rollout, { client }: ReconcileContext): Promise<Result> {
    const { clock, runner, facts: factsOf } = this.#parts;
    const facts = factsOf(object);
    const written = await this.#statusWriter.update(object, (fresh) => nextStep(fresh, facts, clock.now()).status);
    const step = nextStep(written, facts, clock.now());
    if (step.finalizer === 'add') {
      this.#parts.latest.keep(await addFinalizer(client, operatorDeployment.resource, written, ROLLOUT_FINALIZER));
      return { requeueAfterMilliseconds: 0 };
    }
    if (step.finalizer === 'remove') {
      await removeFinalizer(client, operatorDeployment.resource, written, ROLLOUT_FINALIZER);
      if (written.metadata.deletionTimestamp !== undefined) return undefined;
      return { requeueAfterMilliseconds: conflictRetryMilliseconds };
    }
    const { name, uid = '' } = written.metadata;
    runner.sync(
      name,
      step.actions.map((action) => this.#job(written, action, uid)),
    );
    if (step.wakeAt === undefined) return undefined;
    return { requeueAfterMilliseconds: Math.max(0, step.wakeAt - clock.now()) };
  }

  #forget({ name }: ObjectKey): void {
    this.#parts.latest.forget(operatorDeployment.kind, { name });
    this.#parts.runner.sync(name, []);
  }

  #job(object: Rollout, action: Action, uid: string): StepJob {
    if (!isClusterAction(action)) {
      const run = (signal: AbortSignal) => this.#runRolloutAction(object, action, signal);
      return { key: uid, id: `${action.kind}/${uid}`, lane: 'whole', run };
    }
    const lane = action.kind === 'switch' ? 'install' : action.kind;
    const run = (signal: AbortSignal) => this.#runClusterAction(object, action, signal);
    return { key: `${uid}/${action.cluster}`, id: `${action.kind}/${action.attempt}/${action.cluster}`, lane, run };
  }

  async #runRolloutAction(object: Rollout, action: RolloutAction, signal: AbortSignal): Promise<void> {
    switch (action.kind) {
      case 'plan':
        return this.#plan(object, signal);
      case 'approvals':
        return this.#createApprovals(object);
      case 'start': {
        const clusters = (object.status?.clusters ?? []).filter(({ state }) => state !== 'Skipped');
        return this.#acquireAndStart(object, action, clusters, (fresh) => started(fresh, this.#parts.clock.now()));
      }
      case 'resume': {
        const { leases, clock } = this.#parts;
        const begin = () => this.#recordOutcome(object, (fresh) => resumed(fresh, clock.now()));
        return this.#logRefusal(object, action, await leases.resume(object, begin));
      }
      case 'reopen': {
        const facts = this.#parts.facts(object);
        const clusters = ownedClusters(object, facts).filter(isTouched);
        const { clock } = this.#parts;
        return this.#acquireAndStart(object, action, clusters, (fresh) => reopened(fresh, facts, action, clock.now()));
      }
    }
  }

  async #plan(object: Rollout, signal: AbortSignal): Promise<void> {
    const { planning, tracer, clock, retryTimes } = this.#parts;
    const traceparent = traceparentFor(object, tracer);
    const kept = ({ status }: Rollout) =>
      traceparent === '' ? {} : { traceparent: status?.traceparent ?? traceparent };
    try {
      const options = { attributes: spanAttributes(object), parent: traceparent };
      const found = await tracer.span('operator.validate', options, (span) =>
        planRollout(object, planning, { ...this.#context(object, signal), traceparent: span.traceparent }),
      );
      await this.#recordOutcome(object, (fresh) => ({ ...planned(fresh, found), ...kept(fresh) }));
    } catch (error) {
      if (!(error instanceof PlanningBlocked)) throw error;
      await this.#recordOutcome(object, (fresh) => ({ ...blockedBy(fresh, error, clock.now()), ...kept(fresh) }));
      // Causes that need requests to other servers are checked less often.
      retryTimes.delay(object, 'plan', error.isCostly ? slowRetryFactor : 1);
    }
  }

  async #createApprovals(object: Rollout): Promise<void> {
    const { client, settings, recorder, retryTimes } = this.#parts;
    const mismatched = await createApprovals(client, object, settings);
    for (const name of mismatched) {
      const note = `Approval ${name} does not match this rollout: delete it, and a new one is created`;
      recorder?.record({ regarding: object, type: 'Warning', reason: 'ApprovalMismatch', action: 'Approve', note });
    }
    // The cache has new Approvals within moments; a mismatched one stays until a user deletes it.
    retryTimes.delay(object, 'approvals', mismatched.length > 0 ? slowRetryFactor : 1);
  }

  async #acquireAndStart(
    object: Rollout,
    { kind }: RolloutAction,
    clusters: readonly ClusterStatus[],
    outcome: (fresh: Rollout) => RolloutStatus,
  ): Promise<void> {
    const names = clusters.map(({ name }) => name).sort();
    const refusal = await this.#parts.leases.start(object, names, () => this.#recordOutcome(object, outcome));
    this.#logRefusal(object, { kind }, refusal);
  }

  #logRefusal(object: Rollout, { kind }: Pick<RolloutAction, 'kind'>, refusal: string | undefined): void {
    if (refusal === undefined) return;
    this.#parts.log.info('rollout is waiting to start', { ...correlation(object), cause: refusal });
    this.#parts.retryTimes.delay(object, kind, slowRetryFactor);
  }

  async #runClusterAction(object: Rollout, action: ClusterAction, signal: AbortSignal): Promise<void> {
    const { steps, clock, log, metrics, retryMilliseconds } = this.#parts;
    const { cluster: name, attempt, kind } = action;
    const fields = { ...correlation(object), cluster: name, step: kind };
    const settle = (outcome: (fresh: Rollout) => RolloutStatus) => {
      signal.throwIfAborted();
      return this.#recordOutcome(object, outcome);
    };
    try {
      switch (kind) {
        case 'install': {
          const target = await this.#prepare(object, action, signal);
          if (target === undefined) return;
          const start = clock.monotonic();
          const done = await steps.install(target);
          metrics.installed(object.spec.operator, (clock.monotonic() - start) / 1000);
          log.info('operator deployed', fields);
          await settle((fresh) => deployed(fresh, name, attempt, done, clock.now()));
          return;
        }
        case 'switch':
          await steps.switchOver(this.#target(object, name, signal));
          log.info('traffic switched to the new version', fields);
          await settle((fresh) => switched(fresh, name, attempt, clock.now()));
          return;
        case 'check': {
          const found = await steps.check(this.#target(object, name, signal));
          await settle((fresh) => checked(fresh, name, attempt, found));
          return;
        }
        case 'restore': {
          const revision = await steps.restore(this.#target(object, name, signal));
          log.info('operator rolled back', fields);
          await settle((fresh) => restored(fresh, name, attempt, revision, clock.now()));
          return;
        }
      }
    } catch (error) {
      if (signal.aborted || isFenced(error)) return;
      const failure = toFailure(error);
      log.warn('cluster step failed', { ...fields, error, temporary: failure.temporary });
      if (kind === 'check') {
        const { message } = failure;
        await settle((fresh) =>
          checked(fresh, name, attempt, { state: 'Unknown', message, checkStartedAt: clock.now() }),
        );
        return;
      }
      await settle((fresh) => stepFailed(fresh, name, attempt, failure, clock.now(), retryMilliseconds));
    }
  }

  /** Records the previous release before anything is changed. Returns undefined if the step is no longer wanted. */
  async #prepare(
    object: Rollout,
    { cluster: name, attempt }: ClusterAction,
    signal: AbortSignal,
  ): Promise<ClusterTarget | undefined> {
    const { steps, clock } = this.#parts;
    const target = this.#target(object, name, signal);
    if (target.cluster.preparedAt !== undefined) return target;
    const previous = await steps.findPrevious(target);
    signal.throwIfAborted();
    const written = await this.#recordOutcome(object, (fresh) => prepared(fresh, name, attempt, previous, clock.now()));
    const cluster = clusterOf(written, name);
    if (cluster?.state !== 'Deploying' || cluster.attempt !== attempt || cluster.preparedAt === undefined)
      return undefined;
    return this.#target(written, name, signal);
  }

  #target(object: Rollout, name: string, signal: AbortSignal): ClusterTarget {
    const cluster = clusterOf(object, name);
    const plan = object.status?.plan;
    if (cluster === undefined || plan === undefined)
      throw new Error(`cluster ${name} is not part of OperatorDeployment ${object.metadata.name}`);
    const { recorder } = this.#parts;
    return {
      rollout: object,
      plan,
      cluster,
      context: this.#context(object, signal),
      onOutput: (line) =>
        recorder?.record({
          regarding: object,
          type: 'Normal',
          reason: 'HelmOutput',
          action: 'Helm',
          note: `${name}: ${line}`.slice(0, 1024),
        }),
    };
  }

  #context({ spec, metadata, status }: Rollout, signal: AbortSignal): WorkContext {
    const userId = metadata.annotations?.[REQUESTED_BY_ANNOTATION];
    const { traceparent } = status ?? {};
    return {
      operator: spec.operator,
      version: spec.version,
      ...(metadata.uid === undefined ? {} : { deploymentId: metadata.uid }),
      ...(userId === undefined ? {} : { userId }),
      ...(traceparent === undefined ? {} : { traceparent }),
      signal,
    };
  }

  /** Writes an outcome and everything that follows from it, in one write. */
  #recordOutcome(object: Rollout, outcome: (fresh: Rollout) => RolloutStatus): Promise<Rollout> {
    const { clock, facts } = this.#parts;
    return this.#statusWriter.update(object, (fresh) => nextStep(fresh, facts(fresh), clock.now(), outcome).status);
  }

  /** Publishes what a status write changed: events, log entries, metrics and the trace. */
  #announce(before: Rollout, after: Rollout): void {
    const { recorder, metrics, log, leases, retryTimes, tracer } = this.#parts;
    metrics.written(before, after);
    for (const { cluster, ...event } of eventsBetween(before.status ?? {}, after.status ?? {})) {
      recorder?.record({ regarding: after, action: 'Rollout', ...event });
      const fields = { ...correlation(after), ...(cluster === undefined ? {} : { cluster }), reason: event.reason };
      log.info('rollout progressed', { ...fields, note: event.note });
    }
    if (takesSlot(before.status ?? {}) && !takesSlot(after.status ?? {})) retryTimes.clearSlotWaits();
    if (!isFinished(after.status ?? {}) || isFinished(before.status ?? {})) return;
    recordRolloutSpan(tracer, before, after);
    void leases.release(after).catch((error: unknown) => {
      log.warn('failed to delete the Leases of a finished rollout; they no longer block others', {
        ...correlation(after),
        error,
      });
    });
  }
}

const clusterOf = ({ status }: Rollout, name: string): ClusterStatus | undefined =>
  status?.clusters?.find((each) => each.name === name);

function blockedBy({ status = {} }: Rollout, { reason, message }: PlanningBlocked, now: number): RolloutStatus {
  if (status.plan !== undefined) return status;
  const desired = { type: 'Planned', status: 'False', reason, message } as const;
  const { conditions } = mergeConditions(status.conditions as Condition[] | undefined, [desired], new Date(now));
  return { ...status, conditions };
}

/** The log fields that correlate the entries of one rollout (docs/requirements.md, 002 Logging). */
function correlation(object: Rollout): Readonly<Record<string, unknown>> {
  const { metadata, spec } = object;
  const traceId = traceIdOf(object);
  return {
    operatorName: spec.operator,
    version: spec.version,
    deployment: metadata.name,
    deploymentId: metadata.uid,
    userId: metadata.annotations?.[REQUESTED_BY_ANNOTATION],
    ...(traceId === undefined ? {} : { traceId }),
  };
}
