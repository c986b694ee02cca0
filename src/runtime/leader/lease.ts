/** The Lease of coordination.k8s.io/v1: the record that candidates read and the leader renews. */
import type { KubernetesObject, Resource } from '../objects/object.ts';

export interface LeaseSpec {
  /** Absent if the Lease was released. */
  holderIdentity?: string;
  /** In whole seconds, because the API has no finer unit. */
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

export interface Lease extends KubernetesObject {
  spec?: LeaseSpec;
}

export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
