// A controller: each ConfigMap with the label `example.com/role: source` has a copy, which is repaired when somebody changes it.
import {
  connect,
  controllerManagedBy,
  controllerReference,
  type KubernetesObject,
  labelled,
  loadKubeconfig,
  Manager,
  type Reconcile,
  type Resource,
  stopSignal,
} from 'kidp/runtime';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}
const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const roleLabel = 'example.com/role';

const reconcile: Reconcile = async (key, { read, client }) => {
  const source = await read.get<ConfigMap>(configMaps, key);
  if (source === undefined || source.metadata.deletionTimestamp !== undefined) return;
  const copy: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `${source.metadata.name}-copy`,
      namespace: source.metadata.namespace ?? 'default',
      labels: { [roleLabel]: 'copy' },
      ownerReferences: [controllerReference(source)],
    },
    data: source.data ?? {},
  };
  await client.apply(configMaps, copy, { fieldManager: 'copy-controller', force: true });
};

const namespace = process.argv[2] ?? 'default';
const client = connect(loadKubeconfig());
const manager = new Manager({ client });
controllerManagedBy(manager, 'copy')
  .for<ConfigMap>(configMaps, { namespace, predicates: [labelled({ [roleLabel]: 'source' })] })
  .owns<ConfigMap>(configMaps, { namespace })
  .complete(reconcile);
console.log(`copying ConfigMaps of namespace ${namespace}; Ctrl-C stops`);
await manager.start(stopSignal());
await client.close();
