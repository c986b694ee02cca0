/**
 * Model-based test of all decisions: clusters become unhealthy, unreachable, reachable again or deleted; users pause,
 * promote, abort and roll back; and the manager is killed between any two of its writes and actions.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Environment, ROLLOUT_FINALIZER, type Strategy } from '../../../../api/index.ts';
import {
  type Action,
  type ClusterStatus,
  type Facts,
  isClusterAction,
  isFinished,
  isTouched,
  phaseOf,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
} from '../rollout.ts';
import { nextStep } from './next-step.ts';
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
} from './outcomes.ts';
import { configOf, pacingOf, stagesOf } from './plan.ts';

const second = 1_000;
const minute = 60 * second;

/** The real state of a cluster. */
interface Real {
  uid: string;
  readonly environment: Environment;
  exists: boolean;
  available: boolean;
  /** Paused by users. */
  paused: boolean;
  /** The result of Helm for the new version. */
  helm: 'works' | 'refuses' | 'out-of-reach';
  /** Whether the new version is healthy; the old one always is. */
  isHealthy: boolean;
  readonly hadOld: boolean;
  installed: 'old' | 'new' | 'none';
  /** Completed work by attempt: a repeated attempt is not executed twice. */
  readonly done: string[];
  switched: boolean;
  /** Start of the last check that found the new version healthy. */
  healthyAt: number;
  changedAt: number;
}

/** A running step of the manager. A kill interrupts it between any two of its parts. */
interface Running {
  readonly act: Action;
  part: 'started' | 'prepared' | 'done';
  checkStartedAt: number;
}

interface Given {
  readonly strategy: Strategy;
  readonly clusters: readonly { environment: Environment; hadOld: boolean }[];
  readonly spec: Partial<Rollout['spec']>;
  readonly coexist: boolean;
}

class World {
  time = Date.UTC(2026, 0, 1);
  readonly real = new Map<string, Real>();
  object: Rollout;
  running: Running[] = [];
  blockedBy: string | undefined;
  readonly violations: string[] = [];

  constructor({ strategy, clusters, spec, coexist }: Given) {
    clusters.forEach(({ environment, hadOld }, index) => {
      this.real.set(`c${index}`, {
        uid: `uid-${index}`,
        environment,
        exists: true,
        available: true,
        paused: false,
        helm: 'works',
        isHealthy: true,
        hadOld,
        installed: hadOld ? 'old' : 'none',
        done: [],
        switched: false,
        healthyAt: 0,
        changedAt: 0,
      });
    });
    this.object = {
      apiVersion: 'platform.company.com/v1',
      kind: 'OperatorDeployment',
      metadata: { name: 'rollout', uid: 'r', generation: 1, resourceVersion: '1' },
      spec: {
        operator: 'o',
        version: 'v2.0.0',
        clusters: [...this.real.keys()],
        strategy,
        health: { interval: 'PT30S', failureThreshold: 3, minimumSoak: 'PT0S' },
        progressDeadline: 'PT30M',
        ...spec,
      },
      status: { phase: 'Planning', observedGeneration: -1 },
    } as Rollout;
    const config = configOf(this.object.spec, coexist) as Record<string, unknown>;
    const found = [...this.real].map(([name, { environment }]) => ({ name, environment, available: true }));
    const stages = stagesOf(this.object.spec, found);
    const plan = { digest: 'd', operatorUid: 'o', chartDigest: 'c', strategy, config, stages, createdAt: this.now };
    const statuses = [...this.real].map(
      ([name, { uid, environment }]): ClusterStatus => ({
        name,
        uid,
        environment,
        state: 'Pending',
        snapshot: 'new',
        stage: stages.findIndex((stage) => stage.clusters.includes(name)) + 1,
      }),
    );
    this.record((object) => planned(object, { plan: plan as never, clusters: statuses, approvals: [] }));
  }

  get now(): string {
    return new Date(this.time).toISOString();
  }

  get status(): RolloutStatus {
    return this.object.status ?? {};
  }

  facts(): Facts {
    const { blockedBy } = this;
    return {
      cluster: (name) => {
        const found = this.real.get(name);
        if (found?.exists !== true) return undefined;
        const { uid, environment, available, paused } = found;
        return { uid, environment, available: available && !paused, ...(paused ? { paused } : {}), why: 'away' };
      },
      approval: () => undefined,
      installedBy: () => undefined,
      restoredBy: () => undefined,
      notBefore: () => 0,
      ...(blockedBy === undefined ? {} : { blockedBy }),
    };
  }

  /** Performs one write of the manager. */
  record(outcome?: (object: Rollout) => RolloutStatus): ReturnType<typeof nextStep> {
    const before = this.object;
    const step = nextStep(before, this.facts(), this.time, outcome);
    this.object = { ...before, status: step.status };
    this.#watch(before, this.object);
    return step;
  }

  /** Reconciles: decides, writes the status and starts the actions. */
  look(): void {
    const { finalizer } = this.record();
    if (finalizer !== undefined) {
      const finalizers = finalizer === 'add' ? [ROLLOUT_FINALIZER] : [];
      this.object = { ...this.object, metadata: { ...this.object.metadata, finalizers } };
      return;
    }
    const { actions, status } = nextStep(this.object, this.facts(), this.time);
    expect(status, 'the status is stable while nothing happens').toBe(this.object.status);
    const wanted = new Set(actions.map(placeAndKind));
    // Unwanted steps are aborted; a cluster has one step at a time.
    this.running = this.running.filter(({ act }) => wanted.has(placeAndKind(act)));
    const busy = new Set(this.running.map(({ act }) => placeOf(act)));
    for (const act of actions)
      if (!busy.has(placeOf(act))) this.running.push({ act, part: 'started', checkStartedAt: this.time });
  }

  /** Runs one part of a step. */
  goOn(index: number): void {
    const step = this.running[index % Math.max(1, this.running.length)];
    if (step === undefined) return;
    const end = () => this.running.splice(this.running.indexOf(step), 1);
    const { act } = step;
    if (!isClusterAction(act)) {
      end();
      if (act.kind === 'start') this.record((object) => started(object, this.time));
      if (act.kind === 'resume') this.record((object) => resumed(object, this.time));
      if (act.kind === 'reopen') this.record((object) => reopened(object, this.facts(), act, this.time));
      return;
    }
    const { cluster: name, attempt, kind } = act;
    const real = this.real.get(name);
    if (real === undefined) return;
    const isAnother = this.status.clusters?.find((each) => each.name === name)?.uid !== real.uid;
    if (!real.exists || isAnother || real.helm === 'out-of-reach') {
      end();
      const failure = { temporary: true, message: 'unreachable' };
      if (kind === 'check') {
        const report = { state: 'Unknown' as const, message: 'unreachable', checkStartedAt: step.checkStartedAt };
        this.record((object) => checked(object, name, attempt, report));
      } else this.record((object) => stepFailed(object, name, attempt, failure, this.time, second));
      return;
    }
    switch (kind) {
      case 'install':
        this.#install(step, real, name, attempt, end);
        return;
      case 'switch':
        if (step.part === 'started') {
          this.#effect(real, attempt, () => {
            real.switched = true;
            real.changedAt = this.time;
          });
          step.part = 'done';
          return;
        }
        end();
        this.record((object) => switched(object, name, attempt, this.time));
        return;
      case 'check': {
        end();
        const isRollback = this.status.clusters?.find((each) => each.name === name)?.state === 'RollingBack';
        const isHealthy = isRollback ? real.installed !== 'new' : real.installed === 'new' && real.isHealthy;
        if (isHealthy && !isRollback && step.checkStartedAt >= real.changedAt) real.healthyAt = step.checkStartedAt;
        const report = { state: isHealthy ? ('Healthy' as const) : ('Unhealthy' as const), message: 'm' };
        this.record((object) => checked(object, name, attempt, { ...report, checkStartedAt: step.checkStartedAt }));
        return;
      }
      case 'restore':
        if (step.part === 'started') {
          this.#effect(real, attempt, () => {
            real.installed = real.hadOld ? 'old' : 'none';
            real.switched = false;
            real.changedAt = this.time;
          });
          step.part = 'done';
          return;
        }
        end();
        this.record((object) => restored(object, name, attempt, 3, this.time));
    }
  }

  #install(step: Running, real: Real, name: string, attempt: string, end: () => void): void {
    if (step.part === 'started') {
      const before = real.hadOld ? { fromVersion: 'v1.0.0', snapshotBefore: 'old' } : {};
      this.record((object) => prepared(object, name, attempt, before, this.time));
      step.part = 'prepared';
      const known = this.status.clusters?.find((each) => each.name === name);
      if (known?.state !== 'Deploying' || known.preparedAt === undefined) end();
      return;
    }
    if (step.part === 'prepared') {
      if (real.helm === 'refuses') {
        end();
        const failure = { temporary: false, message: 'helm/failed' };
        this.record((object) => stepFailed(object, name, attempt, failure, this.time, second));
        return;
      }
      this.#mustBeWritten(name);
      this.#effect(real, attempt, () => {
        real.installed = 'new';
        real.changedAt = this.time;
      });
      step.part = 'done';
      return;
    }
    end();
    this.record((object) => deployed(object, name, attempt, { revision: 2, namespace: 'n' }, this.time));
  }

  /** The installer recognizes completed work by the attempt. */
  #effect(real: Real, attempt: string, change: () => void): void {
    if (real.done.includes(attempt)) return;
    real.done.push(attempt);
    change();
  }

  #mustBeWritten(name: string): void {
    const cluster = this.status.clusters?.find((each) => each.name === name);
    if (cluster?.preparedAt === undefined) this.violations.push(`${name} is changed before the status records it`);
  }

  /** Invariants between two consecutive versions of the object. */
  #watch(before: Rollout, after: Rollout): void {
    const [was, is] = [before.status ?? {}, after.status ?? {}];
    const { plan } = is;
    if (plan === undefined) return;
    const pacing = pacingOf(plan);
    const clusters = is.clusters ?? [];
    const startedNow = clusters.filter(
      ({ name, state }) =>
        state === 'Deploying' && was.clusters?.find((each) => each.name === name)?.state === 'Pending',
    );
    for (const { name, stage } of startedNow) {
      if (stage > (is.stage ?? 0)) this.violations.push(`${name} is started before its stage`);
      if (after.spec.paused === true || this.blockedBy !== undefined)
        this.violations.push(`${name} is started while held`);
      if (!this.#isHere(name)) this.violations.push(`${name} is started although it is unavailable`);
    }
    const here = clusters.filter(({ name, state }) => state === 'Deploying' && this.#isHere(name));
    if (startedNow.length > 0 && here.length > pacing.parallel) this.violations.push('too many clusters at a time');
    const isPromoted = (is.stage ?? 0) > (was.stage ?? 0) && was.stage !== undefined;
    if (isPromoted && plan.strategy === 'Canary') {
      const stage = clusters.filter((each) => each.stage === was.stage).map(({ state }) => state);
      const hasFailed = stage.some((state) => state === 'RolledBack' || state === 'Failed' || state === 'Unhealthy');
      if (hasFailed && !stage.includes('Healthy'))
        this.violations.push(`stage ${was.stage} failed, but later stages start`);
    }
    if (isPromoted || (phaseOf(is) === 'Completed' && phaseOf(was) !== 'Completed')) this.#validated(was, after);
    const failed = clusters.filter(({ state }) => state === 'Unhealthy').length;
    const isOn = phaseOf(is) === 'Deploying' || phaseOf(is) === 'Validating';
    if (
      isOn &&
      failed > (after.spec.maxFailures ?? 0) &&
      after.spec.rollbackOnFailure !== false &&
      after.spec.abort !== true
    ) {
      this.violations.push('more clusters failed than maxFailures, but the rollout continues');
    }
    // A rollback needs no slot.
    const isAtWork = clusters.some(({ state }) => state === 'Deploying');
    if (is.heldSince !== undefined && isAtWork) this.violations.push('works without a slot');
    if (isFinished(is) && is.rollback !== undefined) {
      for (const cluster of clusters) {
        const real = this.real.get(cluster.name);
        const isLeft = real?.exists === true && real.installed === 'new';
        if (isLeft && cluster.state !== 'Failed')
          this.violations.push(`${cluster.name} was not rolled back: ${cluster.state}`);
      }
    }
  }

  #isHere(name: string): boolean {
    const { available, paused } = this.real.get(name) ?? { available: false, paused: false };
    return available && !paused;
  }

  /** A promotion requires a recent health check after the last change. */
  #validated(was: RolloutStatus, { status: is = {}, spec }: Rollout): void {
    if (spec.directConfig?.skipHealthChecks === true) return;
    for (const cluster of is.clusters ?? []) {
      if (cluster.stage > (was.stage ?? 0) || cluster.state !== 'Healthy') continue;
      const real = this.real.get(cluster.name);
      if (real === undefined || real.healthyAt < real.changedAt) {
        this.violations.push(`${cluster.name} counts without a check since its last change`);
      }
      if (toMilliseconds(cluster.lastCheckedAt) !== real?.healthyAt)
        this.violations.push(`${cluster.name} was unhealthy in its last check`);
      if ((real?.healthyAt ?? 0) < this.time - 90 * second) this.violations.push(`${cluster.name} has no recent check`);
      const period = is.plan === undefined ? 0 : pacingOf(is.plan).periodMilliseconds(was.stage ?? 1);
      const isCutShort = cluster.switchedAt !== undefined || (spec.promote ?? 0) >= (was.stage ?? 1);
      if (!isCutShort && period > 0 && (real?.healthyAt ?? 0) < toMilliseconds(cluster.deployedAt) + period) {
        this.violations.push(`${cluster.name} was not checked at the end of its period`);
      }
    }
  }

  edit(spec: Partial<Rollout['spec']>): void {
    this.object = { ...this.object, spec: { ...this.object.spec, ...spec } };
  }

  /** Removes all faults: every cluster is reachable again and all actions complete. */
  settle(): void {
    for (const real of this.real.values()) {
      real.available = true;
      real.paused = false;
      real.helm = 'works';
      real.isHealthy = true;
    }
    this.blockedBy = undefined;
    this.edit({ paused: false, promote: this.object.spec.promote ?? 1 });
    for (let round = 0; round < 3_000; round += 1) {
      this.look();
      if (isFinished(this.status) && this.running.length === 0) {
        const { actions } = nextStep(this.object, this.facts(), this.time);
        if (actions.length === 0) return;
      }
      while (this.running.length > 0) this.goOn(0);
      const { wakeAt } = nextStep(this.object, this.facts(), this.time);
      this.time = Math.max(this.time + 1, Math.min(wakeAt ?? this.time + minute, this.time + minute));
    }
    throw new Error(`the rollout does not end: ${JSON.stringify(this.status, null, 1)}`);
  }
}

const placeOf = (act: Action): string => (isClusterAction(act) ? act.cluster : '');
const placeAndKind = (act: Action): string => `${placeOf(act)} ${act.kind} ${isClusterAction(act) ? act.attempt : ''}`;

const environment = fc.constantFrom<Environment>('Dev', 'Staging', 'Production');
const given: fc.Arbitrary<Given> = fc.record({
  strategy: fc.constantFrom<Strategy>('Canary', 'BlueGreen', 'Rolling', 'Direct'),
  clusters: fc.array(fc.record({ environment, hadOld: fc.boolean() }), { minLength: 1, maxLength: 6 }),
  coexist: fc.boolean(),
  spec: fc
    .record({
      maxFailures: fc.constantFrom(0, 0, 1, 3),
      rollbackOnFailure: fc.constantFrom(true, true, true, false),
      soak: fc.constantFrom('PT0S', 'PT2M'),
    })
    .map(({ maxFailures, rollbackOnFailure, soak }) => ({
      maxFailures,
      rollbackOnFailure,
      health: { interval: 'PT30S', failureThreshold: 3, minimumSoak: soak },
    })),
});

const which = fc.nat({ max: 20 });
const someCluster = (world: World, n: number): Real | undefined => [...world.real.values()][n % world.real.size];
type Command = (world: World) => void;

/** One undisturbed round of the manager. */
function round(world: World): void {
  world.look();
  for (let parts = 0; world.running.length > 0 && parts < 40; parts += 1) world.goOn(parts);
  world.look();
  const { wakeAt } = nextStep(world.object, world.facts(), world.time);
  world.time = Math.min(Math.max(world.time + 1, wakeAt ?? 0), world.time + minute);
}

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 30, arbitrary: fc.constant(round) },
  { weight: 8, arbitrary: fc.constant((world: World) => world.look()) },
  { weight: 12, arbitrary: which.map((n) => (world: World) => world.goOn(n)) },
  // The manager restarts and knows only the stored object.
  {
    weight: 2,
    arbitrary: fc.constant((world: World) => {
      world.running = [];
    }),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom(second, 30 * second, 5 * minute, 40 * minute).map((milliseconds) => (world: World) => {
      world.time += milliseconds;
    }),
  },
  // The clock of the next manager is behind, or the clock was set back.
  {
    weight: 1,
    arbitrary: fc.constantFrom(second, 10 * minute).map((milliseconds) => (world: World) => {
      world.time -= milliseconds;
      for (const real of world.real.values()) {
        real.changedAt = Math.min(real.changedAt, world.time);
        if (real.healthyAt > world.time) real.healthyAt = 0;
      }
      for (const step of world.running) step.checkStartedAt = Math.min(step.checkStartedAt, world.time);
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, available]) => (world: World) => {
      const real = someCluster(world, n);
      if (real === undefined) return;
      real.available = available;
      real.helm = available ? 'works' : 'out-of-reach';
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, isHealthy]) => (world: World) => {
      const real = someCluster(world, n);
      if (real !== undefined) real.isHealthy = isHealthy;
    }),
  },
  {
    weight: 1,
    arbitrary: which.map((n) => (world: World) => {
      const real = someCluster(world, n);
      if (real !== undefined) real.helm = 'refuses';
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, paused]) => (world: World) => {
      const real = someCluster(world, n);
      if (real !== undefined) real.paused = paused;
    }),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(which, fc.boolean()).map(([n, recreated]) => (world: World) => {
      const real = someCluster(world, n);
      if (real === undefined) return;
      if (!recreated) real.exists = false;
      else {
        // The Cluster was re-created: another cluster, on which nothing was done.
        real.uid = `${real.uid}'`;
        real.installed = 'none';
        real.done.length = 0;
      }
    }),
  },
  { weight: 1, arbitrary: fc.boolean().map((paused) => (world: World) => world.edit({ paused })) },
  { weight: 1, arbitrary: which.map((n) => (world: World) => world.edit({ promote: 1 + (n % 3) })) },
  { weight: 1, arbitrary: fc.constant((world: World) => world.edit({ rollback: true })) },
  { weight: 1, arbitrary: fc.constant((world: World) => world.edit({ abort: true })) },
  {
    weight: 1,
    arbitrary: fc.boolean().map((held) => (world: World) => {
      world.blockedBy = held ? 'another' : undefined;
    }),
  },
);

describe('under any sequence of faults', () => {
  test('a rollout ends, repeats no step, promotes nothing unchecked and rolls back every changed cluster', () => {
    fc.assert(
      fc.property(given, fc.array(commands, { minLength: 5, maxLength: 80 }), (start, list) => {
        const world = new World(start);
        for (const command of list) {
          command(world);
          expect(world.violations).toEqual([]);
        }
        world.settle();
        expect(world.violations).toEqual([]);
        for (const [name, { done }] of world.real) {
          expect(done, `${name}: each step once`).toEqual([...new Set(done)]);
          const switches = start.strategy === 'BlueGreen' ? 1 : 0;
          expect(done.length, `${name}: one install and one rollback at most`).toBeLessThanOrEqual(2 + switches);
        }
        const { status } = world;
        if (phaseOf(status) === 'Completed') expect(status.counts?.healthy).toBeGreaterThan(0);
        if (status.rollback !== undefined) expect(status.rollback.finishedAt).toBeDefined();
      }),
      { numRuns: 200 },
    );
  });

  test('without any fault every strategy completes on every cluster', () => {
    fc.assert(
      fc.property(given, (start) => {
        const world = new World(start);
        world.settle();
        expect(world.violations).toEqual([]);
        expect(phaseOf(world.status)).toBe('Completed');
        expect(world.status.counts?.healthy).toBe(start.clusters.length);
        for (const real of world.real.values()) expect(real.installed).toBe('new');
      }),
      { numRuns: 40 },
    );
  });

  test('if one cluster stays unhealthy, no changed cluster keeps the new version', () => {
    fc.assert(
      fc.property(given, which, (start, n) => {
        const world = new World({ ...start, spec: { ...start.spec, maxFailures: 0, rollbackOnFailure: true } });
        const unhealthy = someCluster(world, n);
        if (unhealthy === undefined) return;
        const settle = world.settle.bind(world);
        Object.defineProperty(unhealthy, 'isHealthy', { get: () => false, set: () => {} });
        settle();
        expect(world.violations).toEqual([]);
        expect(world.status).toMatchObject({ phase: 'Failed', rollback: { reason: 'Unhealthy' } });
        for (const real of world.real.values()) expect(real.installed).toBe(real.hadOld ? 'old' : 'none');
        expect((world.status.clusters ?? []).filter(isTouched)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
