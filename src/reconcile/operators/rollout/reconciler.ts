/** Brings one rollout on: takes the step that the core has worked out, writing before acting, so that it can be cut off at any point. */
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
import type { RolloutSettings } from '../settings.ts';
import type { Place, Work } from './act/cluster-steps.ts';
import { failureOf, isOurEnd } from './act/failures.ts';
import { PlanningBlocked, type PlanningParts, planRollout } from './act/plan-rollout.ts';
import type { Job, Jobs } from './act/step-runner.ts';
import { ownedClusters } from './decide/actions.ts';
import { askForApprovals } from './decide/approvals.ts';
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
import { notesBetween } from './decide/report.ts';
import type { RolloutMetrics } from './metrics.ts';
import {
  type Act,
  type ClusterAct,
  type ClusterStatus,
  type Facts,
  isClusterAct,
  isFinished,
  isTouched,
  type Rollout,
  type RolloutStatus,
  takesPlace,
  type WholeAct,
} from './rollout.ts';
import type { Holds } from './store/leases.ts';
import { Ledger } from './store/status-writer.ts';
import { spanAttributes, traceIdOf, traceOf, traceRollout } from './trace.ts';

interface RolloutsParts {
  /** For what goes on after a reconcile has ended: fenced. */
  readonly client: Client;
  readonly facts: (object: Rollout) => Facts;
  readonly planning: PlanningParts;
  readonly work: Work;
  readonly holds: Holds;
  readonly jobs: Jobs;
  readonly settings: RolloutSettings;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: Pick<EventRecorder, 'record'> | undefined;
  readonly metrics: RolloutMetrics;
  /** How long to wait before the first try again of a step that failed, and of what could not be had. */
  readonly retryMilliseconds: number;
}

const mostTries = 4;
const busyMilliseconds = 100;
/** So many times as long is waited for what will hardly be otherwise in a moment. */
const slowly = 10;

export class Rollouts {
  readonly #parts: RolloutsParts;
  readonly ledger: Ledger;
  /** By uid and kind of act: not before then. */
  readonly #notBefore = new Map<string, number>();

  constructor(parts: RolloutsParts) {
    this.#parts = parts;
    this.ledger = new Ledger(parts.client, (before, after) => this.#tell(before, after));
  }

  notBefore(object: Rollout, kind: string): number {
    return this.#notBefore.get(`${object.metadata.uid}/${kind}`) ?? 0;
  }

  async reconcile(key: ObjectKey, context: ReconcileContext): Promise<Result> {
    const cached = await context.read.get<Rollout>(operatorDeployment.resource, key);
    if (cached === undefined) {
      this.#forget(key);
      return undefined;
    }
    let object = this.ledger.latest.of(cached);
    for (let tries = 1; tries <= mostTries; tries += 1) {
      try {
        return await this.#bringOn(object, context);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error)) throw error;
      }
      // What we went by is old; the cache will have it soon, the API server has it now.
      const found = await context.read.get<Rollout>(operatorDeployment.resource, key, { live: true });
      if (found === undefined) return undefined;
      this.ledger.latest.keep(found);
      object = found;
    }
    return { requeueAfterMilliseconds: busyMilliseconds };
  }

  async #bringOn(object: Rollout, { client }: ReconcileContext): Promise<Result> {
    const { clock, jobs, facts: factsOf } = this.#parts;
    const facts = factsOf(object);
    const written = await this.ledger.swap(object, (fresh) => nextStep(fresh, facts, clock.now()).status);
    const step = nextStep(written, facts, clock.now());
    if (step.finalizer === 'add') {
      this.ledger.latest.keep(await addFinalizer(client, operatorDeployment.resource, written, ROLLOUT_FINALIZER));
      return { requeueAfterMilliseconds: 0 };
    }
    if (step.finalizer === 'remove') {
      await removeFinalizer(client, operatorDeployment.resource, written, ROLLOUT_FINALIZER);
      if (written.metadata.deletionTimestamp !== undefined) return undefined;
      return { requeueAfterMilliseconds: busyMilliseconds };
    }
    const { name, uid = '' } = written.metadata;
    jobs.keep(
      name,
      step.acts.map((act) => this.#job(written, act, uid)),
    );
    if (step.wakeAt === undefined) return undefined;
    return { requeueAfterMilliseconds: Math.max(0, step.wakeAt - clock.now()) };
  }

  #forget({ name }: ObjectKey): void {
    this.ledger.latest.forget(operatorDeployment.kind, { name });
    this.#parts.jobs.keep(name, []);
  }

  #job(object: Rollout, act: Act, uid: string): Job {
    if (!isClusterAct(act)) {
      const run = (signal: AbortSignal) => this.#whole(object, act, signal);
      return { place: uid, id: `${act.kind}/${uid}`, lane: 'whole', run };
    }
    const lane = act.kind === 'switch' ? 'install' : act.kind;
    const run = (signal: AbortSignal) => this.#onCluster(object, act, signal);
    return { place: `${uid}/${act.cluster}`, id: `${act.kind}/${act.attempt}/${act.cluster}`, lane, run };
  }

  async #whole(object: Rollout, act: WholeAct, signal: AbortSignal): Promise<void> {
    switch (act.kind) {
      case 'plan':
        return this.#plan(object, signal);
      case 'approvals':
        return this.#askForApprovals(object);
      case 'start': {
        const clusters = (object.status?.clusters ?? []).filter(({ state }) => state !== 'Skipped');
        return this.#startWith(object, act, clusters, (fresh) => started(fresh, this.#parts.clock.now()));
      }
      case 'resume': {
        const { holds, clock } = this.#parts;
        const begin = () => this.#record(object, (fresh) => resumed(fresh, clock.now()));
        return this.#waits(object, act, await holds.resume(object, begin));
      }
      case 'reopen': {
        const facts = this.#parts.facts(object);
        const clusters = ownedClusters(object, facts).filter(isTouched);
        const { clock } = this.#parts;
        return this.#startWith(object, act, clusters, (fresh) => reopened(fresh, facts, act, clock.now()));
      }
    }
  }

  async #plan(object: Rollout, signal: AbortSignal): Promise<void> {
    const { planning, tracer, clock } = this.#parts;
    const traceparent = traceOf(object, tracer);
    const kept = ({ status }: Rollout) =>
      traceparent === '' ? {} : { traceparent: status?.traceparent ?? traceparent };
    try {
      const options = { attributes: spanAttributes(object), parent: traceparent };
      const found = await tracer.span('operator.validate', options, (span) =>
        planRollout(object, planning, { ...this.#context(object, signal), traceparent: span.traceparent }),
      );
      await this.#record(object, (fresh) => ({ ...planned(fresh, found), ...kept(fresh) }));
    } catch (error) {
      if (!(error instanceof PlanningBlocked)) throw error;
      await this.#record(object, (fresh) => ({ ...blockedBy(fresh, error, clock.now()), ...kept(fresh) }));
      // What others have to answer is not asked all the time.
      this.#wait(object, 'plan', error.isCostly ? slowly : 1);
    }
  }

  async #askForApprovals(object: Rollout): Promise<void> {
    const { client, settings, recorder } = this.#parts;
    const strange = await askForApprovals(client, object, settings);
    for (const name of strange) {
      const note = `Approval ${name} is not the one that is asked for: delete it, and it is asked for anew`;
      recorder?.record({ regarding: object, type: 'Warning', reason: 'ApprovalStrange', action: 'Approve', note });
    }
    // The cache will have them in a moment; where they are something else, only somebody can help.
    this.#wait(object, 'approvals', strange.length > 0 ? slowly : 1);
  }

  async #startWith(
    object: Rollout,
    { kind }: WholeAct,
    clusters: readonly ClusterStatus[],
    outcome: (fresh: Rollout) => RolloutStatus,
  ): Promise<void> {
    const names = clusters.map(({ name }) => name).sort();
    const refusal = await this.#parts.holds.start(object, names, () => this.#record(object, outcome));
    this.#waits(object, { kind }, refusal);
  }

  #waits(object: Rollout, { kind }: Pick<WholeAct, 'kind'>, refusal: string | undefined): void {
    if (refusal === undefined) return;
    this.#parts.log.info('a rollout waits for its turn', { ...correlation(object), why: refusal });
    this.#wait(object, kind, slowly);
  }

  async #onCluster(object: Rollout, act: ClusterAct, signal: AbortSignal): Promise<void> {
    const { work, clock, log, metrics, retryMilliseconds } = this.#parts;
    const { cluster: name, attempt, kind } = act;
    const fields = { ...correlation(object), cluster: name, step: kind };
    const settle = (outcome: (fresh: Rollout) => RolloutStatus) => {
      signal.throwIfAborted();
      return this.#record(object, outcome);
    };
    try {
      switch (kind) {
        case 'install': {
          const place = await this.#prepared(object, act, signal);
          if (place === undefined) return;
          const begun = clock.monotonic();
          const done = await work.install(place);
          metrics.installed(object.spec.operator, (clock.monotonic() - begun) / 1000);
          log.info('an operator was deployed', fields);
          await settle((fresh) => deployed(fresh, name, attempt, done, clock.now()));
          return;
        }
        case 'switch':
          await work.switchOver(this.#place(object, name, signal));
          log.info('traffic was switched to the new side', fields);
          await settle((fresh) => switched(fresh, name, attempt, clock.now()));
          return;
        case 'check': {
          const found = await work.check(this.#place(object, name, signal));
          await settle((fresh) => checked(fresh, name, attempt, found));
          return;
        }
        case 'restore': {
          const revision = await work.restore(this.#place(object, name, signal));
          log.info('an operator was rolled back', fields);
          await settle((fresh) => restored(fresh, name, attempt, revision, clock.now()));
          return;
        }
      }
    } catch (error) {
      if (signal.aborted || isOurEnd(error)) return;
      const failure = failureOf(error);
      log.warn('a step on a cluster failed', { ...fields, error, temporary: failure.temporary });
      if (kind === 'check') {
        const { message } = failure;
        await settle((fresh) => checked(fresh, name, attempt, { state: 'Unknown', message, begunAt: clock.now() }));
        return;
      }
      await settle((fresh) => stepFailed(fresh, name, attempt, failure, clock.now(), retryMilliseconds));
    }
  }

  /** What was there is written down before anything is changed. Undefined: it is no longer wanted. */
  async #prepared(
    object: Rollout,
    { cluster: name, attempt }: ClusterAct,
    signal: AbortSignal,
  ): Promise<Place | undefined> {
    const { work, clock } = this.#parts;
    const place = this.#place(object, name, signal);
    if (place.cluster.preparedAt !== undefined) return place;
    const before = await work.lookBefore(place);
    signal.throwIfAborted();
    const written = await this.#record(object, (fresh) => prepared(fresh, name, attempt, before, clock.now()));
    const cluster = clusterOf(written, name);
    if (cluster?.state !== 'Deploying' || cluster.attempt !== attempt || cluster.preparedAt === undefined)
      return undefined;
    return this.#place(written, name, signal);
  }

  #place(object: Rollout, name: string, signal: AbortSignal): Place {
    const cluster = clusterOf(object, name);
    const plan = object.status?.plan;
    if (cluster === undefined || plan === undefined) throw new Error(`${name} is not part of the rollout`);
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
          reason: 'Helm',
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

  /** Takes an outcome in, and what follows from it, in one write. */
  #record(object: Rollout, outcome: (fresh: Rollout) => RolloutStatus): Promise<Rollout> {
    const { clock, facts } = this.#parts;
    return this.ledger.swap(object, (fresh) => nextStep(fresh, facts(fresh), clock.now(), outcome).status);
  }

  #wait({ metadata }: Rollout, kind: WholeAct['kind'], times = 1): void {
    const { clock, retryMilliseconds } = this.#parts;
    const now = clock.now();
    for (const [id, at] of this.#notBefore) if (at < now) this.#notBefore.delete(id);
    this.#notBefore.set(`${metadata.uid}/${kind}`, now + times * retryMilliseconds);
  }

  #tell(before: Rollout, after: Rollout): void {
    const { recorder, metrics, log, holds } = this.#parts;
    metrics.written(before, after);
    for (const { cluster, ...note } of notesBetween(before.status ?? {}, after.status ?? {})) {
      recorder?.record({ regarding: after, action: 'Rollout', ...note });
      const fields = { ...correlation(after), ...(cluster === undefined ? {} : { cluster }), what: note.reason };
      log.info('a rollout went on', { ...fields, note: note.note });
    }
    if (takesPlace(before.status ?? {}) && !takesPlace(after.status ?? {})) {
      // There is a place for another one: whoever waits for it is asked at once.
      for (const id of this.#notBefore.keys()) if (/\/(start|resume)$/.test(id)) this.#notBefore.delete(id);
    }
    if (!isFinished(after.status ?? {}) || isFinished(before.status ?? {})) return;
    traceRollout(this.#parts.tracer, before, after);
    void holds.release(after).catch((error: unknown) => {
      log.warn('what a rollout has held was not given back, it is free all the same', { ...correlation(after), error });
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

/** What joins the lines of a log, by the names of requirement 002. */
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
