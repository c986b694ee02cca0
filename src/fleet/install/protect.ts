/**
 * Objects that must outlive a release: definitions and Namespaces, with their custom resources. Helm deletes objects
 * that left a release unless they are annotated `keep`.
 */
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { coreNamespaces as namespaces } from '../../runtime/internal.ts';
import { isDefinition } from '../charts/render.ts';
import { definitionResource, fieldManager } from './definitions.ts';
import { objectsOf, type Release, type ReleaseName, readRelease, revisionsOf } from './releases.ts';

export const keepAnnotation = 'helm.sh/resource-policy';

/** Objects that no rollout deletes. */
export const mustStay = (object: UnknownObject): boolean =>
  isDefinition(object) || (object.apiVersion === 'v1' && object.kind === 'Namespace');

/** The author wants the object kept, even if Helm deletes everything else. */
export const saysKeep = ({ metadata }: UnknownObject): boolean => metadata.annotations?.[keepAnnotation] === 'keep';

/** The objects that an uninstall would delete, because the release does not say `keep`. */
export const atRisk = (objects: readonly UnknownObject[]): readonly UnknownObject[] =>
  objects.filter((object) => mustStay(object) && !saysKeep(object));

async function protect(client: Client, objects: readonly UnknownObject[]): Promise<void> {
  for (const object of objects.filter(mustStay)) {
    await annotate(client, isDefinition(object) ? definitionResource : namespaces, object.metadata, {
      [keepAnnotation]: 'keep',
    });
  }
}

/**
 * If the newest revision failed, Helm compares with the deployed one: objects that are only in that one would be
 * deleted too.
 */
export async function protectRelease(client: Client, name: ReleaseName, newest: Release): Promise<void> {
  await protect(client, await objectsOf(newest));
  if (newest.status === 'deployed') return;
  const deployed = (await revisionsOf(client, name)).find(({ status }) => status === 'deployed');
  if (deployed !== undefined) await protect(client, await objectsOf(await readRelease(deployed)));
}

/** `annotate` removes annotations with null. A missing object is ignored. */
export async function annotate(
  client: Client,
  resource: Resource,
  key: { readonly namespace?: string; readonly name: string },
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const { namespace, name } = key;
  const at = namespace === undefined || !resource.namespaced ? { name } : { namespace, name };
  const body = { metadata: { annotations } };
  await client.patch(resource, at, { type: 'merge', body }, { fieldManager }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
