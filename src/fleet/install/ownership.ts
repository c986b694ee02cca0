/** Objects that are applied outside of releases by a blue-green deployment, and that a release then takes back. */
import { type Client, isNotFound, type ObjectKey, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { kindsOf } from './kinds.ts';
import { keepAnnotation } from './protect.ts';
import type { ReleaseName } from './releases.ts';
import { outsideLabel, releaseNameAnnotation as releaseName } from './sides.ts';

const refused = /invalid ownership metadata/;
const releaseNamespace = 'meta.helm.sh/release-namespace';

/**
 * Where Helm refuses an object because it is in no release: those that we have applied ourselves for this Operator become its own. Says
 * whether there were any; the object of somebody else stays refused.
 */
export async function adopt(
  client: Client,
  error: unknown,
  { operator, releaseName: release, namespace, definitions }: Snapshot,
  objects: readonly UnknownObject[],
): Promise<boolean> {
  if (!(error instanceof FleetError) || !refused.test(error.message)) return false;
  const kinds = await kindsOf(client, objects, definitions);
  let found = false;
  for (const object of objects) {
    const resource = kinds.resourceOf(object);
    const { name, namespace: within = namespace } = object.metadata;
    const key = resource.namespaced ? { namespace: within, name } : { name };
    const live = await read(client, resource, key);
    if (live?.metadata.labels?.[outsideLabel] !== operator) continue;
    found = true;
    const metadata = {
      labels: { 'app.kubernetes.io/managed-by': 'Helm', [outsideLabel]: null },
      annotations: { [releaseName]: release, [releaseNamespace]: namespace },
    };
    await client.patch(resource, key, { type: 'merge', body: { metadata } }, { fieldManager });
  }
  return found;
}

/**
 * It no longer says that it is of this release, which is gone, but that it is of the Operator: a later side may have it again. That of
 * another release stays its own.
 */
export async function disown(
  client: Client,
  resource: Resource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  release: ReleaseName & Pick<Snapshot, 'operator'>,
): Promise<void> {
  const key = resource.namespaced ? { namespace, name } : { name };
  const { annotations = {} } = (await read(client, resource, key))?.metadata ?? {};
  if (annotations[releaseName] !== release.name || annotations[releaseNamespace] !== release.namespace) return;
  const metadata = {
    labels: { [outsideLabel]: release.operator },
    annotations: { [keepAnnotation]: null, [releaseName]: null, [releaseNamespace]: null },
  };
  await client.patch(resource, key, { type: 'merge', body: { metadata } }, { fieldManager }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

async function read(client: Client, resource: Resource, key: ObjectKey): Promise<UnknownObject | undefined> {
  try {
    return await client.get(resource, key);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
