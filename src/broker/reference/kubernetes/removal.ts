/** Removes the objects of a deployment, in one namespace or in all. */
import type { Client, Resource } from '../../../runtime/index.ts';
import type { DeploymentRecord } from '../record.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { failureOf } from './failures.ts';
import { isOurs, labelValue, namespaceOf, UID_LABEL } from './names.ts';
import { derivedResources, managedResources, secrets } from './resources.ts';

/** Deletes the objects. Returns the resources of which there were any. */
export async function deleteObjects(
  client: Client,
  record: DeploymentRecord,
  cluster: Pick<ClusterCache, 'objectsOf'>,
): Promise<Resource[]> {
  const where = knownNamespace(record, cluster);
  // A Secret has no other objects and is deleted at once: listing all other kinds would dominate the time of mass
  // deletions.
  const isSecret = record.request.resource.kind === 'Secret';
  const resources = isSecret ? [secrets] : [...managedResources, ...derivedResources];
  const left = await deleteAll(client, record, resources, where);
  return isSecret && left.length > 0 ? deleteAll(client, record, resources, where) : left;
}

/**
 * The namespace of all objects; undefined if it is not certain. An interrupted deployment has no note yet, a request
 * without a target does not know its prefix, and objects of another broker may be anywhere.
 */
export function knownNamespace(
  { uid, notes, request }: DeploymentRecord,
  cluster: Pick<ClusterCache, 'objectsOf'>,
): string | undefined {
  const places = [namespaceOf(request), ...cluster.objectsOf(uid).map(({ metadata }) => metadata.namespace)];
  const isCertain = places.every((place) => place === notes.namespace) && (request.formerBrokers ?? []).length === 0;
  return isCertain ? notes.namespace : undefined;
}

async function deleteAll(
  client: Client,
  { uid, request }: DeploymentRecord,
  resources: readonly Resource[],
  where: string | undefined,
): Promise<Resource[]> {
  const options = {
    labelSelector: `${UID_LABEL}=${labelValue(uid)}`,
    ...(where === undefined ? {} : { namespace: where }),
  };
  const found = await Promise.all(
    resources.map(async (resource) => {
      const { items } = await client.list(resource, options);
      return { resource, items: items.filter(({ metadata }) => isOurs(metadata, request)) };
    }),
  );
  for (const { resource, items } of found) {
    // Kubernetes deletes derived objects with their owners.
    if (derivedResources.includes(resource)) continue;
    for (const { metadata } of items) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const { namespace = '', name } = metadata;
      const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
      await client
        .delete(resource, { namespace, name }, { propagationPolicy: 'Background', preconditions })
        .catch((error: unknown) => {
          const { status } = error as { status?: number };
          if (status !== 404 && status !== 409)
            throw failureOf(error, `deleting ${resource.kind} ${namespace}/${name}`);
        });
    }
  }
  return found.filter(({ items }) => items.length > 0).map(({ resource }) => resource);
}
