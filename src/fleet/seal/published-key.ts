/**
 * Publishes the public sealing key in a ConfigMap, so that a kubeconfig is sealed before it leaves the user's machine.
 */
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import { type Client, ConfigError, isNotFound, type KubernetesObject, type Resource } from '../../runtime/index.ts';
import { readSealingKey, type SealingKey } from './key-ring.ts';

const SEALING_KEY_CONFIG_MAP = 'kidp-sealing-key';
const field = 'key.jwk';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

interface ConfigMapObject extends KubernetesObject {
  data?: Record<string, string>;
}

/** `publishSealingKey` writes only if the key changed. */
export async function publishSealingKey(client: Client, namespace: string, key: SealingKey): Promise<boolean> {
  const text = JSON.stringify(key.jwk);
  const known = await published(client, namespace);
  if (known === text) return false;
  const object: ConfigMapObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: SEALING_KEY_CONFIG_MAP, namespace, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
    data: { [field]: text },
  };
  await client.apply(configMaps, object, { fieldManager: 'kidp-clusters', force: true });
  return true;
}

/** `fetchSealingKey` rejects with a ConfigError if the platform publishes no key. */
export async function fetchSealingKey(client: Client, namespace: string): Promise<SealingKey> {
  const text = await published(client, namespace);
  const key = text === undefined ? undefined : await readSealingKey(text);
  if (key !== undefined) return key;
  throw new ConfigError({
    code: 'sealing-key',
    message: `The platform publishes no key to seal kubeconfigs with (ConfigMap ${namespace}/${SEALING_KEY_CONFIG_MAP})`,
    hint: 'Start the platform with --cluster-keys or --cluster-keys-command, and pass its namespace with --namespace',
  });
}

async function published(client: Client, namespace: string): Promise<string | undefined> {
  try {
    const { data } = await client.get<ConfigMapObject>(configMaps, { namespace, name: SEALING_KEY_CONFIG_MAP });
    return data?.[field];
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
