/** Volumes for a cluster of our own, whose nodes only play: what asks for storage, such as a Database, would wait for ever without. */
import { type Client, isAlreadyExists, type Resource, type UnknownObject } from '../../runtime/index.ts';

const name = 'local';
const volumes = 32;
const storageClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
};
const persistentVolumes: Resource = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
};

/** A default storage class and volumes of it, where they are not there. */
export async function addVolumes(client: Client): Promise<void> {
  await add(client, storageClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'kubernetes.io/no-provisioner',
  });
  await Promise.all(
    Array.from({ length: volumes }, (_, index) =>
      add(client, persistentVolumes, {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `${name}-${index}` },
        spec: {
          capacity: { storage: '1Ti' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: name,
          hostPath: { path: `/volumes/${index}` },
        },
      }),
    ),
  );
}

async function add(client: Client, resource: Resource, object: UnknownObject): Promise<void> {
  await client.create(resource, object, { fieldManager: 'kidp-up' }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
