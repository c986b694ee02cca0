/** Policies and the objects they match, in memory, for unit tests of live policies. */
import { kinds, policy, policyException } from '../../src/api/index.ts';
import type { Resource } from '../../src/runtime/index.ts';
import { type MemoryCluster, memoryCluster } from './memory-cluster.ts';

const core = (kind: string, plural: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
});
export const namespaces = core('Namespace', 'namespaces', false);
export const configMaps = core('ConfigMap', 'configmaps');
export const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

export interface PolicyCluster extends MemoryCluster {
  putPolicy(name: string, expression: string, more?: object): void;
  putException(name: string, namespace: string, spec: object): void;
  putConfigMap(name: string, namespace: string, data: Record<string, string>): void;
}

export function policyCluster(more: readonly Resource[] = []): PolicyCluster {
  const cluster = memoryCluster([
    ...kinds.map(({ resource }) => resource),
    namespaces,
    configMaps,
    definitions,
    leaseResource,
    ...more,
  ]);
  for (const name of ['default', 'team-a']) cluster.put(namespaces, { metadata: { name, labels: { team: name } } });
  return {
    ...cluster,
    putPolicy: (name, expression, spec = {}) =>
      void cluster.put(policy.resource, { metadata: { name }, spec: policySpec(expression, spec) }),
    putException: (name, namespace, spec) =>
      void cluster.put(policyException.resource, { metadata: { name, namespace }, spec }),
    putConfigMap: (name, namespace, data) => void cluster.put(configMaps, { metadata: { name, namespace }, data }),
  };
}

/** A policy for ConfigMaps with one rule named `rule`. */
export function policySpec(expression: string, more: object = {}) {
  return {
    selector: { resourceTypes: ['core/v1/ConfigMap'] },
    rules: [{ name: 'rule', expression, message: 'as it must be' }],
    ...more,
  };
}
