/** Reads the CA certificates of a platform in the same cluster from the ConfigMap that the platform publishes, again and again. */

import type { KubernetesObject, Resource } from '../../runtime/index.ts';
import { type Client, type Clock, ConfigError, isNotFound, type Logger, systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

/** The platform publishes a new CA a minute before it serves a certificate of it. */
const readMilliseconds = 20_000;
const retryMilliseconds = 2_000;

interface PlatformAuthorities {
  /** The CA certificates as PEM. */
  current(): string;
  stop(): Promise<void>;
}

/** `followPlatformAuthorities` resolves once the ConfigMap exists. */
export async function followPlatformAuthorities(options: {
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly clock?: Clock;
}): Promise<PlatformAuthorities> {
  const { client, namespace, name, log, clock = systemClock } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, options.signal]);
  const place = `ConfigMap ${namespace}/${name}`;
  let pem: string | undefined;
  const first = Promise.withResolvers<void>();

  async function read(): Promise<void> {
    const found = await client
      .get<KubernetesObject & { data?: Record<string, string> }>(configMaps, { namespace, name }, { signal })
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    const text = found?.data?.['ca.crt'] ?? '';
    if (text === '') throw unpublished(place);
    if (pem !== undefined && pem !== text) log.info('CA certificates of the platform changed', { place });
    pem = text;
    first.resolve();
  }

  const running = (async () => {
    while (!signal.aborted) {
      const failed = await read().then(
        () => false,
        (error: unknown) => {
          if (!signal.aborted)
            log.warn('reading the CA certificates of the platform failed; retrying', { place, error });
          return true;
        },
      );
      await sleep(clock, failed ? retryMilliseconds : readMilliseconds, signal);
    }
    first.reject(signal.reason);
  })();
  await first.promise;
  return {
    current: () => pem ?? '',
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

const unpublished = (place: string): ConfigError =>
  new ConfigError({
    code: 'platform-ca-unpublished',
    message: `${place} does not exist or has no ca.crt`,
    hint: 'Check that the platform runs and has a leader, which publishes it, and that --platform-ca-configmap names its namespace',
  });
