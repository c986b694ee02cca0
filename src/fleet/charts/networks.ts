/**
 * Which addresses charts are fetched from. Whoever writes an Operator says where its chart is, and it is fetched from where the platform
 * is: so not from this machine itself, nor from where clouds tell machines their credentials, unless whoever runs it says so. Private networks
 * are where companies have their repositories, and are asked.
 */
import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { FleetError } from '../contract.ts';

export interface AllowedNetworks {
  /** Of an address, without brackets. */
  allows(address: string): boolean;
  /** Only what is allowed of what a name resolves to, each time anew: an answer that changes later is asked about again. */
  readonly lookup: LookupFunction;
}

const refused = [
  // This machine.
  ...['0.0.0.0/8', '127.0.0.0/8', '::/128', '::1/128'],
  // Link-local, where 169.254.169.254 is.
  ...['169.254.0.0/16', 'fe80::/10'],
  // What some clouds have in its place: Azure, Oracle, Alibaba, Amazon by IPv6.
  ...['168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32', 'fd00:ec2::254/128'],
  // To many at once, and to nobody.
  ...['224.0.0.0/4', '240.0.0.0/4', 'ff00::/8'],
];

/** What a development cluster needs. */
const thisMachine = ['127.0.0.0/8', '::1/128'];

/** `allowed`: networks that are asked although they would not be, as `192.0.2.0/24`. Throws a RangeError where one is none. */
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
    `No chart is fetched from ${host}: its address is of this machine, link-local or of a cloud's own. Whoever runs the platform can allow it with --chart-network`,
  );

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) {
      throw new RangeError(`"${network}" is no network: write it as 192.0.2.0/24`);
    }
    list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
