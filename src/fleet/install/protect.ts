/**
 * What must outlive a release that had it: definitions and Namespaces, with the custom resources of whoever uses them. Helm removes what
 * is no longer in a release unless the object itself says `keep`.
 */
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { coreNamespaces as namespaces } from '../../runtime/internal.ts';
import { isDefinition } from '../charts/render.ts';
import { definitionResource, fieldManager } from './definitions.ts';
import { objectsOf, type Release, type ReleaseName, readRelease, revisionsOf } from './releases.ts';

export const keepAnnotation = 'helm.sh/resource-policy';

/** Objects that no path of a rollout takes away. */
export const mustStay = (object: UnknownObject): boolean =>
  isDefinition(object) || (object.apiVersion === 'v1' && object.kind === 'Namespace');

/** Whoever wrote it wants it to stay, also where Helm removes all else. */
export const saysKeep = ({ metadata }: UnknownObject): boolean => metadata.annotations?.[keepAnnotation] === 'keep';

/** Of the objects of a release: those that an uninstall would take, because the release itself does not say `keep`. */
export const atRisk = (objects: readonly UnknownObject[]): readonly UnknownObject[] =>
  objects.filter((object) => mustStay(object) && !saysKeep(object));

async function protect(client: Client, objects: readonly UnknownObject[]): Promise<void> {
  for (const object of objects.filter(mustStay)) {
    await annotate(client, isDefinition(object) ? definitionResource : namespaces, object.metadata, {
      [keepAnnotation]: 'keep',
    });
  }
}

/** Where the newest revision has failed, Helm compares with the one that is deployed: what is only in that one would go as well. */
export async function protectRelease(client: Client, name: ReleaseName, newest: Release): Promise<void> {
  await protect(client, await objectsOf(newest));
  if (newest.status === 'deployed') return;
  const deployed = (await revisionsOf(client, name)).find(({ status }) => status === 'deployed');
  if (deployed !== undefined) await protect(client, await objectsOf(await readRelease(deployed)));
}

/** Null takes an annotation away. An object that is gone needs none. */
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
