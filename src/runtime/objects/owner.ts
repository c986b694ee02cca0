/** Owner references, which the garbage collector and `owns` follow. */
import type { KubernetesObject, OwnerReference } from './object.ts';

/** `controllerReference` is the reference for objects that the owner's controller creates. A namespaced owner owns only within its namespace. */
export function controllerReference(owner: KubernetesObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}
