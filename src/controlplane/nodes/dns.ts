/** Cluster DNS: CoreDNS on the first node, behind the Service that kubelets name to Pods. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../control-plane.ts';
import { manageProcess, type ProcessHandle } from '../process.ts';
import { type ClusterPlan, dnsAddress, nodeAddress } from './plan.ts';

interface DnsOptions {
  readonly plan: ClusterPlan;
  readonly plane: ControlPlane;
  readonly program: string;
  readonly apply: (objects: readonly object[]) => Promise<void>;
}

export async function startDns({ plan, plane, program, apply }: DnsOptions): Promise<ProcessHandle> {
  const address = nodeAddress(plan.network, 0);
  const kubeconfig = await plane.kubeconfigFor({ name: 'system:coredns' });
  const file = join(plan.directory, 'Corefile');
  await writeFile(
    file,
    `.:53 {
  bind ${address}
  ready ${address}:8181
  errors
  cache 5
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
  }
}
`,
  );
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const rule = (apiGroup: string, ...resources: string[]) => ({
    apiGroups: [apiGroup],
    resources,
    verbs: ['list', 'watch'],
  });
  const ports = ['UDP', 'TCP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 53 }));
  await apply([
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'system:coredns' },
      rules: [rule('', 'services', 'namespaces', 'pods', 'endpoints'), rule('discovery.k8s.io', 'endpointslices')],
    },
    binding('system:coredns', 'system:coredns'),
    binding('system:kube-proxy', 'system:node-proxier'),
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: dnsAddress, ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kube-dns' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports,
    },
  ]);
  const dns = manageProcess({
    name: 'coredns',
    run: join(plan.directory, 'run'),
    logFile: join(plan.directory, 'coredns.log'),
    command: () => ({ program, arguments: ['-conf', file] }),
    isReady: async () => (await fetch(`http://${address}:8181/ready`)).ok,
  });
  await dns.start();
  return dns;
}

function binding(user: string, role: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  };
}
