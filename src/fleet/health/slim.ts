/** Reduces objects to the checked fields, because thousands are kept in memory. */
import type { KubernetesObject, ObjectMeta } from '../../runtime/index.ts';
import type { CustomResource, Pod } from './shapes.ts';

export function slimPod(object: KubernetesObject): Pod {
  const { apiVersion, kind, metadata, spec, status } = object as Pod;
  const { labels = {}, ownerReferences } = metadata;
  const hashes = ['pod-template-hash', 'controller-revision-hash'].flatMap((name) => {
    const value = labels[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    apiVersion,
    kind,
    metadata: {
      ...slimMetadata(metadata),
      labels: Object.fromEntries(hashes),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec: {
      containers: (spec?.containers ?? []).map(({ name, resources }) => ({
        ...(name === undefined ? {} : { name }),
        ...(resources?.limits === undefined ? {} : { resources: { limits: resources.limits } }),
      })),
    },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      ...(status?.reason === undefined ? {} : { reason: status.reason }),
      ...(status?.containerStatuses === undefined ? {} : { containerStatuses: status.containerStatuses }),
      ...(status?.initContainerStatuses === undefined ? {} : { initContainerStatuses: status.initContainerStatuses }),
    },
  };
}

export function slimCustomResource(object: KubernetesObject): CustomResource {
  const { apiVersion, kind, metadata, status } = object as CustomResource;
  const conditions = Array.isArray(status?.conditions) ? status.conditions : [];
  return {
    apiVersion,
    kind,
    metadata: slimMetadata(metadata),
    status: {
      ...(status?.observedGeneration === undefined ? {} : { observedGeneration: status.observedGeneration }),
      conditions: conditions.map((each) => ({
        ...(each?.type === undefined ? {} : { type: each.type }),
        ...(each?.status === undefined ? {} : { status: each.status }),
        ...(each?.observedGeneration === undefined ? {} : { observedGeneration: each.observedGeneration }),
      })),
    },
  };
}

function slimMetadata(metadata: ObjectMeta): ObjectMeta {
  const slim: ObjectMeta = { name: metadata.name };
  for (const field of ['namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp'] as const) {
    const value = metadata[field];
    if (value !== undefined) slim[field] = value;
  }
  if (metadata.generation !== undefined) slim.generation = metadata.generation;
  return slim;
}
