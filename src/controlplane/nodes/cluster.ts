/**
 * A cluster with real nodes on this machine: etcd, API server, controller-manager, scheduler, DNS, and one or two nodes that run real
 * containers. Everything is in namespaces of its own (network, mounts, processes), which end with this process. Only the API server and
 * the nodes can be reached from the machine, over a private link.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AssetOptions, ensureAssets } from '../assets.ts';
import { removeGroups } from '../cgroups.ts';
import { openDirectory } from '../directory.ts';
import { ControlPlaneError } from '../errors.ts';
import { manageProcess } from '../process.ts';
import { reaper } from '../reaper.ts';
import { imageArchive } from './archive.ts';
import { initScript } from './init.ts';
import {
  type ClusterPlan,
  containerdSocket,
  hostAddress,
  linkName,
  nodeAddress,
  nodeName,
  pauseImageName,
  type ReadyReport,
  readyFile,
} from './plan.ts';
import { missingForNodes, pluginFolder } from './requirements.ts';
import { demand } from './run.ts';
import { tar } from './tar.ts';

interface RealClusterOptions {
  /** The number of nodes; the default is 1. */
  readonly nodes?: 1 | 2;
  readonly controlPlane?: ClusterPlan['controlPlane'];
  readonly assets?: AssetOptions;
}

export interface RealCluster extends ReadyReport {
  readonly directory: string;
  /** The address under which Pods and the API server reach this machine. */
  readonly hostAddress: string;
  readonly nodes: readonly { readonly name: string; readonly address: string }[];
  /** Makes the images of an archive available on every node. */
  importImages(archive: string): Promise<void>;
  /** Ends a container of a node with SIGKILL. Its ID is that of its status, without `containerd://`. */
  killContainer(node: string, id: string): Promise<void>;
  /** Runs a program on a node, in its namespaces, as root, and returns its output. */
  runOnNode(node: string, program: string, ...flags: string[]): Promise<string>;
  stop(): Promise<void>;
}

const programs = ['kubernetes', 'etcd', 'kubelet', 'kube-proxy', 'coredns', 'pause'] as const;

/** `startRealCluster` resolves once all nodes are Ready. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const plugins = requireNodes();
  // Inside of the namespaces there is no network to download from.
  const { pause } = await ensureAssets(programs, options.assets);
  const directory = await openDirectory({ owner: 'real-cluster' });
  const network = await openLink();
  const cgroup = `kidp-${randomBytes(6).toString('hex')}`;
  await reaper().notify({ cgroup });
  const plan: ClusterPlan = {
    directory: directory.path,
    network,
    cgroup,
    nodes: options.nodes ?? 1,
    pluginFolder: plugins,
    controlPlane: options.controlPlane ?? {},
    pauseImage: join(directory.path, 'pause.tar'),
  };
  await writeFile(plan.pauseImage, pauseArchive(await readFile(pause)));
  const planFile = join(directory.path, 'plan.json');
  await writeFile(planFile, JSON.stringify(plan));
  const inside = insideOf(plan, planFile, directory.run);
  const stop = async () => {
    await inside.kill();
    // The link is gone with its other end, once that was inside.
    await demand('ip', ['link', 'delete', linkName(network)]).catch(() => undefined);
    await reaper().notify({ unlinked: linkName(network) });
    await removeGroups(cgroup);
    await directory.release();
  };
  try {
    await inside.start();
    const ready: ReadyReport = JSON.parse(await readFile(readyFile(plan.directory), 'utf8'));
    const init = await firstChild(inside.pid);
    return { ...ready, ...reach(plan, init), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function requireNodes(): string {
  const missing = missingForNodes();
  const plugins = pluginFolder();
  if (missing.length === 0 && plugins !== undefined) return plugins;
  throw new ControlPlaneError({
    code: 'nodes/unavailable',
    message: `real nodes cannot start: ${missing.join('; ')}`,
    hint: 'On Debian and Ubuntu, scripts/system-packages.sh installs the packages, as root.',
  });
}

/** The name of the link reserves the addresses that are derived from it. */
async function openLink(): Promise<number> {
  for (let network = 0; network < 256; network++) {
    const name = linkName(network);
    const added = await demand('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}-in`]).catch(
      (error: ControlPlaneError) => error,
    );
    if (typeof added !== 'string') {
      if (/File exists/.test(added.message)) continue;
      throw added;
    }
    await reaper().notify({ link: name });
    await demand('ip', ['addr', 'add', `${hostAddress(network)}/24`, 'dev', name]);
    await demand('ip', ['link', 'set', name, 'up']);
    return network;
  }
  throw new ControlPlaneError({
    code: 'nodes/unavailable',
    message: 'all 256 networks for real nodes are in use',
    hint: 'Stop other clusters; `ip link` lists their links, kidp0 to kidp255.',
  });
}

/** The process that owns the namespaces: everything inside ends with it. */
function insideOf(plan: ClusterPlan, planFile: string, run: string) {
  const here = dirname(fileURLToPath(import.meta.url));
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const main = join(here, `main${extension}`);
  let linked = false;
  const inside = manageProcess({
    name: 'namespaces',
    run,
    logFile: join(plan.directory, 'namespaces.log'),
    readyWithinMilliseconds: 240_000,
    command: () => ({
      program: 'unshare',
      arguments: [
        ...['--net', '--mount', '--ipc', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'],
        ...['/bin/sh', '-c', initScript, 'init', join(plan.directory, 'private'), process.execPath, main, planFile],
      ],
      environment: process.env.KIDP_CACHE === undefined ? {} : { KIDP_CACHE: process.env.KIDP_CACHE },
    }),
    isReady: async () => {
      if (!linked) {
        const name = `${linkName(plan.network)}-in`;
        await demand('ip', ['link', 'set', name, 'netns', String(await firstChild(inside.pid)), 'name', 'uplink']);
        linked = true;
      }
      return existsSync(readyFile(plan.directory));
    },
  });
  return inside;
}

/** Its namespaces are those of the cluster. */
async function firstChild(pid: number | undefined): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const first = Number(children.trim().split(' ')[0]);
  if (!Number.isInteger(first) || first <= 0) throw new RangeError(`process ${pid} has no child yet`);
  return first;
}

function reach(
  plan: ClusterPlan,
  init: number,
): Pick<RealCluster, 'directory' | 'hostAddress' | 'nodes' | 'importImages' | 'killContainer' | 'runOnNode'> {
  const nodes = Array.from({ length: plan.nodes }, (_, index) => ({
    name: nodeName(index),
    address: nodeAddress(plan.network, index),
  }));
  const runOnNode = (node: string, program: string, ...flags: string[]) => {
    const index = nodes.findIndex(({ name }) => name === node);
    if (index < 0) throw new RangeError(`there is no node ${node}`);
    const network = index === 0 ? [] : ['nsenter', `--net=/run/netns/${node}`];
    return demand('nsenter', [`--target=${init}`, '--net', '--mount', '--pid', '--ipc', ...network, program, ...flags]);
  };
  const containers = (index: number, ...flags: string[]) =>
    runOnNode(nodeName(index), 'ctr', '--address', containerdSocket(index), '--namespace', 'k8s.io', ...flags);
  return {
    directory: plan.directory,
    hostAddress: hostAddress(plan.network),
    nodes,
    runOnNode,
    async importImages(archive) {
      for (const index of nodes.keys()) await containers(index, 'images', 'import', archive);
    },
    async killContainer(node, id) {
      const index = nodes.findIndex(({ name }) => name === node);
      await containers(index, 'tasks', 'kill', '--signal', 'SIGKILL', id);
    },
  };
}

function pauseArchive(program: Uint8Array): Uint8Array {
  return imageArchive({
    name: pauseImageName,
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    layers: [tar([{ path: 'pause', content: program, mode: 0o755 }])],
    config: { Entrypoint: ['/pause'], User: '65535:65535' },
  });
}
