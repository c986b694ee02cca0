/** The address on which a replica listens, and at which the API server reaches it. */
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
      'set where the API server reaches this replica: either --service NAME, the Service of all replicas, or --url https://HOST:PORT outside the cluster.',
    );
  }
  if (url === undefined) return { service: { namespace, name: service ?? '' } };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' || parsed.pathname !== '/' || parsed.search !== '' || parsed.hash !== '') {
    throw new InputError('webhook-url', `--url is "${url}", want https://HOST:PORT without a path.`);
  }
  return { url: parsed.origin };
}

/** `listenAddress` is the wildcard address; the one of IPv6 includes IPv4. */
export function listenAddress(
  interfaces: Readonly<Record<string, readonly { family: string }[] | undefined>> = networkInterfaces(),
): string {
  const addresses = Object.values(interfaces).flatMap((each) => each ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}
