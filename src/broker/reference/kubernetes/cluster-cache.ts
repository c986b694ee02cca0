/**
 * The objects that a broker has created, as they are in the cluster now: watched, and indexed by the uid they belong
 * to.
 */
import {
  type Client,
  formatKey,
  isNotFound,
  type KubernetesObject,
  keyOf,
  Reflector,
  type Resource,
  type UnknownObject,
} from '../../../runtime/index.ts';
import { BROKER_LABEL, labelValue, UID_LABEL } from './names.ts';
import { managedResources, pods } from './resources.ts';

export interface ClusterCache {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Undefined if there is no such object with this broker's label. */
  find(resource: Resource, key: { readonly namespace: string; readonly name: string }): UnknownObject | undefined;
  /** All objects that were created for a uid. */
  objectsOf(uid: string): UnknownObject[];
  podsOf(uid: string): UnknownObject[];
}

/** A reference such as `Deployment/team/users`. */
export const refOf = (object: KubernetesObject): string => `${object.kind}/${formatKey(keyOf(object))}`;

export function watchCluster(client: Client, broker: string, changed: (uidLabel: string) => void): ClusterCache {
  const notify = ({ metadata }: KubernetesObject) => {
    const uid = metadata.labels?.[UID_LABEL];
    if (uid !== undefined) changed(uid);
  };
  const reflectors = new Map(
    [...managedResources, pods].map((resource) => [
      resource.kind,
      new Reflector<UnknownObject>({
        client,
        resource,
        labelSelector: `${BROKER_LABEL}=${labelValue(broker)}`,
        stripManagedFields: true,
        indexes: { uid: ({ metadata }) => [metadata.labels?.[UID_LABEL] ?? ''] },
        // List items have no apiVersion and kind.
        transform: (object) => {
          const typed = { ...object, apiVersion: versionOf(resource), kind: resource.kind };
          return resource === pods ? withoutSpec(typed) : typed;
        },
        handlers: { added: notify, updated: notify, deleted: notify },
      }),
    ]),
  );
  const of = ({ kind }: Resource) => reflectors.get(kind)?.store;
  return {
    async start() {
      for (const reflector of reflectors.values()) reflector.start();
      await Promise.all([...reflectors.values()].map((reflector) => reflector.synced()));
    },
    async stop() {
      await Promise.all([...reflectors.values()].map((reflector) => reflector.stop()));
    },
    find: (resource, key) => of(resource)?.get(key),
    objectsOf: (uid) => managedResources.flatMap((resource) => of(resource)?.byIndex('uid', labelValue(uid)) ?? []),
    podsOf: (uid) => of(pods)?.byIndex('uid', labelValue(uid)) ?? [],
  };
}

const versionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** Only the status of a Pod is used. */
function withoutSpec({ apiVersion, kind, metadata, status }: UnknownObject): UnknownObject {
  return { apiVersion, kind, metadata, status };
}

/** Reads an object; undefined if it does not exist. */
export async function getOrUndefined<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  key: { readonly namespace?: string; readonly name: string },
): Promise<T | undefined> {
  try {
    return await client.get<T>(resource, key);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
