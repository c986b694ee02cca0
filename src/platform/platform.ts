/**
 * Starts the parts of one replica: the live policies, the admission webhook that evaluates them, and the controllers, which only the
 * leader runs (webhook configurations, policy status, the background scan and its reports, dispatch, rollouts).
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
  subscribeToAll,
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
import { type AddressGuard, addressGuard } from '../runtime/internal.ts';
import { publishAuthorities } from './authorities.ts';
import type { Cleanup } from './cleanup.ts';
import type { DispatchOptions } from './dispatch.ts';
import type { RolloutsOptions } from './rollouts.ts';

export interface PlatformOptions
  extends Pick<
    AdmissionOptions,
    | 'host'
    | 'port'
    | 'reusePort'
    | 'target'
    | 'failurePolicy'
    | 'failurePolicies'
    | 'ownerClusterRole'
    | 'certificateSecret'
    | 'clients'
    | 'certificates'
    | 'drainMilliseconds'
    | 'breakGlassGroup'
  > {
  readonly client: Client;
  /** Set for one of several replicas. Without it this is the only one: it leads, and removes the webhook configurations when it stops. */
  readonly leaderElection?: ManagerOptions['leaderElection'];
  /** The namespace that is exempt from policies, and in which replicas report. */
  readonly platformNamespace: string;
  /** The settings of the CRD gate. */
  readonly crds?: CrdGateOptions;
  /** Runs the CRD gate and nothing else: no policies, no gates of platform kinds, no dispatch and no rollouts. */
  readonly crdsOnly?: boolean | undefined;
  /** How many revisions of each CRD are kept. */
  readonly revisions?: Partial<RevisionOptions>;
  readonly identity?: string;
  readonly scan?: { readonly periodMilliseconds?: number; readonly settleMilliseconds?: number };
  /** The namespaces whose PolicyExceptions are honored. */
  readonly exceptionNamespaces?: readonly string[] | undefined;
  /** The namespaces that policies exempt, beside kube-system and the platform namespace. */
  readonly excludedNamespaces?: readonly string[] | undefined;
  /** The API group of the reports that hold the findings of the scan. */
  readonly reportApi?: ReportApi | undefined;
  /** Settings for dispatching admitted objects to brokers. If unset, nothing is dispatched. */
  readonly dispatch?: DispatchOptions | undefined;
  /** Settings for rollouts of operators. If unset, there are none. */
  readonly rollouts?: RolloutsOptions | undefined;
  /** The collector of traces and metrics. If unset, metrics are only at `/metrics`. */
  readonly telemetry?: TelemetrySettings | undefined;
  /** The guard of connections to addresses that users write; by default nothing that it refuses is allowed. */
  readonly guard?: AddressGuard | undefined;
  readonly log?: Logger;
}

export interface Platform {
  readonly admission: Admission;
  /** The API at which brokers report; undefined without dispatch. */
  readonly statusApi: StatusApi | undefined;
  /** The REST API of rollouts; undefined if it is not served. */
  readonly rest: Rest | undefined;
  /** Undefined if only the CRD gate runs. */
  readonly source: LivePolicySource | undefined;
  readonly reconcilers: PolicyReconcilers;
  /** Settles when the controllers have stopped: resolves after a cleanup, rejects if they failed or the Lease was lost. */
  readonly ended: Promise<void>;
}

/** `startPlatform` starts all parts. The cleanup stops them in reverse: the controllers first, then the webhook, the policies last. */
export async function startPlatform(options: PlatformOptions, cleanup: Cleanup): Promise<Platform> {
  const { client, platformNamespace, excludedNamespaces, leaderElection, log = silentLogger } = options;
  const exceptionNamespaces = options.exceptionNamespaces ?? DEFAULT_EXCEPTION_NAMESPACES;
  const identity = options.identity ?? `${hostname()}-${process.pid}`;
  const source =
    options.crdsOnly === true
      ? undefined
      : startPolicySource({ client, platformNamespace, excludedNamespaces, exceptionNamespaces, log });
  if (source !== undefined) cleanup.add('closing the watches of policies', () => source.stop());
  const recorder = new EventRecorder({ client, reportingController: 'platform.company.com/admission', log });
  const metrics = admissionMetrics();
  const { registry } = metrics;
  const telemetry =
    options.telemetry === undefined ? undefined : startTelemetry({ settings: options.telemetry, registry, log });
  if (telemetry !== undefined) cleanup.add('flushing telemetry', () => telemetry.stop());
  const { host, port, reusePort, target, certificateSecret, certificates, clients, drainMilliseconds } = options;
  const { failurePolicy, failurePolicies, ownerClusterRole, crdsOnly } = options;
  const untrusted = clients === undefined;
  const admission = await startAdmission({
    client,
    host,
    port,
    reusePort,
    target,
    failurePolicy,
    failurePolicies,
    ownerClusterRole,
    certificateSecret,
    certificates,
    clients,
    drainMilliseconds,
    identity,
    installation: leaderElection && `${leaderElection.lease.namespace}/${leaderElection.lease.name}`,
    platformNamespace,
    excludedNamespaces,
    breakGlassGroup: options.breakGlassGroup,
    install: leaderElection === undefined,
    dispatches: options.dispatch !== undefined,
    policies: source,
    owners: source?.owners,
    mapping: source && (() => source.mapping),
    untrusted,
    policyGate: source && policyGate({ client, source, untrusted }),
    crds: options.crds ?? {},
    crdsOnly,
    asksAboutBreaking:
      options.rollouts === undefined
        ? undefined
        : asksAboutBreaking(options.rollouts.settings ?? defaultRolloutSettings),
    observer: denialEvents(recorder),
    metrics,
    log,
  });
  cleanup.add('removing the webhook configurations', () => admission.stop());
  if (source !== undefined) {
    const reporting = startReplicaReport({ client, source, identity, ready: () => admission.ready, log });
    cleanup.add('removing the report of this replica', () => reporting.stop());
  }
  const manager = new Manager({
    client,
    log,
    registry,
    stopMilliseconds: 5_000,
    ...(leaderElection === undefined ? {} : { leaderElection }),
  });
  if (leaderElection !== undefined) {
    manager.add(keepRegistered(admission, source, log));
    const others = options.dispatch?.statusApi?.authorities;
    const bundles = [() => admission.caBundle, ...(others === undefined ? [] : [others])];
    const { certificates: served } = admission;
    manager.add(
      publishAuthorities({
        client: manager.leaderClient,
        namespace: platformNamespace,
        bundles,
        subscribe: (changed) => served.subscribe(changed),
        log,
      }),
    );
  }
  const reconcilers =
    source === undefined
      ? noReconcilers
      : addPolicyReconcilers(manager, {
          view: source,
          platformNamespace,
          exceptionNamespaces,
          configurationName,
          authenticates: !untrusted,
          reportApi: options.reportApi,
          registry,
          ...(options.scan === undefined ? {} : { scan: options.scan }),
        });
  addCrdReconcilers(manager, { kept: defaultKeptRevisions, ...options.revisions });
  const parts = {
    manager,
    client,
    platformNamespace,
    registry,
    recorder,
    certificates: admission.certificates,
    guard: options.guard ?? addressGuard(),
    log,
  };
  const dispatch =
    options.dispatch === undefined || source === undefined
      ? undefined
      : await (await import('./dispatch.ts')).addDispatch({ ...parts, source }, options.dispatch, cleanup);
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
  running.catch((error: unknown) => log.error('controllers stopped', { error }));
  cleanup.add('stopping the controllers', async () => {
    stopping.abort();
    // A failure is reported through `ended`.
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

/** If only the CRD gate runs, there are no policies to reconcile. */
const noReconcilers: PolicyReconcilers = { rescan() {}, scanOf: () => undefined };

const asksAboutBreaking = (settings: RolloutSettings) => (environment: Environment) =>
  levelsFor(settings, 'BreakingCRDChange', environment).length > 0;

/** Keeps the webhook configurations in sync. They stay when a leader stops, because the other replicas keep serving. */
function keepRegistered(
  { configurations, certificates }: Admission,
  source: LivePolicySource | undefined,
  log: Logger,
): Runnable {
  return {
    name: 'webhook configurations',
    leaderOnly: true,
    async start(signal) {
      await source?.whenSynced(signal).catch(() => {});
      if (signal.aborted || configurations === undefined) return;
      const sync = startSync({
        apply: () => configurations.apply(source?.current().set.scope ?? []),
        subscribe: subscribeToAll(certificates, ...(source === undefined ? [] : [source])),
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
