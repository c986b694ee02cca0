/**
 * A replica of kidp in a cluster: the policies as they are now, the webhook that judges by them, and where it leads what follows
 * policies (the webhook configurations, their status, the scan of what is there, reports).
 */
import { hostname } from 'node:os';
import {
  type Admission,
  type AdmissionOptions,
  admissionMetrics,
  type CrdGateOptions,
  configurationName,
  denialEvents,
  type LivePolicySource,
  policyGate,
  startAdmission,
  startPolicySource,
  startReplicaReport,
  startSync,
} from '../admission/index.ts';
import type { Environment } from '../api/index.ts';
import type { StatusApi } from '../broker/index.ts';
import { DEFAULT_EXCEPTION_NAMESPACES } from '../policy/internal.ts';
import {
  addCrdReconcilers,
  addPolicyReconcilers,
  defaultKeptRevisions,
  defaultRolloutSettings,
  levelsFor,
  type PolicyReconcilers,
  type ReportApi,
  type RevisionOptions,
  type RolloutSettings,
} from '../reconcile/index.ts';
import type { Rest } from '../rest/index.ts';
import {
  type Client,
  EventRecorder,
  type Logger,
  Manager,
  type ManagerOptions,
  type Runnable,
  silentLogger,
  startTelemetry,
  type TelemetrySettings,
} from '../runtime/index.ts';
import type { Cleanup } from './cleanup.ts';
import type { DispatchOptions } from './dispatch.ts';
import type { RolloutsOptions } from './rollouts.ts';

export interface PlatformOptions
  extends Pick<
    AdmissionOptions,
    'host' | 'port' | 'reusePort' | 'target' | 'failurePolicy' | 'certificateSecret' | 'drainMilliseconds'
  > {
  readonly client: Client;
  /** Among several replicas. Without it this is the only one: it leads, and takes the webhook configurations back when it ends. */
  readonly leaderElection?: ManagerOptions['leaderElection'];
  /** Exempt from policies, and where replicas report. */
  readonly platformNamespace: string;
  /** How the gate of CustomResourceDefinitions judges. */
  readonly crds?: CrdGateOptions;
  /** How many versions of each definition are kept. */
  readonly revisions?: Partial<RevisionOptions>;
  readonly identity?: string;
  readonly scan?: { readonly periodMilliseconds?: number; readonly settleMilliseconds?: number };
  /** Where PolicyExceptions count. */
  readonly exceptionNamespaces?: readonly string[] | undefined;
  /** What the findings of the scan are written as. */
  readonly reportApi?: ReportApi | undefined;
  /** What admitted objects become, and through whom. Left out: policies are followed, and nothing is dispatched. */
  readonly dispatch?: DispatchOptions | undefined;
  /** How operators are rolled out over clusters. Left out: they are not. */
  readonly rollouts?: RolloutsOptions | undefined;
  /** Where traces and metrics go, besides `/metrics`. Left out: nowhere. */
  readonly telemetry?: TelemetrySettings | undefined;
  readonly log?: Logger;
}

export interface Platform {
  readonly admission: Admission;
  /** Where brokers report; undefined where nothing is dispatched. */
  readonly statusApi: StatusApi | undefined;
  /** The API of rollouts; undefined where it is not served. */
  readonly rest: Rest | undefined;
  readonly source: LivePolicySource;
  readonly reconcilers: PolicyReconcilers;
  /** What follows policies has ended: resolves when it was taken back, rejects where it failed or the Lease was lost. */
  readonly ended: Promise<void>;
}

/** Each part is taken back in reverse: first whoever writes, then the webhook, and the policies last. */
export async function startPlatform(options: PlatformOptions, cleanup: Cleanup): Promise<Platform> {
  const { client, platformNamespace, leaderElection, log = silentLogger } = options;
  const exceptionNamespaces = options.exceptionNamespaces ?? DEFAULT_EXCEPTION_NAMESPACES;
  const identity = options.identity ?? `${hostname()}-${process.pid}`;
  const source = startPolicySource({
    client,
    platformNamespace,
    exceptionNamespaces,
    log,
  });
  cleanup.add('closing the watches of policies', () => source.stop());
  const recorder = new EventRecorder({ client, reportingController: 'platform.company.com/admission', log });
  const metrics = admissionMetrics();
  const { registry } = metrics;
  const telemetry =
    options.telemetry === undefined ? undefined : startTelemetry({ settings: options.telemetry, registry, log });
  if (telemetry !== undefined) cleanup.add('sending the last of the telemetry', () => telemetry.stop());
  const { host, port, reusePort, target, failurePolicy, certificateSecret, drainMilliseconds } = options;
  const admission = await startAdmission({
    client,
    host,
    port,
    reusePort,
    target,
    failurePolicy,
    certificateSecret,
    drainMilliseconds,
    identity,
    installation: leaderElection && `${leaderElection.lease.namespace}/${leaderElection.lease.name}`,
    platformNamespace,
    install: leaderElection === undefined,
    dispatches: options.dispatch !== undefined,
    policies: source,
    owners: source.owners,
    mapping: () => source.mapping,
    policyGate: policyGate({ client, source }),
    crds: options.crds ?? {},
    asksAboutBreaking:
      options.rollouts === undefined
        ? undefined
        : asksAboutBreaking(options.rollouts.settings ?? defaultRolloutSettings),
    observer: denialEvents(recorder),
    metrics,
    log,
  });
  cleanup.add('removing the webhook configurations', () => admission.stop());
  const reporting = startReplicaReport({ client, source, identity, ready: () => admission.ready, log });
  cleanup.add('taking back the report of this replica', () => reporting.stop());
  const manager = new Manager({
    client,
    log,
    registry,
    stopMilliseconds: 5_000,
    ...(leaderElection === undefined ? {} : { leaderElection }),
  });
  if (leaderElection !== undefined) manager.add(keepRegistered(admission, source, log));
  const reconcilers = addPolicyReconcilers(manager, {
    view: source,
    platformNamespace,
    exceptionNamespaces,
    configurationName,
    reportApi: options.reportApi,
    ...(options.scan === undefined ? {} : { scan: options.scan }),
  });
  addCrdReconcilers(manager, { kept: defaultKeptRevisions, ...options.revisions });
  const parts = {
    manager,
    client,
    source,
    platformNamespace,
    registry,
    recorder,
    certificates: admission.certificates,
    log,
  };
  const dispatch =
    options.dispatch === undefined
      ? undefined
      : await (await import('./dispatch.ts')).addDispatch(parts, options.dispatch, cleanup);
  const rollouts =
    options.rollouts === undefined
      ? undefined
      : await (await import('./rollouts.ts')).addRollouts(
          parts,
          { tracer: telemetry?.tracer, ...options.rollouts },
          cleanup,
        );
  manager.add(recorder);
  const stopping = new AbortController();
  const running = manager.start(stopping.signal);
  running.catch((error: unknown) => log.error('what follows policies has ended', { error }));
  cleanup.add('stopping what follows policies', async () => {
    stopping.abort();
    // Why it has failed is told by `ended`.
    await running.catch(() => {});
  });
  return {
    admission,
    statusApi: dispatch?.statusApi,
    rest: rollouts?.rest,
    source,
    reconcilers,
    ended: running,
  };
}

const asksAboutBreaking = (settings: RolloutSettings) => (environment: Environment) =>
  levelsFor(settings, 'BreakingCRDChange', environment).length > 0;

/** The configurations stay when a leader ends: the other replicas serve on. */
function keepRegistered({ configurations }: Admission, source: LivePolicySource, log: Logger): Runnable {
  return {
    name: 'webhook configurations',
    leaderOnly: true,
    async start(signal) {
      await source.whenSynced(signal).catch(() => {});
      if (signal.aborted || configurations === undefined) return;
      const sync = startSync({
        apply: () => configurations.apply(source.current().set.scope),
        subscribe: (changed) => source.subscribe(changed),
        log,
      });
      sync.trigger();
      const unwatch = configurations.watch(() => sync.trigger());
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      await unwatch();
      await sync.stop();
    },
  };
}
