/**
 * Rollouts over many clusters, put together: the keys that kubeconfigs are sealed with, the way into clusters, charts, Helm, health, the
 * controllers that use them, e-mail, and the REST API. Every replica serves the API; only the one that leads rolls out.
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
import type { ServingCertificate } from '../runtime/internal.ts';
import type { Cleanup } from './cleanup.ts';
import { startComparing } from './crd-comparison.ts';
import { countReplicas } from './replicas.ts';

export interface RolloutsOptions {
  readonly keys: SealingKeys;
  readonly settings?: RolloutSettings | undefined;
  /** Where Helm is; left out, on the PATH. */
  readonly helm?: HelmLocation | undefined;
  /** Where `spec.chart.path` of Operators leads. */
  readonly charts?: string | undefined;
  /** Networks that charts are fetched from although they are this machine's, link-local or a cloud's own. Left out, this machine. */
  readonly chartNetworks?: readonly string[] | undefined;
  readonly mail?: MailOptions | undefined;
  readonly rest?: RestServing | undefined;
  readonly tracer?: Tracer | undefined;
  /** How often clusters and what is on them are looked at, and repositories asked; the defaults are those of the requirement. */
  readonly intervals?:
    | { readonly clusters?: number; readonly health?: number; readonly repositories?: number; readonly retry?: number }
    | undefined;
}

export interface RestServing extends Pick<RestOptions, 'host' | 'port' | 'authentication' | 'insecureHttp'> {
  /** Left out: plain HTTP, on this machine or behind somebody who encrypts. */
  readonly tls?: ServingCertificate | 'as the webhook' | undefined;
}

export interface RolloutsParts {
  readonly manager: Manager;
  readonly client: Client;
  readonly platformNamespace: string;
  readonly registry: Registry;
  readonly recorder: EventRecorder;
  /** What the webhook serves with. */
  readonly certificates: ServingCertificate;
  readonly log: Logger;
}

/** Before the manager starts. What it adds to the manager ends with it; the rest is taken back by `undo`. */
export async function addRollouts(
  parts: RolloutsParts,
  options: RolloutsOptions,
  cleanup: Cleanup,
): Promise<{ readonly rest: Rest | undefined }> {
  const { manager, client, platformNamespace: systemNamespace, registry, recorder, log } = parts;
  const { keys, helm, settings, intervals = {}, tracer = noTracer } = options;
  // Wrong keys are better told now than by the first cluster.
  await keys.current();
  const fleet = openFleet({ client, systemNamespace, keys, log });
  cleanup.add('closing the connections to clusters', () => fleet.stop());
  const charts = openCharts({
    client,
    systemNamespace,
    folder: options.charts,
    networks: options.chartNetworks,
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
  cleanup.add('ending the comparisons of the REST API', () => comparing.stop());
  const replicas = countReplicas({ client, namespace: systemNamespace, log });
  manager.add(replicas);
  const rest = await startRest({
    ...serving,
    tls: tls === 'as the webhook' ? parts.certificates : tls,
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
    help: 'E-mails about Approvals, by what became of them',
    labelNames: ['result'],
    registers: [registry],
  });

/** Without what is undefined: an option that is left out has its default. */
const given = <Options extends object>(options: Options): { [K in keyof Options]?: Exclude<Options[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
