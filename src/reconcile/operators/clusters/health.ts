/** Turns the result of a probe into the conditions and fields of a Cluster's status. */
import type { Cluster } from '../../../api/index.ts';
import type { FleetError } from '../../../fleet/index.ts';
import type { DesiredCondition } from '../../../runtime/index.ts';

/** The result of a probe of a Cluster. */
export type ProbeResult =
  | {
      readonly credentials: FleetError;
    }
  | {
      readonly keyId: string;
      readonly digest: string;
      readonly reached:
        | { readonly kubernetesVersion: string; readonly milliseconds: number; readonly ready: boolean }
        | FleetError;
    };

interface ClusterHealth {
  readonly conditions: readonly DesiredCondition[];
  readonly fields: Readonly<Record<string, unknown>>;
  readonly ready: DesiredCondition;
}

const reasons: Readonly<Record<string, string>> = {
  'cluster/credentials-missing': 'SecretNotFound',
  'cluster/tampered': 'Tampered',
  'cluster/key-missing': 'KeyNotFound',
  'cluster/kubeconfig-refused': 'KubeconfigInvalid',
  'cluster/forbidden': 'Forbidden',
  'cluster/unreachable': 'Unreachable',
};

/** Whether the error concerns the credentials and not the cluster. */
export const isAboutCredentials = (error: FleetError): boolean =>
  error.code !== 'cluster/unreachable' && error.code !== 'cluster/forbidden';

export function clusterHealth(cluster: Cluster, result: ProbeResult, now: number): ClusterHealth {
  const { status, metadata } = cluster;
  const observedGeneration = metadata.generation ?? 0;
  const condition = (type: string, value: boolean | undefined, reason: string, message: string): DesiredCondition => ({
    type,
    status: value === undefined ? 'Unknown' : value ? 'True' : 'False',
    reason,
    message,
    observedGeneration,
  });
  const lastCheckedTime = new Date(now).toISOString();
  const failures = (status?.failures ?? 0) + 1;
  if ('credentials' in result) {
    const { code, message } = result.credentials;
    const reason = reasons[code] ?? 'CredentialsInvalid';
    const ready = condition('Ready', false, reason, message);
    return {
      ready,
      conditions: [
        ready,
        condition('CredentialsReadable', false, reason, message),
        condition('Reachable', undefined, 'NotProbed', 'not probed: the credentials cannot be read'),
      ],
      fields: { ...kept(cluster), phase: 'failed', health: 'Unhealthy', observedGeneration, lastCheckedTime, failures },
    };
  }
  const { keyId, digest, reached } = result;
  const readable = condition('CredentialsReadable', true, 'Decrypted', 'the sealed kubeconfig can be decrypted');
  const fields = {
    ...kept(cluster),
    sealedWith: keyId,
    credentialsDigest: digest,
    observedGeneration,
    lastCheckedTime,
  };
  if ('code' in reached) {
    const reason = reasons[reached.code] ?? 'Unreachable';
    const ready = condition('Ready', false, reason, reached.message);
    return {
      ready,
      conditions: [ready, readable, condition('Reachable', false, reason, reached.message)],
      fields: { ...fields, phase: 'unknown', health: 'Unhealthy', failures },
    };
  }
  const { kubernetesVersion, milliseconds, ready: isReady } = reached;
  const answered = condition('Reachable', true, 'Responding', `Kubernetes ${kubernetesVersion}`);
  const ready = isReady
    ? condition('Ready', true, 'ResourceReady', `Kubernetes ${kubernetesVersion}`)
    : condition(
        'Ready',
        false,
        'NotReady',
        'the API server is not ready: run `kubectl get --raw /readyz?verbose` on the cluster',
      );
  return {
    ready,
    conditions: [ready, readable, answered],
    fields: {
      ...fields,
      phase: isReady ? 'ready' : 'unknown',
      health: isReady ? 'Healthy' : 'Unhealthy',
      kubernetesVersion,
      latencyMilliseconds: milliseconds,
      failures: isReady ? 0 : failures,
    },
  };
}

/** Fields that keep their last known values. */
const kept = ({ status }: Cluster) => ({
  kubernetesVersion: status?.kubernetesVersion,
  latencyMilliseconds: status?.latencyMilliseconds,
  sealedWith: status?.sealedWith,
  credentialsDigest: status?.credentialsDigest,
});
