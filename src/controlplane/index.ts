/**
 * A real Kubernetes control plane on this machine for `kidp up` and for tests: etcd, kube-apiserver and, on request,
 * controller-manager, scheduler, KWOK nodes and a real Kafka.
 *
 * Input: the requested components, an optional directory to keep state in, users, and policies for audit and
 * encryption. Output: a kubeconfig, and handles to stop, pause, kill and restart each process, to snapshot and to
 * restore. This module does not know what runs on the cluster: no CRD, no policy, no webhook of kidp.
 */
export type { AuditPolicy, EncryptionOptions } from './api-server.ts';
export { type AssetOptions, ensureAssets, fluxCrdsBeside, stagesBeside } from './assets.ts';
export { build } from './build.ts';
export { type Architecture, cacheDirectory } from './cache.ts';
export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
export { ControlPlaneError } from './errors.ts';
export type { Etcd } from './etcd.ts';
export { ensureKafka } from './kafka/assets.ts';
export { type Kafka, type KafkaOptions, startKafka } from './kafka/kafka.ts';
export {
  compressedLayer,
  type ImageArchitecture,
  type ImageContent,
  type ImageLayer,
  imageArchive,
  imageLayout,
} from './nodes/archive.ts';
export { type RealCluster, startRealCluster } from './nodes/cluster.ts';
export { rootFileSystem } from './nodes/debian.ts';
export { missingForImages, missingForNodes } from './nodes/requirements.ts';
export { type TarEntry, tar, tarParts } from './nodes/tar.ts';
export { makeOnce } from './once.ts';
export { freePort, portOr } from './ports.ts';
export type { ProcessHandle } from './process.ts';
export { formatProgress, type Progress, renderProgress } from './progress.ts';
export { reaper } from './reaper.ts';
export { type Program, type Recipe, recipes } from './recipes.ts';
export type { User } from './users.ts';
export { webhookClientName } from './webhook-client.ts';
