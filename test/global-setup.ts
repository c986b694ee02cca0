/**
 * Starts one control plane for all integration tests: API server, controller-manager, scheduler and two nodes. A test
 * uses its own namespaces and names there, and starts its own control plane if it would disturb others. If the control
 * plane cannot start, the run fails; nothing is skipped. Kafka starts when the first test needs it.
 */
import type { TestProject } from 'vitest/node';
import { ensureAssets, renderProgress, startControlPlane } from '../src/controlplane/index.ts';
import type { SharedControlPlane } from './support/cluster.ts';
import { serveKafka } from './support/kafka.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: SharedControlPlane;
    /** The address of the Kafka service of the setup. */
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
