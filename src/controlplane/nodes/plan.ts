/** The names, addresses and folders of a cluster with real nodes; both sides of its namespaces compute the same ones. */
import { join } from 'node:path';
import type { ControlPlaneOptions } from '../control-plane.ts';

export interface ClusterPlan {
  /** The folder of the cluster, the same inside and outside of its namespaces. */
  readonly directory: string;
  /** The number of this cluster among those of this machine, which is part of its addresses. */
  readonly network: number;
  /** The cgroup that holds those of all Pods. */
  readonly cgroup: string;
  readonly nodes: 1 | 2;
  readonly pluginFolder: string;
  readonly controlPlane: Pick<ControlPlaneOptions, 'webhooks' | 'audit' | 'apiServerFlags'>;
  /** The OCI archive of the sandbox image. */
  readonly pauseImage: string;
}

export const podNetwork = '10.244.0.0/16';
export const dnsAddress = '10.96.0.10';
export const pauseImageName = 'kidp.local/pause:1';

export const linkName = (network: number): string => `kidp${network}`;
export const hostAddress = (network: number): string => `10.213.${network}.1`;
/** The address of a node; the first one is also the control plane’s. */
export const nodeAddress = (network: number, index: number): string => `10.213.${network}.${2 + index}`;
export const podSubnet = (index: number): string => `10.244.${index}.0/24`;
export const nodeName = (index: number): string => `node-${index}`;
export const nodeFolder = (directory: string, index: number): string => join(directory, nodeName(index));
export const containerdSocket = (index: number): string => `/run/${nodeName(index)}/containerd.sock`;
export const readyFile = (directory: string): string => join(directory, 'ready.json');

/** What the inside reports once the nodes are Ready. */
export interface ReadyReport {
  readonly kubeconfig: string;
  readonly url: string;
  readonly authority: string;
  readonly webhookAuthority?: string | undefined;
  readonly auditLog?: string | undefined;
}
