/**
 * Rollouts of operators over many clusters (requirement 002): stage by stage, watched, and taken back where they do not go well.
 *
 * In: a manager, and what src/fleet has for other clusters. Out: OperatorDeployments brought to their end, OperatorInstallations,
 * Approvals that ask. It must not know how a cluster is reached, what Helm is, nor how anybody approves.
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
import { defaultRolloutSettings, type RolloutSettings } from '../settings.ts';
import { Work } from './act/cluster-steps.ts';
import { Verdicts } from './act/crd-verdicts.ts';
import { addRetirement } from './act/retire-kept-sides.ts';
import { Jobs } from './act/step-runner.ts';
import { rolloutMetrics } from './metrics.ts';
import { Rollouts } from './reconciler.ts';
import { isFinished, phaseOf, type Rollout, takesPlace } from './rollout.ts';
import { factsOf, operatorIndex } from './store/facts.ts';
import { Holds } from './store/leases.ts';
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
  /** Told of each definition whose fate on a cluster was found out. */
  readonly onValidated?: (() => void) | undefined;
  /** Where Leases and Secrets of the platform are. */
  readonly systemNamespace: string;
  /** How long to wait before what failed is tried again, at first. */
  readonly retryMilliseconds?: number | undefined;
  /** How often what nobody needs any more is removed. */
  readonly tidyMilliseconds?: number | undefined;
}

/** Rollouts that are looked at at a time; the work itself goes on beside that. */
const concurrency = 32;
const timeoutMilliseconds = 60_000;
const defaultRetryMilliseconds = 3_000;
const defaultTidyMilliseconds = 10 * 60_000;

/** Adds to the manager, before it starts, what rolls operators out. */
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
    // Every replica has the caches; what the leader says is counted once.
    rollouts: () => (manager.election?.leading === false ? undefined : orNone(() => rollouts().list())),
  });
  const verdicts = new Verdicts(options.onValidated);
  const holds = new Holds({ client, namespace: systemNamespace, maxConcurrent: settings.maxConcurrent, now });
  const jobs = new Jobs(clock, log);
  const reconciler: Rollouts = new Rollouts({
    client,
    facts: (object) =>
      factsOf(object, {
        stores: store,
        settings,
        newest: (each) => reconciler.ledger.latest.of(each),
        notBefore: (each, kind) => reconciler.notBefore(each, kind),
      }),
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
    work: new Work({
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
    holds,
    jobs,
    settings,
    tracer,
    clock,
    log,
    recorder,
    metrics,
    retryMilliseconds,
  });
  const controller = controllerFor(manager, reconciler, () => rollouts().list());
  jobs.ended = (name) => controller.enqueue({ name });
  manager.add(jobs);
  const againMilliseconds = 20 * retryMilliseconds;
  addRetirement(manager, { client, fleet, snapshots, installer, switcher, holds, clock, againMilliseconds });
  const everyMilliseconds = options.tidyMilliseconds ?? defaultTidyMilliseconds;
  manager.add(retention({ client, snapshots, holds, clock, log, everyMilliseconds }));
}

function controllerFor(manager: Manager, reconciler: Rollouts, all: () => Iterable<Rollout>): Controller {
  /** Those that somebody may wait for: what has ended is woken by itself alone. */
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

/** One that ends, begins to go back or gives its place away concerns others. */
const phaseChanged: Predicate<Rollout> = (change) => {
  if (change.type !== 'updated') return change.type === 'deleted';
  const [is, was] = [change.object.status ?? {}, change.old.status ?? {}];
  return phaseOf(is) !== phaseOf(was) || takesPlace(is) !== takesPlace(was);
};

/** How long it took to answer is written all the time, and changes nothing here. */
const readinessChanged: Predicate<Cluster> = (change) =>
  change.type !== 'updated' ||
  change.object.metadata.generation !== change.old.metadata.generation ||
  change.object.metadata.deletionTimestamp !== change.old.metadata.deletionTimestamp ||
  readiness(change.object) !== readiness(change.old);

const readiness = ({ status }: Cluster): string | undefined =>
  `${getCondition(status?.conditions as Condition[] | undefined, 'Ready')?.status} ${status?.kubernetesVersion}`;

/** Before the caches are started there is nothing to see. */
function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
