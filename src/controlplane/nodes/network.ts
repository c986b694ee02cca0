/** The network inside of the namespaces: a bridge with the nodes, of which the first is the machine of the control plane. */
import { serviceNetwork } from '../api-server.ts';
import { hostAddress, nodeAddress, nodeName, podNetwork, podSubnet } from './plan.ts';
import { demand } from './run.ts';

const bridge = 'nodes';

/** `openNetwork` connects `uplink`, the end of the link to the machine, and gives each further node a network namespace. */
export async function openNetwork(network: number, nodes: number): Promise<void> {
  const first = nodeAddress(network, 0);
  await ip('link', 'add', bridge, 'type', 'bridge');
  await ip('link', 'set', 'uplink', 'master', bridge, 'up');
  await ip('addr', 'add', `${first}/24`, 'dev', bridge);
  await ip('link', 'set', bridge, 'up');
  // A packet to a Service needs a route before it is rewritten; there is no way to anywhere but the machine.
  await ip('route', 'add', 'default', 'via', hostAddress(network));
  // Pods reach servers of the machine under the address of their node.
  await demand('iptables', [
    '-t',
    'nat',
    '-A',
    'POSTROUTING',
    '-s',
    podNetwork,
    '-d',
    `${hostAddress(network)}/32`,
    '-j',
    'MASQUERADE',
  ]);
  await refuseUnknownServices([]);
  for (let index = 1; index < nodes; index++) {
    const name = nodeName(index);
    await ip('netns', 'add', name);
    await ip('link', 'add', `${name}-up`, 'type', 'veth', 'peer', 'name', 'uplink', 'netns', name);
    await ip('link', 'set', `${name}-up`, 'master', bridge, 'up');
    const inside = (...flags: string[]) => demand('ip', ['-n', name, ...flags]);
    await inside('link', 'set', 'lo', 'up');
    await inside('addr', 'add', `${nodeAddress(network, index)}/24`, 'dev', 'uplink');
    await inside('link', 'set', 'uplink', 'up');
    await inside('route', 'add', 'default', 'via', first);
    await inside('route', 'add', podSubnet(0), 'via', first);
    await refuseUnknownServices(['nsenter', `--net=/run/netns/${name}`]);
    await ip('route', 'add', podSubnet(index), 'via', nodeAddress(network, index));
  }
}

/**
 * Refuses connections to a Service until kube-proxy has its rules. Were they merely lost, the kernel would repeat the first packet on the
 * same path for two minutes, since it chooses the endpoint only once for each connection.
 */
async function refuseUnknownServices(inside: readonly string[]): Promise<void> {
  for (const chain of ['FORWARD', 'OUTPUT']) {
    const [program = 'iptables', ...flags] = [...inside, 'iptables', '-A', chain, '-d', serviceNetwork, '-j', 'REJECT'];
    await demand(program, flags);
  }
}

const ip = (...flags: string[]) => demand('ip', flags);
