/** Volumes for a local cluster: its nodes are simulated (KWOK), so claims such as those of a Database would stay pending without them. */
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

/** `addVolumes` adds a default storage class and volumes of it, unless they exist. */
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
