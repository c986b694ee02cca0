/** Objects that are applied outside of releases by a blue-green deployment, and that a release then takes back. */
import { type Client, isNotFound, type UnknownObject } from '../../runtime/index.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { kindsOf } from './kinds.ts';
import { outsideLabel } from './sides.ts';

const refused = /invalid ownership metadata/;

/**
 * Where Helm refuses an object because it is in no release: those that we have applied ourselves for this Operator become its own. Says
 * whether there were any; the object of somebody else stays refused.
 */
export async function adopt(
  client: Client,
  error: unknown,
  { operator, releaseName, namespace, definitions }: Snapshot,
  objects: readonly UnknownObject[],
): Promise<boolean> {
  if (!(error instanceof FleetError) || !refused.test(error.message)) return false;
  const kinds = await kindsOf(client, objects, definitions);
  let found = false;
  for (const object of objects) {
    const resource = kinds.resourceOf(object);
    const { name, namespace: within = namespace } = object.metadata;
    const key = resource.namespaced ? { namespace: within, name } : { name };
    const live = await client.get(resource, key).catch((missing: unknown) => {
      if (!isNotFound(missing)) throw missing;
      return undefined;
    });
    if (live?.metadata.labels?.[outsideLabel] !== operator) continue;
    found = true;
    const metadata = {
      labels: { 'app.kubernetes.io/managed-by': 'Helm', [outsideLabel]: null },
      annotations: { 'meta.helm.sh/release-name': releaseName, 'meta.helm.sh/release-namespace': namespace },
    };
    await client.patch(resource, key, { type: 'merge', body: { metadata } }, { fieldManager });
  }
  return found;
}
