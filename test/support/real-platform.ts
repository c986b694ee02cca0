/** kidp on real nodes: our own image, installed from our own chart, as in any cluster. */
import { execFile } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildImage, packageLayer } from '../../scripts/image/build.ts';
import { engineArchive, engineImageNames } from '../../src/cli/up/engine-images.ts';
import {
  ensureAssets,
  imageLayout,
  type RealCluster,
  startRealCluster,
  tarParts,
} from '../../src/controlplane/index.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { root } from '../conventions/tools.ts';

interface RealPlatformOptions {
  readonly nodes: 1 | 2;
  /** The engines whose images are made available. */
  readonly engines?: readonly string[];
  /** Parameters of the DeploymentTarget. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface RealPlatform {
  readonly cluster: RealCluster;
  readonly client: Client;
  kubectl(...flags: string[]): Promise<string>;
  apply(...objects: object[]): Promise<void>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const version = 'e2e';
const quiet = () => undefined;

export async function startRealPlatform(options: RealPlatformOptions): Promise<RealPlatform> {
  const { nodes, engines = [] } = options;
  const cluster = await startRealCluster({ nodes });
  try {
    const { kubectl: program, helm } = await ensureAssets(['kubectl', 'helm']);
    const kubectl = async (...flags: string[]) => {
      const words = ['--kubeconfig', cluster.kubeconfig, ...flags];
      return (await run(program, words, { maxBuffer: 64 * 1024 * 1024 })).stdout;
    };
    const client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
    await cluster.importImages(await kidpArchive(cluster));
    for (const engine of engines) {
      const archive = join(cluster.directory, `${engine}.tar`);
      writeFileSync(archive, await engineArchive(engine));
      await cluster.importImages(archive);
    }
    await kubectl('apply', '--server-side', '-f', join(root, 'crds'));
    await eventually(() => kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'));
    const values = join(cluster.directory, 'values.json');
    writeFileSync(values, JSON.stringify(valuesWith(options)));
    const chart = join(root, 'charts/operators');
    const flags = ['--kubeconfig', cluster.kubeconfig, '--values', values, '--wait', '--timeout', '240s'];
    await run(helm, ['install', 'kidp-operators', chart, ...flags], {
      env: { ...process.env, HELM_CACHE_HOME: cluster.directory, HELM_CONFIG_HOME: cluster.directory },
    });
    let applied = 0;
    return {
      cluster,
      client,
      kubectl,
      async apply(...items) {
        const file = join(cluster.directory, `objects-${applied++}.json`);
        writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
        await kubectl('apply', '--server-side', '-f', file);
      },
      async stop() {
        await client.close();
        await cluster.stop();
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The image of this work tree, built as `npm run image` does. */
async function kidpArchive({ directory }: RealCluster): Promise<string> {
  const { content } = await buildImage(process.arch === 'arm64' ? 'arm64' : 'amd64', await packageLayer(), quiet);
  const file = join(directory, 'kidp.tar');
  const handle = openSync(file, 'w');
  for (const part of tarParts(imageLayout(`docker.io/library/kidp:${version}`, [content]).entries)) {
    for (let at = 0; at < part.length; ) at += writeSync(handle, part, at);
  }
  closeSync(handle);
  return file;
}

const valuesWith = ({ engines = [], parameters = { storage: 'ephemeral' } }: RealPlatformOptions) => ({
  environment: 'dev',
  image: { repository: 'kidp', tag: version },
  connections: { enabled: true },
  brokers: {
    kubernetes: {
      type: 'kubernetes',
      images: Object.fromEntries(engines.map((engine) => [engine, engineImageNames[engine]])),
      deploymentTargets: { 'in-cluster': { provider: 'kubernetes', parameters } },
    },
  },
});

/** The objects of a team that may deploy to the target of the chart. */
export const teamObjects = (team: string): object[] => {
  const apiVersion = 'platform.company.com/v1';
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: team } },
    { apiVersion, kind: 'Team', metadata: { name: team }, spec: { namespace: team } },
    {
      apiVersion,
      kind: 'Application',
      metadata: { name: 'app', namespace: team },
      spec: { owner: { kind: 'Team', name: team } },
    },
  ];
};
