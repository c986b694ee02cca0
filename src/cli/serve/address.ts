/** Where a replica listens, and where the API server finds it. */
import { networkInterfaces } from 'node:os';
import type { WebhookTarget } from '../../admission/index.ts';
import { InputError } from '../common/failure.ts';

export function webhookTarget(
  { service, url }: { readonly service?: string; readonly url?: string },
  namespace: string,
): WebhookTarget {
  if ((service === undefined) === (url === undefined)) {
    throw new InputError(
      'webhook-target',
      'say where the API server finds this replica: either --service NAME, the Service before all replicas, or --url https://HOST:PORT outside the cluster.',
    );
  }
  if (url === undefined) return { service: { namespace, name: service ?? '' } };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' || parsed.pathname !== '/' || parsed.search !== '' || parsed.hash !== '') {
    throw new InputError('webhook-url', `--url is "${url}": an API server calls https://HOST:PORT, without a path.`);
  }
  return { url: parsed.origin };
}

/** Everywhere: where there is IPv6 that takes in IPv4. */
export function listenAddress(
  interfaces: Readonly<Record<string, readonly { family: string }[] | undefined>> = networkInterfaces(),
): string {
  const addresses = Object.values(interfaces).flatMap((each) => each ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}
