/** From an object that changed to those that have to be reconciled because of it. */
import { type KubernetesObject, keyOf, type ObjectKey, type Resource } from '../objects/object.ts';
import { controllerOf } from '../objects/owner.ts';

export type Mapper<T extends KubernetesObject = KubernetesObject> = (object: T) => Iterable<ObjectKey>;

export const toItself: Mapper = (object) => [keyOf(object)];

/** To the object of this kind that controls it. */
export function toController(of: Resource): Mapper {
  return (object) => {
    const owner = controllerOf(object);
    if (owner === undefined || owner.kind !== of.kind || groupOf(owner.apiVersion) !== of.group) return [];
    return [keyIn(of, object, owner.name)];
  };
}

/** To the object of this kind that a label names. */
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

/** Versions of a group are views of the same objects. */
function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
