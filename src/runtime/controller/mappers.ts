/** Maps a changed object to the objects that must be reconciled because of it. */
import { type KubernetesObject, keyOf, type ObjectKey, type Resource } from '../objects/object.ts';
import { controllerOf } from '../objects/owner.ts';

export type Mapper<T extends KubernetesObject = KubernetesObject> = (object: T) => Iterable<ObjectKey>;

export const toItself: Mapper = (object) => [keyOf(object)];

/** Maps an object to its controlling owner of this kind. */
export function toController(of: Resource): Mapper {
  return (object) => {
    const owner = controllerOf(object);
    if (owner === undefined || owner.kind !== of.kind || groupOf(owner.apiVersion) !== of.group) return [];
    return [keyIn(of, object, owner.name)];
  };
}

/** Maps an object to the object of this kind that is named by a label. */
export function toLabelled(of: Resource, label: string): Mapper {
  return (object) => {
    const name = object.metadata.labels?.[label];
    return name === undefined ? [] : [keyIn(of, object, name)];
  };
}

function keyIn(of: Resource, object: KubernetesObject, name: string): ObjectKey {
  const { namespace } = object.metadata;
  return of.namespaced && namespace !== undefined ? { namespace, name } : { name };
}

/** Versions are ignored: they are views of the same objects. */
function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
