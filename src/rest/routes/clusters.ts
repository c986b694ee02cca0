/**
 * Clusters: registered with a kubeconfig that is sealed at once and never returned (docs/requirements.md, 002
 * FR-OP-002).
 */
import { randomBytes } from 'node:crypto';
import { type Cluster, cluster } from '../../api/index.ts';
import {
  probeKubeconfig,
  readClusterKubeconfig,
  type SealingKeys,
  sealedSecret,
  sealKubeconfig,
} from '../../fleet/index.ts';
import { ApiError, type Client } from '../../runtime/index.ts';
import { coreSecrets } from '../../runtime/internal.ts';
import { create, get, page, remove, shown } from '../objects.ts';
import { invalid } from '../problems.ts';
import { admins, type Call, everybody, type Route } from '../route.ts';
import { objectNameSchema, ref } from '../schemas.ts';
import { metadataOf, type Named, pageQuery, prefix } from './common.ts';

interface ClusterParts {
  /** Client with the platform's own identity: callers have no access to its Secrets. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly sealingKeys: SealingKeys;
}

const name = { name: objectNameSchema('The cluster.', 63) };
const tag = 'Clusters';
/** `GET /clusters/sealing-key` is not a cluster. */
const reservedName = 'sealing-key';
const hidden = { without: ['credentials'], withoutStatus: ['credentialsDigest'] };

export function clusterRoutes(parts: ClusterParts): readonly Route[] {
  return [
    {
      method: 'POST',
      path: `${prefix}/clusters`,
      operationId: 'createCluster',
      tag,
      summary: 'Register a cluster',
      description: 'The kubeconfig is used to read the version of the cluster before anything is stored.',
      roles: admins,
      body: { schema: ref('NewCluster'), required: true },
      answer: { status: 201, description: 'Registered.', schema: ref('Cluster') },
      problems: [409],
      perMinute: 5,
      audit: 'cluster.create',
      run: (call) => register(call, parts),
    },
    {
      method: 'GET',
      path: `${prefix}/clusters`,
      operationId: 'listClusters',
      tag,
      summary: 'List clusters',
      roles: everybody,
      query: pageQuery,
      answer: { status: 200, description: 'A page of clusters.', schema: ref('ClusterPage') },
      problems: [410],
      perMinute: 60,
      async run(call) {
        const { items, ...rest } = await page<Cluster>(call, cluster);
        return { status: 200, body: { items: items.map((each) => shown(each, hidden)), ...rest } };
      },
    },
    {
      method: 'GET',
      path: `${prefix}/clusters/{name}`,
      operationId: 'getCluster',
      tag,
      summary: 'Get a cluster',
      roles: everybody,
      params: name,
      answer: { status: 200, description: 'The cluster.', schema: ref('Cluster') },
      problems: [404],
      async run(call) {
        return { status: 200, body: shown(await get<Cluster>(call, cluster, call.params.name ?? ''), hidden) };
      },
    },
    {
      method: 'DELETE',
      path: `${prefix}/clusters/{name}`,
      operationId: 'deleteCluster',
      tag,
      summary: 'Remove a cluster',
      description: 'Deletes its credentials and the access objects on the cluster. Installed operators stay.',
      roles: admins,
      params: name,
      answer: {
        status: 202,
        description: 'The cluster is deleted once its credentials are erased.',
        schema: ref('Cluster'),
      },
      problems: [404, 409],
      audit: 'cluster.delete',
      async run(call) {
        const found = await get<Cluster>(call, cluster, call.params.name ?? '');
        call.touched(found);
        await remove(call, cluster, found);
        return { status: 202, body: shown(found, hidden) };
      },
    },
    {
      method: 'GET',
      path: `${prefix}/clusters/${reservedName}`,
      operationId: 'getSealingKey',
      tag,
      summary: 'Get the public key that seals kubeconfigs',
      roles: everybody,
      answer: { status: 200, description: 'The key.', schema: ref('SealingKey') },
      run: async () => ({ status: 200, body: (await parts.sealingKeys.current()).sealing.jwk }),
    },
  ];
}

async function register(call: Call, parts: ClusterParts) {
  const { name: given, labels, kubeconfig, ...rest } = call.body as Named & Cluster['spec'] & { kubeconfig: string };
  if (given === reservedName) throw invalid([{ path: '/name', message: 'is reserved for the sealing key' }]);
  readClusterKubeconfig(kubeconfig);
  // Each attempt has a unique name, so that neither of two concurrent attempts deletes the Secret of the other.
  const secretName = `cluster-${given}-${randomBytes(4).toString('hex')}`;
  const object = {
    metadata: metadataOf({ name: given, ...(labels === undefined ? {} : { labels }) }),
    spec: { ...rest, credentials: { secretName } },
  };
  await create<Cluster>(call, cluster, object, { dryRun: true });
  const { kubernetesVersion } = await call.tracer.span(
    'cluster.connect',
    { parent: call.traceparent, attributes: { 'cluster.name': given } },
    () => probeKubeconfig(given, kubeconfig, { signal: call.signal }),
  );
  const { client, systemNamespace: namespace, sealingKeys } = parts;
  const sealed = await sealKubeconfig((await sealingKeys.current()).sealing, given, kubeconfig);
  await client.create(coreSecrets, sealedSecret(namespace, secretName, sealed), { fieldManager: 'kidp-rest' });
  try {
    const { object: made, warnings } = await create<Cluster>(call, cluster, object);
    call.touched(made);
    call.log.info('cluster reached; registering it', { cluster: given, kubernetesVersion });
    return {
      status: 201,
      body: shown(made, { ...hidden, warnings }),
      headers: { location: `${prefix}/clusters/${given}` },
    };
  } catch (error) {
    await deleteUnusedSecret(error, client, { namespace, name: secretName }, call.log);
    throw error;
  }
}

/**
 * `deleteUnusedSecret` deletes the sealed kubeconfig of a cluster that was not registered. It does so only if the API
 * server definitely rejected the Cluster: otherwise the Cluster may exist and needs its credentials.
 */
export async function deleteUnusedSecret(
  error: unknown,
  client: Client,
  key: { readonly namespace: string; readonly name: string },
  log: Call['log'],
): Promise<void> {
  const secret = `${key.namespace}/${key.name}`;
  if (!(error instanceof ApiError) || error.status >= 500) {
    log.error('cluster registration is uncertain; its sealed kubeconfig is kept', { secret });
    return;
  }
  await client.delete(coreSecrets, key).catch((failure: unknown) => {
    log.error('failed to delete the sealed kubeconfig of an unregistered cluster', { secret, error: failure });
  });
}
