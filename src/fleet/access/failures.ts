/**
 * What a cluster answered, or that it did not, in words that hold nothing of its kubeconfig: no address, no name of a user, no
 * certificate; and with nothing else attached that a log would print.
 */
import { ApiError, type Client, ConfigError, ConnectionError, type WatchEvent } from '../../runtime/index.ts';
import type { ConnectionFailure } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

const words: Readonly<Record<ConnectionFailure, string>> = {
  refused: 'nothing answers at its address',
  unresolved: 'the name of its server does not resolve',
  timeout: 'it did not answer in time',
  reset: 'it closed the connection',
  'certificate-expired': 'the certificate of its server is expired or not yet valid',
  'certificate-untrusted': 'the certificate of its server is not signed by the authority in its kubeconfig',
  'certificate-name': 'the certificate of its server is for another name',
  aborted: 'it was not waited for any longer',
  'too-large': 'it answered more than is taken in',
  other: 'the connection failed',
};

/** While access to it is prepared. What is not about the cluster goes up as it is. */
export function accessFailure(cluster: string, error: unknown): unknown {
  const fleet = fleetErrorIn(error);
  if (fleet !== undefined) return fleet;
  if (error instanceof ConnectionError) {
    return new FleetError(
      'cluster/unreachable',
      `The cluster ${cluster} cannot be reached: ${words[error.failure]}. See whether its API server runs and this platform may reach it`,
      { temporary: true },
    );
  }
  if (error instanceof ConfigError) {
    return new FleetError(
      'cluster/kubeconfig-refused',
      `The kubeconfig of ${cluster} cannot be used for a connection: seal another one with \`kidp clusters add ${cluster} --replace\``,
    );
  }
  if (!(error instanceof ApiError)) return error;
  if (error.status === 401) {
    return new FleetError(
      'cluster/forbidden',
      `The cluster ${cluster} does not accept the credentials of its kubeconfig any more: seal another one with \`kidp clusters add ${cluster} --replace\``,
    );
  }
  const [doing = ''] = error.message.split(':');
  if (error.status === 403) {
    return new FleetError(
      'cluster/forbidden',
      `The kubeconfig of ${cluster} does not give the right to ${doing}: the platform makes service accounts there and gives them what they need, which takes an administrator of that cluster`,
    );
  }
  return new FleetError(
    'cluster/unreachable',
    `The cluster ${cluster} answered ${error.status} (${error.reason}) to: ${doing}`,
    {
      temporary: true,
    },
  );
}

/** The same client, whose failures tell nothing of the address of the server. */
export function redactingClient(client: Client, cluster: string): Client {
  const told = (error: unknown): unknown => {
    const fleet = fleetErrorIn(error);
    if (fleet !== undefined) return fleet;
    if (!(error instanceof ConnectionError)) return error;
    return new ConnectionError({
      doing: `asking the cluster ${cluster}`,
      failure: error.failure,
      message: words[error.failure],
      hint: 'See whether its API server runs and this platform may reach it',
    });
  };
  const guard = <Answer>(work: Promise<Answer>): Promise<Answer> =>
    work.catch((error: unknown) => {
      throw told(error);
    });
  const { listEach } = client;
  return {
    get: (resource, key, options) => guard(client.get(resource, key, options)),
    list: (resource, options) => guard(client.list(resource, options)),
    ...(listEach === undefined
      ? {}
      : {
          listEach: (resource, options, each) =>
            guard(listEach.call(client, resource, options, each as never)) as never,
        }),
    async *watch<T>(...[resource, options]: Parameters<Client['watch']>) {
      try {
        yield* client.watch(resource, options) as AsyncIterable<WatchEvent<T>>;
      } catch (error) {
        throw told(error);
      }
    },
    create: (resource, object, options) => guard(client.create(resource, object, options)),
    update: (resource, object, options) => guard(client.update(resource, object, options)),
    patch: (resource, key, patch, options) => guard(client.patch(resource, key, patch, options)),
    apply: (resource, object, options) => guard(client.apply(resource, object, options)),
    delete: (resource, key, options) => guard(client.delete(resource, key, options)),
    request: (request) => guard(client.request(request)),
    impersonate: (identity) => redactingClient(client.impersonate(identity), cluster),
    close: () => client.close(),
  };
}

/** What an authenticator throws comes wrapped. */
function fleetErrorIn(error: unknown): FleetError | undefined {
  for (let each = error; each instanceof Error; each = each.cause) if (each instanceof FleetError) return each;
  return undefined;
}
