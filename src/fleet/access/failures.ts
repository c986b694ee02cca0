/**
 * Converts errors of remote clusters into messages that contain nothing of the kubeconfig (no address, user name or
 * certificate) and carry nothing else that a log would print.
 */
import { ApiError, type Client, ConfigError, ConnectionError, type WatchEvent } from '../../runtime/index.ts';
import type { ConnectionFailure } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

const failureTexts: Readonly<Record<ConnectionFailure, string>> = {
  refused: 'connection refused',
  unresolved: 'the server name does not resolve',
  timeout: 'timeout',
  reset: 'connection reset',
  'certificate-expired': 'the server certificate is expired or not yet valid',
  'certificate-untrusted': 'the server certificate is not signed by the CA of the kubeconfig',
  'certificate-name': 'the server certificate is for another name',
  aborted: 'the request was aborted',
  'too-large': 'the response is too large',
  other: 'the connection failed',
};

/**
 * `accessFailure` converts an error while access is prepared. Errors that do not concern the cluster are returned
 * unchanged.
 */
export function accessFailure(cluster: string, error: unknown): unknown {
  const fleet = fleetErrorIn(error);
  if (fleet !== undefined) return fleet;
  if (error instanceof ConnectionError) {
    return new FleetError(
      'cluster/unreachable',
      `Cluster ${cluster} is unreachable: ${failureTexts[error.failure]}. Check that its API server runs and is reachable from the platform`,
      { temporary: true },
    );
  }
  if (error instanceof ConfigError) {
    return new FleetError(
      'cluster/kubeconfig-refused',
      `The kubeconfig of cluster ${cluster} is not usable for a connection: replace it with \`kidp clusters add ${cluster} --replace\``,
    );
  }
  if (!(error instanceof ApiError)) return error;
  if (error.status === 401) {
    return new FleetError(
      'cluster/forbidden',
      `Cluster ${cluster} rejects the credentials of its kubeconfig: replace it with \`kidp clusters add ${cluster} --replace\``,
    );
  }
  const [doing = ''] = error.message.split(':');
  if (error.status === 403) {
    return new FleetError(
      'cluster/forbidden',
      `The kubeconfig of cluster ${cluster} lacks the permission for: ${doing}. The platform creates service accounts and roles there, which requires cluster-admin`,
    );
  }
  return new FleetError(
    'cluster/unreachable',
    `Cluster ${cluster} answered ${error.status} (${error.reason}) to: ${doing}`,
    {
      temporary: true,
    },
  );
}

/** `redactingClient` wraps a client so that its errors do not contain the server address. */
export function redactingClient(client: Client, cluster: string): Client {
  const redacted = (error: unknown): unknown => {
    const fleet = fleetErrorIn(error);
    if (fleet !== undefined) return fleet;
    if (!(error instanceof ConnectionError)) return error;
    return new ConnectionError({
      doing: `request to cluster ${cluster}`,
      failure: error.failure,
      message: failureTexts[error.failure],
      hint: 'Check that its API server runs and is reachable from the platform',
    });
  };
  const guard = <Answer>(work: Promise<Answer>): Promise<Answer> =>
    work.catch((error: unknown) => {
      throw redacted(error);
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
        throw redacted(error);
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

/** Errors of an authenticator are wrapped. */
function fleetErrorIn(error: unknown): FleetError | undefined {
  for (let each = error; each instanceof Error; each = each.cause) if (each instanceof FleetError) return each;
  return undefined;
}
