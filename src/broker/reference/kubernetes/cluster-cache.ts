/** The things that a broker has made, as they are in the cluster now: kept up to date, found by the object they were made for. */
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
  /** Undefined where there is none with this broker's label. */
  find(resource: Resource, key: { readonly namespace: string; readonly name: string }): UnknownObject | undefined;
  /** Everything that was made for an object. */
  objectsOf(uid: string): UnknownObject[];
  podsOf(uid: string): UnknownObject[];
}

/** `Deployment/team/users`. */
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
        // What a list gives out has no type of its own.
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

/** Of a pod only how it fares is looked at. */
function withoutSpec({ apiVersion, kind, metadata, status }: UnknownObject): UnknownObject {
  return { apiVersion, kind, metadata, status };
}

/** Undefined where there is none. */
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
