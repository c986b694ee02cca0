/** One node: containerd, kubelet and kube-proxy, in the network namespace of the node. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../control-plane.ts';
import { manageProcess, type ProcessHandle } from '../process.ts';
import {
  type ClusterPlan,
  containerdSocket,
  dnsAddress,
  nodeAddress,
  nodeFolder,
  nodeName,
  pauseImageName,
  podNetwork,
  podSubnet,
} from './plan.ts';
import { demand } from './run.ts';

interface NodeOptions {
  readonly plan: ClusterPlan;
  readonly index: number;
  readonly plane: ControlPlane;
  /** The path of the CA certificate of clients of kubelets. */
  readonly clientAuthority: string;
  readonly programs: { readonly kubelet: string; readonly 'kube-proxy': string };
}

/** `startNode` resolves once the kubelet serves. The node becomes Ready moments later. */
export async function startNode(options: NodeOptions): Promise<readonly ProcessHandle[]> {
  const { plan, index, plane, programs } = options;
  const name = nodeName(index);
  const folder = nodeFolder(plan.directory, index);
  await Promise.all(['cni', 'logs', 'run'].map((each) => mkdir(join(folder, each), { recursive: true })));
  await mkdir(`/run/${name}`, { recursive: true });
  const write = async (file: string, content: unknown): Promise<string> => {
    const path = join(folder, file);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
    return path;
  };
  const part = (program: string, flags: readonly string[], isReady: () => Promise<boolean>): ProcessHandle =>
    manageProcess({
      name: `${name}-${program.split('/').at(-1)}`,
      run: join(folder, 'run'),
      logFile: join(folder, 'logs', `${program.split('/').at(-1)}.log`),
      command: () => inNetworkOf(index, program, flags),
      isReady,
    });

  const socket = containerdSocket(index);
  const containerd = part(
    'containerd',
    ['--config', await write('containerd.toml', containerdConfig(plan, index, folder))],
    async () => existsSync(socket),
  );
  await containerd.start();
  await demand('ctr', ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', plan.pauseImage]);
  await write('cni/10-kidp.conflist', networkConfig(index));
  const address = nodeAddress(plan.network, index);
  const kubelet = part(
    programs.kubelet,
    [
      `--config=${await write('kubelet.json', kubeletConfig(options, folder, address))}`,
      `--kubeconfig=${await plane.kubeconfigFor({ name: `system:node:${name}`, groups: ['system:nodes'] })}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
      `--root-dir=${join(folder, 'kubelet')}`,
      `--cert-dir=${join(folder, 'certificates')}`,
    ],
    () => healthy(index, 10_248),
  );
  const proxyConfig = await write('kube-proxy.json', {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: await plane.kubeconfigFor({ name: 'system:kube-proxy' }) },
    clusterCIDR: podNetwork,
    hostnameOverride: name,
    mode: 'iptables',
    // A container runtime may forbid to change these.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
  const proxy = part(programs['kube-proxy'], [`--config=${proxyConfig}`], () => healthy(index, 10_256));
  await Promise.all([kubelet.start(), proxy.start()]);
  return [containerd, kubelet, proxy];
}

/** The first node is in the network namespace of the control plane. */
function inNetworkOf(index: number, program: string, flags: readonly string[]) {
  return index === 0
    ? { program, arguments: flags }
    : { program: 'nsenter', arguments: [`--net=/run/netns/${nodeName(index)}`, program, ...flags] };
}

/** kubelet and kube-proxy serve their health on loopback of their own namespace. */
async function healthy(index: number, port: number): Promise<boolean> {
  const probe = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3; read -r line <&3; [[ $line == *" 200 "* ]]`;
  const { program, arguments: flags } = inNetworkOf(index, 'bash', ['-c', probe]);
  return demand(program, flags).then(
    () => true,
    () => false,
  );
}

function containerdConfig(plan: ClusterPlan, index: number, folder: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${join(folder, 'containerd')}"
state = "/run/${nodeName(index)}/containerd"
[grpc]
  address = "${containerdSocket(index)}"
[${cri}]
  # CAP_SYS_RESOURCE may be absent.
  restrict_oom_score_adj = true
  sandbox_image = "${pauseImageName}"
  [${cri}.cni]
    bin_dir = "${plan.pluginFolder}"
    conf_dir = "${join(folder, 'cni')}"
  [${cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`;
}

function networkConfig(index: number): unknown {
  return {
    cniVersion: '1.0.0',
    name: 'kidp',
    plugins: [
      {
        type: 'bridge',
        bridge: 'pods',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: podSubnet(index) }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: `/run/${nodeName(index)}/addresses`,
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

function kubeletConfig({ plan, index, clientAuthority }: NodeOptions, folder: string, address: string): unknown {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    authentication: {
      x509: { clientCAFile: clientAuthority },
      webhook: { enabled: true },
      anonymous: { enabled: false },
    },
    authorization: { mode: 'Webhook' },
    clusterDomain: 'cluster.local',
    clusterDNS: [dnsAddress],
    containerRuntimeEndpoint: `unix://${containerdSocket(index)}`,
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${plan.cgroup}/${nodeName(index)}`,
    enforceNodeAllocatable: [],
    // The disk and the memory of the machine are shared with everything else on it.
    evictionHard: {
      'memory.available': '0%',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    failSwapOn: false,
    resolvConf: '',
    podLogsDir: join(folder, 'pods'),
    volumePluginDir: join(folder, 'plugins'),
    serializeImagePulls: false,
  };
}
