/** Owner references: who made an object, so that the garbage collector and `owns` can follow it. */
import type { KubernetesObject, OwnerReference } from './object.ts';

/** The reference to put on what the owner's controller makes. A namespaced owner owns only within its namespace. */
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
