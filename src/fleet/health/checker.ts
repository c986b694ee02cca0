/** Checks the health of an operator on a cluster: its pods, webhooks and custom resources. */
import {
  ApiError,
  type Client,
  type Clock,
  ConnectionError,
  noTracer,
  systemClock,
  type Tracer,
} from '../../runtime/index.ts';
import type { HealthChecker, HealthReport, PartHealth, WorkContext } from '../contract.ts';
import { type ClusterObjects, freshObjects } from './objects.ts';
import { type Finding, finding, worst } from './part.ts';
import { checkPods } from './pods.ts';
import { type HealthProfile, Profiles } from './profile.ts';
import { checkReconciliation } from './reconciliation.ts';
import { RestartMemory } from './restarts.ts';
import { StalenessMemory } from './staleness.ts';
import { Stopwatch } from './stopwatch.ts';
import { type HealthThresholds, thresholdsOf } from './thresholds.ts';
import { checkWebhooks } from './webhook.ts';

interface HealthCheckerOptions {
  readonly clock?: Clock;
  readonly tracer?: Tracer;
}

/** The input of one check over objects that the caller has read. */
interface Look {
  readonly cluster: string;
  readonly objects: ClusterObjects;
  /** The client for dry runs. */
  readonly client: Pick<Client, 'create'>;
  readonly profile: HealthProfile;
  readonly thresholds: HealthThresholds;
  readonly podsOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface ClusterHealth extends HealthChecker {
  /** The same check over objects that the caller has read, without a trace. Rejects only if the signal aborts it. */
  look(look: Look): Promise<HealthReport>;
  /** Drops the state of a removed cluster. */
  forget(cluster: string): void;
}

interface Memory {
  readonly restarts: RestartMemory;
  readonly staleness: StalenessMemory;
  sweptOnce: number;
}

type Part = 'pods' | 'webhook' | 'reconciliation';

const spanOf = {
  pods: 'pod.healthcheck',
  webhook: 'webhook.healthcheck',
  reconciliation: 'crd.reconciliation.check',
} as const;

/** State that was not updated for this long cannot matter, whatever the window. */
const forgottenAfter = 24 * 3_600_000;
const sweepEvery = 600_000;

export function healthChecker({ clock = systemClock, tracer = noTracer }: HealthCheckerOptions = {}): ClusterHealth {
  const memories = new Map<string, Memory>();
  const profiles = new Profiles();
  const stopwatch = new Stopwatch(clock);
  const memoryOf = (cluster: string): Memory => {
    const now = clock.now();
    const memory = memories.get(cluster) ?? {
      restarts: new RestartMemory(),
      staleness: new StalenessMemory(),
      sweptOnce: now,
    };
    memories.set(cluster, memory);
    if (now - memory.sweptOnce > sweepEvery) {
      memory.restarts.sweep(now - forgottenAfter);
      memory.staleness.sweep(now - forgottenAfter);
      memory.sweptOnce = now;
    }
    return memory;
  };

  const judge = async (look: Look, traced: <T>(part: Part, check: () => Promise<T>) => Promise<T>) => {
    const { objects, client, profile, thresholds, signal, podsOnly = false } = look;
    const { restarts, staleness } = memoryOf(look.cluster);
    const began = clock.monotonic();
    const now = clock.now();
    const timed = async (part: Part, check: () => Promise<Finding & { running?: number }>) => {
      const start = clock.monotonic();
      const found = await traced(part, () => check().catch((error) => unanswered(error, signal)));
      return { ...found, milliseconds: clock.monotonic() - start };
    };
    const later = async () => finding('NotChecked', 'not checked before the switch');
    const pods = await timed('pods', () =>
      checkPods({ objects, profile, thresholds: thresholds.pods, restarts, now, mayBeAtZero: podsOnly }),
    );
    const webhook = await timed('webhook', () =>
      podsOnly
        ? later()
        : checkWebhooks({
            objects,
            client,
            profile,
            thresholds: thresholds.webhook,
            clock,
            stopwatch,
            ...(signal === undefined ? {} : { signal }),
          }),
    );
    const reconciliation = await timed('reconciliation', () =>
      podsOnly
        ? later()
        : checkReconciliation({ objects, profile, thresholds: thresholds.reconciliation, staleness, now }),
    );
    return reportOf({ pods, webhook, reconciliation }, clock.now(), clock.monotonic() - began);
  };

  return {
    check: ({ cluster, client }, { operator, snapshot, podsOnly = false }, context) =>
      tracer.span('operator.healthcheck', spanOptions(cluster, context), async (span) => {
        const { signal } = context;
        const look: Look = {
          cluster,
          client,
          objects: freshObjects(client, signal),
          profile: profiles.of(snapshot),
          thresholds: thresholdsOf(operator),
          podsOnly,
          ...(signal === undefined ? {} : { signal }),
        };
        const report = await judge(look, (part, check) =>
          tracer.span(spanOf[part], { parent: span.traceparent }, async (inner) => {
            const found = await check();
            inner.set({ 'health.state': (found as Finding).state });
            return found;
          }),
        );
        span.set({ 'health.state': report.state });
        return report;
      }),
    look: (look) => judge(look, (_part, check) => check()),
    forget: (cluster) => void memories.delete(cluster),
  };
}

/** An unreachable component may be healthy: that is not a failure of the operator. */
function unanswered(error: unknown, signal: AbortSignal | undefined): Finding {
  if (signal?.aborted === true) throw error;
  if (error instanceof ConnectionError) {
    return finding('Unknown', `the API server of the cluster is unreachable: ${error.failure}`);
  }
  if (error instanceof ApiError) {
    return finding('Unknown', `the API server of the cluster answered ${error.status} ${error.reason}`);
  }
  throw error;
}

function reportOf(
  parts: { pods: PartHealth & { running?: number }; webhook: PartHealth; reconciliation: PartHealth },
  now: number,
  milliseconds: number,
): HealthReport {
  const { running = 0, ...pods } = parts.pods;
  const all = [pods, parts.webhook, parts.reconciliation];
  const { state, message = '' } = worst(all);
  return {
    // If the Operator disables all checks, it counts as healthy.
    state: state === 'NotChecked' ? 'Healthy' : state,
    message,
    controllerPods: running,
    pods,
    webhook: parts.webhook,
    reconciliation: parts.reconciliation,
    checkedAt: new Date(now).toISOString(),
    milliseconds,
  };
}

function spanOptions(cluster: string, { operator, version, deploymentId, traceparent }: WorkContext) {
  return {
    attributes: {
      'cluster.name': cluster,
      ...(operator === undefined ? {} : { 'operator.name': operator }),
      ...(version === undefined ? {} : { 'operator.version': version }),
      ...(deploymentId === undefined ? {} : { 'deployment.id': deploymentId }),
    },
    ...(traceparent === undefined ? {} : { parent: traceparent }),
  };
}
