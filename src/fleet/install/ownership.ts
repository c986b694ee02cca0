/** Objects that a blue-green deployment applies outside of releases, and their return to a release. */
import { type Client, isNotFound, type ObjectKey, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { type Entry, fieldsGivenToHelm } from './fields.ts';
import { kindsOf } from './kinds.ts';
import { keepAnnotation } from './protect.ts';
import { objectsOf, type ReleaseName, readRelease, revisionsOf } from './releases.ts';
import {
  outsideLabel,
  releaseNameAnnotation as releaseName,
  releaseNamespaceAnnotation as releaseNamespace,
  type Side,
} from './sides.ts';

const refused = /invalid ownership metadata/;

/**
 * `adopt` assigns objects that Helm rejects for missing ownership metadata to the release, if we applied them for this
 * Operator. Returns whether there were any; objects of others stay rejected.
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
    if (await give(client, resource, key, { name: release, namespace, operator })) found = true;
  }
  return found;
}

/**
 * `returnToRelease` assigns the objects that we applied for a side back to its release if that contains them, or Helm
 * would not delete what a later version drops.
 */
export async function returnToRelease(client: Client, { snapshot, kinds, needs, routes }: Side): Promise<void> {
  const { releaseName: name, namespace, operator } = snapshot;
  const revisions = await revisionsOf(client, { name, namespace });
  const deployed = revisions.find(({ status }) => status === 'deployed');
  if (deployed === undefined) return;
  const owned = await objectsOf(await readRelease(deployed));
  for (const object of [...needs, ...routes]) {
    const isOwned = owned.some(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name);
    if (!isOwned) continue;
    const resource = kinds.resourceOf(object);
    const { name: own, namespace: within = namespace } = object.metadata;
    const key = resource.namespaced ? { namespace: within, name: own } : { name: own };
    await give(client, resource, key, { name, namespace, operator });
  }
}

/** Assigns an object to a release if it is ours. */
async function give(
  client: Client,
  resource: Resource,
  key: ObjectKey,
  { name, namespace, operator }: ReleaseName & Pick<Snapshot, 'operator'>,
): Promise<boolean> {
  const live = await read(client, resource, key);
  if (live?.metadata.labels?.[outsideLabel] !== operator) return false;
  const managedFields = fieldsGivenToHelm((live.metadata.managedFields ?? []) as readonly Entry[]);
  const { resourceVersion } = live.metadata;
  const metadata = {
    labels: { 'app.kubernetes.io/managed-by': 'Helm', [outsideLabel]: null },
    annotations: { [releaseName]: name, [releaseNamespace]: namespace },
    ...(managedFields === undefined ? {} : { resourceVersion, managedFields }),
  };
  await client.patch(resource, key, { type: 'merge', body: { metadata } }, { fieldManager });
  return true;
}

/**
 * `releaseOwnership` replaces the release annotations of a removed release by the label of the Operator, so that a
 * later side can use the object. Objects of other releases are left alone.
 */
export async function releaseOwnership(
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
