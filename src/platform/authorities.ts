/**
 * Publishes the CA certificates of the platform in a ConfigMap of its namespace, as Kubernetes does with `kube-root-ca.crt`: brokers of
 * the cluster, Prometheus and clients of the REST API verify the platform with them. The leader writes it, on every change and if
 * somebody else has changed it. A new authority is published a minute before a certificate of it is served.
 */
import {
  type Client,
  isForbidden,
  isNotFound,
  type KubernetesObject,
  type Logger,
  type Resource,
  type Runnable,
  systemClock,
} from '../runtime/index.ts';
import { sleep } from '../runtime/internal.ts';

interface PublishAuthoritiesOptions {
  readonly client: Client;
  readonly namespace: string;
  /** Each returns CA certificates in PEM form. */
  readonly bundles: readonly (() => string | undefined)[];
  readonly subscribe: (changed: () => void) => () => void;
  readonly log: Logger;
}

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
/** The Role of the installation names it. */
const authoritiesName = 'kidp-ca';
const field = 'ca.crt';
const checkMilliseconds = 60_000;
const retryMilliseconds = 5_000;

export function publishAuthorities(options: PublishAuthoritiesOptions): Runnable {
  const { client, namespace, bundles, subscribe, log } = options;
  const key = { namespace, name: authoritiesName };

  async function publish(signal: AbortSignal): Promise<void> {
    const pem = [...new Set(bundles.flatMap((bundle) => certificatesIn(bundle() ?? '')))].join('');
    const present = await client.get<ConfigMap>(configMaps, key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (present?.data?.[field] === pem) return;
    const metadata = { ...key, labels: { 'app.kubernetes.io/managed-by': 'kidp' } };
    const wanted: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [field]: pem } };
    await client.apply(configMaps, wanted, { fieldManager: 'kidp-certificates', force: true, signal });
    log.info('CA certificates published', key);
  }

  return {
    name: 'CA certificates',
    leaderOnly: true,
    async start(signal) {
      let changed = new AbortController();
      const unsubscribe = subscribe(() => changed.abort());
      while (!signal.aborted) {
        changed = new AbortController();
        let wait = checkMilliseconds;
        try {
          await publish(signal);
        } catch (error) {
          if (signal.aborted) break;
          if (!isForbidden(error)) wait = retryMilliseconds;
          log.warn('publishing the CA certificates failed; retrying', {
            ...key,
            error,
            next: 'Brokers of this cluster cannot verify the platform without it; kidp needs get and patch on this ConfigMap',
          });
        }
        await sleep(systemClock, wait, AbortSignal.any([signal, changed.signal]));
      }
      unsubscribe();
    },
  };
}

const certificatesIn = (pem: string): string[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((each) => `${each}\n`);
