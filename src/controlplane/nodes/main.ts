/**
 * The inside of the namespaces of a cluster with real nodes: the control plane, the nodes and DNS. It gets its plan as an argument, writes
 * `ready.json` once all nodes are Ready, and ends with everything it started when it is killed.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureAssets } from '../assets.ts';
import { hierarchies } from '../cgroups.ts';
import { startControlPlane } from '../control-plane.ts';
import { startDns } from './dns.ts';
import { openNetwork } from './network.ts';
import { startNode } from './node.ts';
import { type ClusterPlan, nodeAddress, nodeName, type ReadyReport, readyFile } from './plan.ts';
import { demand } from './run.ts';

const plan: ClusterPlan = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8'));
const { directory, network, nodes } = plan;

await mkdir(join(directory, 'run'), { recursive: true });
await openNetwork(network, nodes);
await openGroups();
const plane = await startControlPlane({
  ...plan.controlPlane,
  directory: join(directory, 'control-plane'),
  controllerManager: true,
  scheduler: true,
  address: nodeAddress(network, 0),
});
const programs = await ensureAssets(['kubectl', 'kubelet', 'kube-proxy', 'coredns']);
const kubectl = (...flags: string[]) => demand(programs.kubectl, [`--kubeconfig=${plane.kubeconfig}`, ...flags]);
const clientAuthority = join(plane.directory, 'kube-apiserver', 'client-authority.crt');
await Promise.all([
  startDns({ plan, plane, program: programs.coredns, apply }),
  ...Array.from({ length: nodes }, (_, index) => startNode({ plan, index, plane, clientAuthority, programs })),
]);
await kubectl('wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=120s');
await report({
  kubeconfig: plane.kubeconfig,
  url: plane.url,
  authority: plane.authority,
  webhookAuthority: plane.webhookAuthority,
  auditLog: plane.auditLog,
});

/** A kubelet expects its cgroup in every hierarchy. */
async function openGroups(): Promise<void> {
  for (const hierarchy of hierarchies()) {
    for (let index = 0; index < nodes; index++) {
      await mkdir(join(hierarchy, plan.cgroup, nodeName(index)), { recursive: true });
    }
  }
}

async function apply(objects: readonly object[]): Promise<void> {
  const file = join(directory, 'dns.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  await kubectl('apply', '-f', file);
}

async function report(ready: ReadyReport): Promise<void> {
  await writeFile(`${readyFile(directory)}.new`, JSON.stringify(ready), { mode: 0o600 });
  await rename(`${readyFile(directory)}.new`, readyFile(directory));
}
