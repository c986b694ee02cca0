/**
 * The addresses that charts may be fetched from.
 *
 * The author of an Operator chooses the chart address, and the platform fetches it from its own network. So loopback
 * and cloud metadata addresses are denied unless the administrator allows them. Private networks are allowed: that is
 * where companies run their repositories.
 */
import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { FleetError } from '../contract.ts';

export interface AllowedNetworks {
  /** Whether an IP address (without brackets) is allowed. */
  allows(address: string): boolean;
  /** A DNS lookup that returns only allowed addresses, on every connection, so that DNS rebinding does not help. */
  readonly lookup: LookupFunction;
}

const refused = [
  // Loopback.
  ...['0.0.0.0/8', '127.0.0.0/8', '::/128', '::1/128'],
  // Link-local, including 169.254.169.254.
  ...['169.254.0.0/16', 'fe80::/10'],
  // Metadata addresses of Azure, Oracle, Alibaba, and Amazon over IPv6.
  ...['168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32', 'fd00:ec2::254/128'],
  // Multicast and reserved.
  ...['224.0.0.0/4', '240.0.0.0/4', 'ff00::/8'],
];

/** The default, for development clusters. */
const thisMachine = ['127.0.0.0/8', '::1/128'];

/**
 * `allowedNetworks`: `allowed` lists networks that are denied otherwise, such as `192.0.2.0/24`. Throws a RangeError
 * for an invalid network.
 */
export function allowedNetworks(allowed: readonly string[] = thisMachine): AllowedNetworks {
  const exceptions = listOf(allowed);
  const others = listOf(refused);
  const allows = (address: string): boolean => {
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    return exceptions.check(address, family) || !others.check(address, family);
  };
  return {
    allows,
    lookup: (hostname, options, done) => {
      resolve(hostname, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(error, []);
        const usable = found.filter(({ address }) => allows(address));
        const [first] = usable;
        if (first === undefined) return done(networkRefused(hostname), []);
        return options.all === true ? done(null, usable) : done(null, first.address, first.family);
      });
    },
  };
}

export const networkRefused = (host: string): FleetError =>
  new FleetError(
    'chart/unreachable',
    `No chart is fetched from ${host}: its address is loopback, link-local or a cloud metadata address. An administrator can allow it with --chart-network`,
  );

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) {
      throw new RangeError(`"${network}" is not a network: write it as 192.0.2.0/24`);
    }
    list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
