/**
 * Wires rollouts over many clusters: the keys that encrypt kubeconfigs, connections to clusters, charts, Helm, health checks, the
 * controllers, e-mail and the REST API. Every replica serves the API; only the leader rolls out.
 */
import { Counter, type Registry } from 'prom-client';
import {
  type HelmLocation,
  healthChecker,
  openCharts,
  openDefinitionStore,
  openFleet,
  openInstaller,
  openSnapshotStore,
  openSwitcher,
  type SealingKeys,
} from '../fleet/index.ts';
import {
  addApprovalMail,
  addClusterReconciler,
  addOperatorHealth,
  addOperatorReconciler,
  addRolloutReconciler,
  inventoryMetrics,
  type MailOptions,
  mailerOf,
  type RolloutSettings,
} from '../reconcile/index.ts';
import { type Rest, type RestOptions, startRest } from '../rest/index.ts';
import { type Client, type EventRecorder, type Logger, type Manager, noTracer, type Tracer } from '../runtime/index.ts';
import type { AddressGuard, ServingCertificate } from '../runtime/internal.ts';
import type { Cleanup } from './cleanup.ts';
import { startComparing } from './crd-comparison.ts';
import { countReplicas } from './replicas.ts';

export interface RolloutsOptions {
  readonly keys: SealingKeys;
  readonly settings?: RolloutSettings | undefined;
  /** The Helm binary; by default the one on the PATH. */
  readonly helm?: HelmLocation | undefined;
  /** The directory that `spec.chart.path` of Operators is relative to. */
  readonly charts?: string | undefined;
  readonly mail?: MailOptions | undefined;
  readonly rest?: RestServing | undefined;
  readonly tracer?: Tracer | undefined;
  /** The intervals of cluster checks, health checks, repository checks and retries; the defaults are those of the requirement. */
  readonly intervals?:
    | { readonly clusters?: number; readonly health?: number; readonly repositories?: number; readonly retry?: number }
    | undefined;
}

export interface RestServing extends Pick<RestOptions, 'host' | 'port' | 'authentication' | 'insecureHttp'> {
  /** If unset, plain HTTP: on this machine, or behind a proxy that terminates TLS. */
  readonly tls?: ServingCertificate | 'webhook' | undefined;
}

export interface RolloutsParts {
  readonly manager: Manager;
  readonly client: Client;
  readonly platformNamespace: string;
  readonly registry: Registry;
  readonly recorder: EventRecorder;
  readonly guard: AddressGuard;
  /** The certificates of the webhook. */
  readonly certificates: ServingCertificate;
  readonly log: Logger;
}

/** `addRollouts` is called before the manager starts. What it adds to the manager stops with it; `cleanup` stops the rest. */
export async function addRollouts(
  parts: RolloutsParts,
  options: RolloutsOptions,
  cleanup: Cleanup,
): Promise<{ readonly rest: Rest | undefined }> {
  const { manager, client, platformNamespace: systemNamespace, registry, recorder, guard, log } = parts;
  const { keys, helm, settings, intervals = {}, tracer = noTracer } = options;
  // Wrong keys fail the start, rather than the first connection to a cluster.
  await keys.current();
  const fleet = openFleet({ client, systemNamespace, keys, guard, log });
  cleanup.add('closing the connections to clusters', () => fleet.stop());
  const charts = openCharts({
    client,
    systemNamespace,
    folder: options.charts,
    guard,
    ...given({ helm }),
  });
  const store = { client: manager.leaderClient, namespace: systemNamespace };
  const snapshots = openSnapshotStore(store);
  const definitions = openDefinitionStore(store);
  const health = healthChecker({ tracer });
  const installer = openInstaller({ tracer, ...given({ helm }) });
  const inventory = inventoryMetrics(manager, registry);
  const onValidated = inventory.definitionValidated;
  addClusterReconciler(manager, {
    fleet,
    keys,
    systemNamespace,
    recorder,
    onRegistered: inventory.clusterRegistered,
    ...given({ intervalMilliseconds: intervals.clusters }),
  });
  addOperatorReconciler(manager, {
    charts,
    definitions,
    recorder,
    onValidated,
    ...given({ recheckMilliseconds: intervals.repositories }),
  });
  addOperatorHealth(manager, {
    fleet,
    health,
    snapshots,
    recorder,
    registry,
    ...given({ intervalMilliseconds: intervals.health }),
  });
  addRolloutReconciler(manager, {
    fleet,
    charts,
    snapshots,
    installer,
    switcher: openSwitcher({ installer }),
    health,
    settings,
    tracer,
    registry,
    recorder,
    log,
    onValidated,
    systemNamespace,
    retryMilliseconds: intervals.retry,
  });
  if (options.mail !== undefined) {
    addApprovalMail(manager, { mailer: mailerOf(options.mail), log, recorder, counted: mails(registry) });
  }
  if (options.rest === undefined) return { rest: undefined };
  const { tls, ...serving } = options.rest;
  const comparing = startComparing();
  cleanup.add('stopping the CRD comparisons of the REST API', () => comparing.stop());
  const replicas = countReplicas({ client, namespace: systemNamespace, log });
  manager.add(replicas);
  const rest = await startRest({
    ...serving,
    tls: tls === 'webhook' ? parts.certificates : tls,
    client,
    systemNamespace,
    charts,
    sealingKeys: keys,
    compare: comparing.compare,
    replicas: replicas.count,
    definitions: (reference) => openDefinitionStore({ client, namespace: systemNamespace }).get(reference),
    registry,
    onValidated,
    tracer,
    log,
  });
  cleanup.add('closing the REST API', () => rest.stop());
  return { rest };
}

const mails = (registry: Registry) =>
  new Counter({
    name: 'kidp_approval_mails_total',
    help: 'E-mails about Approvals, by result',
    labelNames: ['result'],
    registers: [registry],
  });

/** Drops undefined options, so that the callee applies its defaults. */
const given = <Options extends object>(options: Options): { [K in keyof Options]?: Exclude<Options[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
