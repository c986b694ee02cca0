/**
 * `kidp serve`: one of several replicas in a cluster. Every replica answers the API server; the one that holds the Lease also writes
 * the webhook configurations, status and reports. When it is told to stop it says that it is not ready, answers what is on its way,
 * gives up the Lease and ends. The webhook configurations stay: the other replicas serve on.
 */
import { DEFAULT_PLATFORM_NAMESPACE } from '../policy/index.ts';
import type { ReportApi } from '../reconcile/index.ts';
import { type ClusterConfig, connect, type Logger, loadKubeconfig, telemetrySettings } from '../runtime/index.ts';
import { giveMemoryBack } from '../runtime/internal.ts';
import { type CrdGateFlags, gateOptions } from './crd-gate-options.ts';
import { demandAccess } from './serve/access.ts';
import { listenAddress, webhookTarget } from './serve/address.ts';
import type { DispatchFlags } from './serve/dispatch-flags.ts';
import { dispatchOptions } from './serve/dispatch-options.ts';
import { type LogLevel, logOnStandardOutput } from './serve/log.ts';
import type { RestFlags } from './serve/rest-flags.ts';
import type { RolloutFlags } from './serve/rollout-flags.ts';
import type { TelemetryFlags } from './serve/telemetry-flags.ts';
import { type Platform, startPlatform } from './up/platform.ts';
import { untilStopped } from './up/stop.ts';
import { startUndo, type Undo } from './up/undo.ts';

export interface ServeOptions extends CrdGateFlags, DispatchFlags, RolloutFlags, RestFlags, TelemetryFlags {
  kubeconfig?: string;
  namespace?: string;
  service?: string;
  url?: string;
  host?: string;
  port: number;
  reusePort?: boolean;
  failurePolicy: 'Fail' | 'Ignore';
  drainSeconds: number;
  exceptionNamespace?: string[];
  reportApi: ReportApi;
  logLevel: LogLevel;
}

/** In the platform's namespace. The rights in manifests/install name the Secrets. */
const leaseName = 'kidp';
const certificateSecretName = 'kidp-serving';

export async function serve(options: ServeOptions): Promise<number> {
  const namespace = options.namespace ?? process.env.POD_NAMESPACE ?? DEFAULT_PLATFORM_NAMESPACE;
  const target = webhookTarget(options, namespace);
  const config = loadKubeconfig(options.kubeconfig === undefined ? {} : { file: options.kubeconfig });
  const log = logOnStandardOutput(options.logLevel);
  const stopped = untilStopped();
  const leaveMemory = giveMemoryBack({ log });
  const undo = startUndo();
  undo.add('leaving memory alone', async () => leaveMemory());
  let platform: Platform;
  try {
    platform = await start({ options, namespace, target, config, log, undo });
  } catch (error) {
    await undo.run();
    throw error;
  }
  const failure = await Promise.race([stopped.then((signal) => log.info('stopping', { signal })), failed(platform)]);
  // At once not ready, and drained while the rest is taken back: whoever calls moves to another replica.
  platform.admission.stop().catch(() => {});
  for (const note of await undo.run()) log.warn('something was left behind', { note });
  log.info('stopped');
  return failure === undefined ? 0 : 1;
}

interface Start {
  readonly options: ServeOptions;
  readonly namespace: string;
  readonly target: ReturnType<typeof webhookTarget>;
  readonly config: ClusterConfig;
  readonly log: Logger;
  readonly undo: Undo;
}

async function start({ options, namespace, target, config, log, undo }: Start): Promise<Platform> {
  const host = options.host ?? listenAddress();
  // What is wrong in it is told before anything is asked of the cluster.
  const rollouts = (await import('./serve/rollout-options.ts')).rolloutsOptions(options, host, log);
  const telemetry = telemetrySettings(process.env, options.otlpEndpoint);
  const client = connect(config);
  undo.add('closing the connections', () => client.close());
  await demandAccess(client, namespace, config.source, {
    dispatch: options.dispatch,
    rollouts: rollouts !== undefined,
  });
  // With connections of its own: see ElectionOptions.
  const leaseClient = connect(config);
  undo.add('closing the connection of the lease', () => leaseClient.close());
  const platform = await startPlatform(
    {
      client,
      host,
      port: options.port,
      reusePort: options.reusePort,
      target,
      failurePolicy: options.failurePolicy,
      drainMilliseconds: options.drainSeconds * 1000,
      certificateSecret: { namespace, name: certificateSecretName },
      leaderElection: { client: leaseClient, lease: { namespace, name: leaseName } },
      platformNamespace: namespace,
      exceptionNamespaces: options.exceptionNamespace,
      reportApi: options.reportApi,
      crds: gateOptions(options),
      revisions: { kept: options.crdHistory },
      dispatch: dispatchOptions(options, host, log),
      rollouts,
      telemetry,
      log,
    },
    undo,
  );
  const { admission, statusApi, rest } = platform;
  const ports = { port: admission.port, statusPort: statusApi?.port, restPort: rest?.port };
  log.info('serving', { ...ports, namespace, target, server: config.server });
  void platform.source.whenSynced().then(
    () => log.info('ready', { policies: platform.source.current().set.policies.length }),
    () => {},
  );
  return platform;
}

/** A replica that has lost the Lease does not become a candidate again: it ends with a failure, and is started anew. */
async function failed({ ended }: Platform): Promise<Error> {
  try {
    await ended;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  return new Error('what follows policies has ended');
}
