/**
 * Rollouts on a local cluster: keys beside its state, the charts of examples/, Helm, and the cluster itself as the Cluster `local` that
 * operators are rolled out to.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { API_VERSION, type Cluster, cluster as clusterKind } from '../../api/index.ts';
import { type AssetOptions, ControlPlaneError, ensureAssets } from '../../controlplane/index.ts';
import { FleetError, findHelm, keysFromFile, newKeySet, sealedSecret, sealKubeconfig } from '../../fleet/index.ts';
import type { RolloutsOptions } from '../../platform/index.ts';
import type { Client } from '../../runtime/index.ts';
import { coreSecrets, packageFile } from '../../runtime/internal.ts';

const charts = packageFile('examples');
const name = 'local';
const fieldManager = 'kidp-up';

/** `localRollouts` returns the options of rollouts, or the reason why there is no Helm. */
export async function localRollouts(
  directory: string,
  assets: AssetOptions,
): Promise<RolloutsOptions | { readonly away: string }> {
  const helm = await localHelm(assets);
  if ('away' in helm) return helm;
  const file = join(directory, 'cluster-keys.json');
  const exists = await readFile(file).then(
    () => true,
    () => false,
  );
  if (!exists) {
    // Written atomically, because half a key set could never be read again.
    await writeFile(`${file}.new`, await newKeySet(), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  return { keys: keysFromFile(file), helm, charts };
}

/** Finds Helm: the one built with the control-plane binaries, or without Go the one on the PATH. */
async function localHelm(assets: AssetOptions): Promise<{ readonly program: string } | { readonly away: string }> {
  try {
    return { program: (await ensureAssets(['helm'], assets)).helm };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    return findHelm({ path: (assets.environment ?? process.env).PATH ?? '' }).catch((other: unknown) => {
      if (!(other instanceof FleetError)) throw other;
      return { away: error.message };
    });
  }
}

/** `registerCluster` encrypts the kubeconfig at each start, because the address may have changed. */
export async function registerCluster(client: Client, namespace: string, keys: RolloutsOptions['keys'], file: string) {
  const { sealing } = await keys.current();
  const sealed = await sealKubeconfig(sealing, name, await readFile(file, 'utf8'));
  const options = { fieldManager, force: true };
  await client.apply(coreSecrets, sealedSecret(namespace, `cluster-${name}`, sealed), options);
  const spec = { environment: 'Dev', description: 'The cluster of npm start itself.' };
  const object = { apiVersion: API_VERSION, kind: 'Cluster', metadata: { name }, spec };
  await client.apply<Cluster>(clusterKind.resource, object as Cluster, options);
}
