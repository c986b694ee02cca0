/**
 * Registers a broker with a platform in the same cluster, without manual steps: the broker serves with a certificate of a CA of its own,
 * and publishes this CA and its public keys in the status of its Broker object. The API server and RBAC are the trust anchor: the
 * ServiceAccount of the broker may write the status of this Broker and of no other, and the platform looks there only if the spec,
 * which the broker cannot write, says so (`keySource: Status`).
 */
import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, type Broker, broker as brokerKind } from '../../api/index.ts';
import {
  type Authority,
  type Client,
  ConfigError,
  clusterStore,
  isNotFound,
  type KubernetesObject,
  type Logger,
  type PublishBundle,
  startAuthority,
} from '../../runtime/index.ts';
import type { Bundle } from '../../runtime/internal.ts';
import type { KeyRing } from '../identity/index.ts';

interface RegistrationOptions {
  readonly client: Client;
  /** The name of the Broker object. */
  readonly broker: string;
  /** The namespace of the Secrets with the certificate and its CA. */
  readonly namespace: string;
  /** The host name in `spec.endpoint` of the Broker. */
  readonly host: string;
  readonly identity: string;
  readonly keys: Pick<KeyRing, 'jwks'>;
  readonly log: Logger;
}

/** `registerBroker` resolves with the serving certificate. While the Broker does not exist, it tries again. */
export function registerBroker(options: RegistrationOptions): Promise<Authority> {
  const { client, broker, namespace, host, identity, log } = options;
  return startAuthority({
    store: clusterStore({ client, namespace, name: `kidp-broker-${broker}-serving` }),
    identity,
    names: [host, 'localhost', '127.0.0.1'],
    publish: publishIdentity(options),
    log,
  });
}

type Published = NonNullable<NonNullable<Broker['status']>['identity']>;

/** Called every few seconds: it also notices new keys, and a status that was lost. */
function publishIdentity({ client, broker: name, keys }: RegistrationOptions): PublishBundle {
  return async (bundle) => {
    const { status } = await client.get<Broker>(brokerKind.resource, { name }).catch((error: unknown) => {
      throw isNotFound(error) ? missing(name) : error;
    });
    const before = bundleOf(status?.identity);
    // Another instance has published a later CA; its keys are those of this instance too.
    const held = before.generation > bundle.generation ? before : bundle;
    const wanted: Published = {
      publicKeys: keys.jwks().keys.map((key) => JSON.stringify(key)),
      caBundle: Buffer.from(held.pem).toString('base64'),
      generation: held.generation,
    };
    if (!isDeepStrictEqual({ ...status?.identity }, wanted)) {
      const body = {
        apiVersion: API_VERSION,
        kind: brokerKind.kind,
        metadata: { name },
        status: { identity: wanted },
      } as KubernetesObject;
      await client.apply(brokerKind.resource, body, {
        subresource: 'status',
        fieldManager: 'kidp-broker',
        force: true,
      });
    }
    return { before, held };
  };
}

const bundleOf = (published: Published | undefined): Bundle => ({
  pem: Buffer.from(published?.caBundle ?? '', 'base64').toString('utf8'),
  generation: published?.generation ?? 0,
});

const missing = (name: string): ConfigError =>
  new ConfigError({
    code: 'unregistered',
    message: `Broker ${name} does not exist, so the platform does not know the keys of this broker`,
    hint: 'Create it with spec.identity.keySource: Status; this broker then registers within seconds',
  });
