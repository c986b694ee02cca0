/**
 * `kidp serve`: one of several replicas in a cluster. Every replica answers the API server; the leader also writes the webhook
 * configurations, status and reports. On SIGTERM a replica reports that it is not ready, answers the requests under way, releases the
 * Lease and exits. The webhook configurations stay, because the other replicas keep serving.
 */
import { createCleanup, type Platform, startReplica } from '../../platform/index.ts';
import { DEFAULT_PLATFORM_NAMESPACE } from '../../policy/internal.ts';
import { type Logger, loadKubeconfig, telemetrySettings } from '../../runtime/index.ts';
import { giveMemoryBack } from '../../runtime/internal.ts';
import { guardOf } from '../common/address-guard.ts';
import { gateOptions } from '../common/crd-gate-flags.ts';
import { InputError } from '../common/failure.ts';
import { logOnStandardOutput } from '../common/log.ts';
import { untilStopped } from '../common/stop.ts';
import { listenAddress, webhookTarget } from './address.ts';
import type { ServeFlags } from './command.ts';
import { webhookCertificate } from './options/certificate-files.ts';
import { clientAuthority } from './options/client-ca.ts';
import { dispatchOptions } from './options/dispatch.ts';

export async function serve(flags: ServeFlags): Promise<number> {
  const namespace = flags.namespace ?? process.env.POD_NAMESPACE ?? DEFAULT_PLATFORM_NAMESPACE;
  const target = webhookTarget(flags, namespace);
  const config = loadKubeconfig(flags.kubeconfig === undefined ? {} : { file: flags.kubeconfig });
  const log = logOnStandardOutput(flags.logLevel);
  const stopped = untilStopped();
  const leaveMemory = giveMemoryBack({ log });
  const cleanup = createCleanup();
  cleanup.add('leaving memory alone', async () => leaveMemory());
  let platform: Platform;
  try {
    platform = await startReplica({ ...(await optionsOf(flags, log)), config, namespace, target, log }, cleanup);
  } catch (error) {
    await cleanup.run();
    throw error;
  }
  const failure = await Promise.race([stopped.then((signal) => log.info('stopping', { signal })), failed(platform)]);
  // Not ready at once, and drained during the rest of the cleanup, so that callers move to another replica.
  platform.admission.stop().catch(() => {});
  for (const note of await cleanup.run()) log.warn('cleanup incomplete', { note });
  log.info('stopped');
  return failure === undefined ? 0 : 1;
}

/** Wrong flags are reported before the cluster is contacted. */
async function optionsOf(flags: ServeFlags, log: Logger) {
  const host = flags.host ?? listenAddress();
  if (flags.crdGateOnly === true && (flags.clusterKeys ?? flags.clusterKeysCommand ?? flags.restPort) !== undefined) {
    throw new InputError('crd-gate-only', '--crd-gate-only runs nothing else: remove it, or the flags for rollouts.');
  }
  const { rolloutsOptions } = await import('./options/rollouts.ts');
  return {
    host,
    port: flags.port,
    reusePort: flags.reusePort,
    clients: clientAuthority(flags, log),
    certificates: flags.webhookTls === undefined ? undefined : webhookCertificate(flags.webhookTls, log),
    failurePolicy: flags.failurePolicy,
    failurePolicies: flags.failurePolicyFor,
    ownerClusterRole: flags.ownerClusterRole,
    crdsOnly: flags.crdGateOnly,
    excludedNamespaces: flags.excludeNamespace,
    breakGlassGroup: flags.breakGlassGroup,
    drainMilliseconds: flags.drainSeconds * 1000,
    exceptionNamespaces: flags.exceptionNamespace,
    reportApi: flags.reportApi,
    crds: gateOptions(flags),
    revisions: { kept: flags.crdHistory },
    rollouts: await rolloutsOptions(flags, host, log),
    guard: guardOf(flags),
    telemetry: telemetrySettings(process.env, flags.otlpEndpoint),
    dispatch: flags.crdGateOnly === true ? undefined : dispatchOptions(flags, host, log),
  };
}

/** A replica that has lost the Lease does not become a candidate again: it exits with a failure and is restarted. */
async function failed({ ended }: Platform): Promise<Error> {
  try {
    await ended;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  return new Error('the controllers stopped unexpectedly');
}
