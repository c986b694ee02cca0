/** One of several replicas in a cluster (`kidp serve`): checks its access, joins the leader election and starts the platform. */
import type { CrdGateOptions } from '../admission/index.ts';
import { type ClusterConfig, connect, type Logger } from '../runtime/index.ts';
import { demandAccess } from './access.ts';
import type { Cleanup } from './cleanup.ts';
import { type Platform, type PlatformOptions, startPlatform } from './platform.ts';

/** The names are in the platform's namespace. The Role in manifests/install names the Secret. */
const leaseName = 'kidp';
const certificateSecretName = 'kidp-serving';

interface ReplicaOptions
  extends Omit<PlatformOptions, 'client' | 'leaderElection' | 'certificateSecret' | 'platformNamespace'> {
  readonly config: ClusterConfig;
  /** The namespace of the platform: its Lease, its certificates and the reports of its replicas. */
  readonly namespace: string;
  readonly crds: CrdGateOptions;
  readonly log: Logger;
}

export async function startReplica(options: ReplicaOptions, cleanup: Cleanup): Promise<Platform> {
  const { config, namespace, log, ...platformOptions } = options;
  const client = connect(config);
  cleanup.add('closing the connections', () => client.close());
  await demandAccess(client, namespace, config.source, {
    crdsOnly: options.crdsOnly,
    dispatch: options.dispatch !== undefined,
    rollouts: options.rollouts !== undefined,
  });
  // The election has connections of its own: see ElectionOptions.
  const leaseClient = connect(config);
  cleanup.add('closing the connection of the lease', () => leaseClient.close());
  const platform = await startPlatform(
    {
      ...platformOptions,
      client,
      log,
      certificateSecret: options.certificates === undefined ? { namespace, name: certificateSecretName } : undefined,
      leaderElection: { client: leaseClient, lease: { namespace, name: leaseName } },
      platformNamespace: namespace,
    },
    cleanup,
  );
  const { admission, statusApi, rest, source } = platform;
  const ports = { port: admission.port, statusPort: statusApi?.port, restPort: rest?.port };
  log.info('serving', { ...ports, namespace, target: options.target, server: config.server });
  if (source === undefined) log.info('ready', { policies: 0 });
  void source?.whenSynced().then(
    () => log.info('ready', { policies: source.current().set.policies.length }),
    () => {},
  );
  return platform;
}
