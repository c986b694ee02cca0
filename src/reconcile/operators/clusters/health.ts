/** What a look at a Cluster comes to, as conditions and fields of its status. */
import type { Cluster } from '../../../api/index.ts';
import type { FleetError } from '../../../fleet/index.ts';
import type { DesiredCondition } from '../../../runtime/index.ts';

/** What was found when it was last looked at. */
export type Look =
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
  'cluster/credentials-missing': 'SecretMissing',
  'cluster/tampered': 'Tampered',
  'cluster/key-missing': 'KeyMissing',
  'cluster/kubeconfig-refused': 'KubeconfigRefused',
  'cluster/forbidden': 'Forbidden',
  'cluster/unreachable': 'Unreachable',
};

/** Whether the error is about the credentials themselves, and not about the cluster that they lead to. */
export const isAboutCredentials = (error: FleetError): boolean =>
  error.code !== 'cluster/unreachable' && error.code !== 'cluster/forbidden';

export function clusterHealth(cluster: Cluster, look: Look, now: number): ClusterHealth {
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
  if ('credentials' in look) {
    const { code, message } = look.credentials;
    const reason = reasons[code] ?? 'Unusable';
    const ready = condition('Ready', false, reason, message);
    return {
      ready,
      conditions: [
        ready,
        condition('CredentialsReadable', false, reason, message),
        condition('Reachable', undefined, 'NotAsked', 'It cannot be asked without its credentials'),
      ],
      fields: { ...kept(cluster), phase: 'failed', health: 'Unhealthy', observedGeneration, lastCheckedTime, failures },
    };
  }
  const { keyId, digest, reached } = look;
  const readable = condition('CredentialsReadable', true, 'Opened', 'Its kubeconfig is sealed for it, and opens');
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
  const answered = condition('Reachable', true, 'Answered', `It runs Kubernetes ${kubernetesVersion}`);
  const ready = isReady
    ? condition('Ready', true, 'ResourceReady', `It runs Kubernetes ${kubernetesVersion}`)
    : condition(
        'Ready',
        false,
        'NotReady',
        'Its API server answers that it is not ready: see `kubectl get --raw /readyz?verbose` there',
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

/** What was known before and still is the best that is known. */
const kept = ({ status }: Cluster) => ({
  kubernetesVersion: status?.kubernetesVersion,
  latencyMilliseconds: status?.latencyMilliseconds,
  sealedWith: status?.sealedWith,
  credentialsDigest: status?.credentialsDigest,
});
