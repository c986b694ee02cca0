/**
 * The owner of the webhook configurations: a ClusterRole of the installation. When the installation is removed, the garbage collector
 * deletes the configurations with it, even if no replica can run; without that, every write to platform kinds would be denied for ever.
 */
import {
  type Client,
  isForbidden,
  isNotFound,
  type Logger,
  type OwnerReference,
  type Resource,
} from '../../runtime/index.ts';

const clusterRoles: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};

/** `clusterRoleOwner` returns a function that reads the reference; undefined while the ClusterRole cannot be read. */
export function clusterRoleOwner(client: Client, name: string, log: Logger): () => Promise<OwnerReference | undefined> {
  return async () => {
    try {
      const { apiVersion, kind, metadata } = await client.get(clusterRoles, { name });
      // A ClusterRole that is being deleted would take new configurations with it: the installation is being removed.
      if (metadata.uid === undefined || metadata.deletionTimestamp !== undefined) return undefined;
      return { apiVersion, kind, name, uid: metadata.uid };
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      log.warn('cannot read the owner of the webhook configurations; removing kidp will leave them behind', {
        clusterRole: name,
        error,
        next: 'Create the ClusterRole and grant kidp to get it, or set --owner-cluster-role to one that exists',
      });
      return undefined;
    }
  };
}
