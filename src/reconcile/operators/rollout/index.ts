/**
 * Rollouts of operators to many clusters (docs/requirements.md, 002 FR-OP-003): stage by stage, with health checks, and
 * rolled back on failure.
 *
 * - `decide/` is pure: it maps a status and the facts around it to the next status and the actions that follow.
 * - `act/` touches clusters: it plans, installs, switches, checks and restores.
 * - `store/` reads and writes objects of the management cluster: statuses, Leases, OperatorInstallations, Approvals.
 *
 * In: a manager, and the access to clusters from src/fleet. Out: finished OperatorDeployments, OperatorInstallations,
 * and pending Approvals. It must not know how a cluster is reached, how Helm is run, or how a user approves.
 */
import type { Registry } from 'prom-client';
import {
  type Approval,
  approval,
  type Cluster,
  cluster,
  installationName,
  type Operator,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../../api/index.ts';
import type { Charts, Fleet, HealthChecker, Installer, SnapshotStore, Switcher } from '../../../fleet/index.ts';
import {
  type Clock,
  type Condition,
  type Controller,
  controllerManagedBy,
  type EventRecorder,
  getCondition,
  type KubernetesObject,
  keyOf,
  type Logger,
  type Manager,
  noTracer,
  type ObjectKey,
  type Predicate,
  type Resource,
  type Tracer,
} from '../../../runtime/index.ts';
import { Latest } from '../../deployable/latest.ts';
import { defaultRolloutSettings, type RolloutSettings } from '../settings.ts';
import { ClusterSteps } from './act/cluster-steps.ts';
import { CrdVerdicts } from './act/crd-verdicts.ts';
import { addKeptSideReconciler } from './act/retire-kept-sides.ts';
import { StepRunner } from './act/step-runner.ts';
import { rolloutMetrics } from './metrics.ts';
import { RolloutReconciler } from './reconciler.ts';
import { RetryTimes } from './retry-times.ts';
import { isFinished, phaseOf, type Rollout, takesSlot } from './rollout.ts';
import { factsOf, operatorIndex } from './store/facts.ts';
import { RolloutLeases } from './store/leases.ts';
import { retention } from './store/retention.ts';
import { secretValues } from './store/secret-values.ts';

interface RolloutOptions {
  readonly fleet: Fleet;
  readonly charts: Charts;
  readonly snapshots: SnapshotStore;
  readonly installer: Installer;
  readonly switcher: Switcher;
  readonly health: HealthChecker;
  readonly settings?: RolloutSettings | undefined;
  readonly clock?: Clock | undefined;
  readonly tracer?: Tracer | undefined;
  readonly registry?: Registry | undefined;
  readonly recorder?: Pick<EventRecorder, 'record'> | undefined;
  readonly log?: Logger | undefined;
  /** Called for each CRD that was validated against a cluster. */
  readonly onValidated?: (() => void) | undefined;
  /** The namespace of the platform's Leases and Secrets. */
  readonly systemNamespace: string;
  /** The delay before the first retry of a failed step. */
  readonly retryMilliseconds?: number | undefined;
  /** The interval at which expired rollouts, Leases and snapshots are deleted. */
  readonly tidyMilliseconds?: number | undefined;
}

/** Rollouts that are reconciled at a time. Their steps on clusters run outside of a reconcile. */
const concurrency = 32;
const timeoutMilliseconds = 60_000;
const defaultRetryMilliseconds = 3_000;
const defaultTidyMilliseconds = 10 * 60_000;

/** Adds the controllers and runnables of rollouts to a manager that has not started yet. */
export function addRolloutReconciler(manager: Manager, options: RolloutOptions): void {
  const { fleet, snapshots, installer, switcher, health, systemNamespace, registry, recorder } = options;
  const settings = options.settings ?? defaultRolloutSettings;
  const clock = options.clock ?? manager.clock;
  const log = options.log ?? manager.log;
  const tracer = options.tracer ?? noTracer;
  const client = manager.leaderClient;
  const retryMilliseconds = options.retryMilliseconds ?? defaultRetryMilliseconds;
  const now = () => clock.now();
  const store = <T extends KubernetesObject>(resource: Resource) => manager.caches.store<T>(resource);
  const rollouts = () => store<Rollout>(operatorDeployment.resource);
  const operatorNamed = (name: string) => store<Operator>(operator.resource).get({ name });
  const metrics = rolloutMetrics({
    registry,
    // Every replica has the caches, but only the leader reports, or rollouts would be counted twice.
    rollouts: () => (manager.election?.leading === false ? undefined : undefinedIfNotStarted(() => rollouts().list())),
  });
  const verdicts = new CrdVerdicts(options.onValidated);
  const leases = new RolloutLeases({ client, namespace: systemNamespace, maxConcurrent: settings.maxConcurrent, now });
  const runner = new StepRunner(clock, log);
  const latest = new Latest<Rollout>();
  const retryTimes = new RetryTimes(clock, retryMilliseconds);
  const reconciler = new RolloutReconciler({
    client,
    latest,
    retryTimes,
    facts: (object) => factsOf(object, { stores: store, settings, latest, retryTimes }),
    planning: {
      fleet,
      charts: options.charts,
      snapshots,
      verdicts,
      settings,
      operator: operatorNamed,
      clusters: () => [...store<Cluster>(cluster.resource).list()],
      installation: (of, on) =>
        store<OperatorInstallation>(operatorInstallation.resource).get({ name: installationName(of, on) }),
      secretValues: (name, operator, environment) =>
        secretValues(client, { namespace: systemNamespace, name }, operator, environment),
      now,
    },
    steps: new ClusterSteps({
      client,
      fleet,
      snapshots,
      installer,
      switcher,
      health,
      verdicts,
      tracer,
      settings,
      now,
    }),
    leases,
    runner,
    settings,
    tracer,
    clock,
    log,
    recorder,
    metrics,
    retryMilliseconds,
  });
  const controller = controllerFor(manager, reconciler, () => rollouts().list());
  runner.onStepEnded = (name) => controller.enqueue({ name });
  manager.add(runner);
  const kept = { client, fleet, snapshots, installer, switcher, leases, clock };
  addKeptSideReconciler(manager, { ...kept, retryMilliseconds: 20 * retryMilliseconds });
  const intervalMilliseconds = options.tidyMilliseconds ?? defaultTidyMilliseconds;
  manager.add(retention({ client, snapshots, leases, clock, log, intervalMilliseconds }));
}

function controllerFor(manager: Manager, reconciler: RolloutReconciler, all: () => Iterable<Rollout>): Controller {
  /** The rollouts that a change may affect. A finished one is enqueued only by its own changes. */
  const open = (isOne: (rollout: Rollout) => boolean): ObjectKey[] =>
    [...all()].filter((each) => !isFinished(each.status ?? {}) && isOne(each)).map(keyOf);
  const usesCluster = (name: string) => (each: Rollout) =>
    each.status?.clusters === undefined || each.status.clusters.some((one) => one.name === name);
  return controllerManagedBy(manager, 'rollouts')
    .for<Rollout>(operatorDeployment.resource, { indexes: operatorIndex })
    .watches<Rollout>(operatorDeployment.resource, () => open(() => true), { predicates: [phaseChanged] })
    .watches<Cluster>(cluster.resource, ({ metadata }) => open(usesCluster(metadata.name)), {
      predicates: [readinessChanged],
    })
    .watches<Operator>(operator.resource, ({ metadata }) =>
      open(({ spec, status }) => spec.operator === metadata.name && status?.plan === undefined),
    )
    .watches<Approval>(approval.resource, ({ spec }) =>
      spec.subject.kind === operatorDeployment.kind ? [{ name: spec.subject.name }] : [],
    )
    .watches<OperatorInstallation>(operatorInstallation.resource, () => [])
    .withOptions({ maxConcurrentReconciles: concurrency, timeoutMilliseconds })
    .complete((key, context) => reconciler.reconcile(key, context));
}

/** Other rollouts are affected when one ends, starts a rollback, or frees its slot. */
const phaseChanged: Predicate<Rollout> = (change) => {
  if (change.type !== 'updated') return change.type === 'deleted';
  const [is, was] = [change.object.status ?? {}, change.old.status ?? {}];
  return phaseOf(is) !== phaseOf(was) || takesSlot(is) !== takesSlot(was);
};

/** The response time of a cluster changes with every probe and does not matter here. */
const readinessChanged: Predicate<Cluster> = (change) =>
  change.type !== 'updated' ||
  change.object.metadata.generation !== change.old.metadata.generation ||
  change.object.metadata.deletionTimestamp !== change.old.metadata.deletionTimestamp ||
  readiness(change.object) !== readiness(change.old);

const readiness = ({ status }: Cluster): string | undefined =>
  `${getCondition(status?.conditions as Condition[] | undefined, 'Ready')?.status} ${status?.kubernetesVersion}`;

/** Returns undefined if the caches are not started yet. */
function undefinedIfNotStarted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
