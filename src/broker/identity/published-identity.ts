/** What a Broker object says about the keys and the CA certificates of a broker. */
import type { Broker } from '../../api/index.ts';

interface PublishedIdentity {
  readonly publicKeys: readonly string[];
  readonly jwksUri: string | undefined;
  /** The CA certificates of the endpoint, as PEM. */
  readonly caBundle: string | undefined;
  /** Whether the broker publishes all of it in the status, and nothing is fetched. */
  readonly inStatus: boolean;
}

/** Without `keySource: Status` the status does not count: whoever may write it must not be able to become the broker. */
export function publishedIdentity({ spec, status }: Pick<Broker, 'spec' | 'status'>): PublishedIdentity {
  const inStatus = spec.identity?.keySource === 'Status';
  const { publicKeys = [], caBundle } = inStatus
    ? (status?.identity ?? {})
    : { publicKeys: spec.identity?.publicKeys, caBundle: spec.caBundle };
  return {
    publicKeys,
    jwksUri: spec.identity?.jwksUri,
    caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString('utf8'),
    inStatus,
  };
}
