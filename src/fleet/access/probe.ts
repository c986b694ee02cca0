/** Checks that a cluster is reachable, and returns its Kubernetes version. */
import { type Client, type Clock, type ClusterConfig, connect, systemClock } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { readClusterKubeconfig } from '../kubeconfig/index.ts';
import { accessFailure } from './failures.ts';

interface Probed {
  /** For example `v1.36.3`. */
  readonly kubernetesVersion: string;
  readonly milliseconds: number;
}

interface ProbeOptions {
  readonly timeoutMilliseconds?: number;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/**
 * `probeKubeconfig` validates a kubeconfig and tries its credentials before a Cluster is created. Rejects with
 * FleetError.
 */
export async function probeKubeconfig(
  cluster: string,
  kubeconfig: string,
  options: ProbeOptions = {},
): Promise<Probed> {
  return probeConfig(cluster, readClusterKubeconfig(kubeconfig), options);
}

async function probeConfig(cluster: string, config: ClusterConfig, options: ProbeOptions = {}): Promise<Probed> {
  const client = connect(config, { connections: 1 });
  try {
    return await probe(cluster, client, options);
  } finally {
    await client.close();
  }
}

/** `probe` rejects with FleetError `cluster/unreachable` or `cluster/forbidden`. */
export async function probe(cluster: string, client: Client, options: ProbeOptions = {}): Promise<Probed> {
  const { clock = systemClock, timeoutMilliseconds = 10_000, signal } = options;
  const ask = (method: 'GET' | 'POST', path: string, body?: object) =>
    client.request({
      method,
      path,
      timeoutMilliseconds,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
  try {
    const began = clock.monotonic();
    const { status, text } = await ask('GET', '/version');
    const milliseconds = Math.round(clock.monotonic() - began);
    const version = status === 200 ? versionIn(text) : undefined;
    if (version === undefined) {
      throw new FleetError(
        'cluster/unreachable',
        `The server of cluster ${cluster} is not a Kubernetes API server (status ${status})`,
      );
    }
    // The version endpoint is public, so the credentials are checked separately.
    const self = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} };
    await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', self);
    return { kubernetesVersion: version, milliseconds };
  } catch (error) {
    throw accessFailure(cluster, error);
  }
}

function versionIn(text: string): string | undefined {
  try {
    const { gitVersion } = JSON.parse(text) as { gitVersion?: unknown };
    return typeof gitVersion === 'string' && /^v\d+\.\d+[\w.+-]{0,48}$/.test(gitVersion) ? gitVersion : undefined;
  } catch {
    return undefined;
  }
}
