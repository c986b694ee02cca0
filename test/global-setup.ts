/**
 * One control plane for all integration tests: API server, controller-manager, scheduler and two nodes. A test keeps to
 * namespaces and names of its own there, and starts a control plane of its own where it would disturb others. Where it
 * cannot be started the run fails: nothing is skipped. Kafka is started when the first test asks for it.
 */
import type { TestProject } from 'vitest/node';
import { ensureAssets, renderProgress, startControlPlane } from '../src/controlplane/index.ts';
import type { SharedControlPlane } from './support/cluster.ts';
import { serveKafka } from './support/kafka.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: SharedControlPlane;
    /** Where to ask for Kafka. */
    kafka: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const assets = { onProgress: renderProgress(process.stderr) };
  const { kubectl } = await ensureAssets(['kubectl'], assets);
  const controlPlane = await startControlPlane({ controllerManager: true, scheduler: true, nodes: 2, assets });
  const { kubeconfig, url, authority } = controlPlane;
  project.provide('controlPlane', { kubeconfig, url, authority, kubectl });
  const kafka = await serveKafka({ assets });
  project.provide('kafka', kafka.url);
  return async () => {
    await kafka.stop();
    await controlPlane.stop();
  };
}
