/**
 * The guard of outbound connections. Users write addresses into objects (endpoints of Brokers, chart repositories, servers of
 * kubeconfigs), and the platform connects to them from its own network. So addresses of this machine, of its link and of the cloud's
 * metadata service are refused unless the platform administrator lists them. Private networks stay allowed: that is where clusters
 * and companies have their servers.
 *
 * The check is made on the resolved address of each connection, so neither DNS rebinding nor a redirect gets around it.
 */
import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';

export interface AddressGuard {
  /** Lists an address that is refused otherwise: `HOST:PORT`, `CIDR:PORT` or `CIDR`. Throws a RangeError for anything else. */
  allow(address: string): void;
  /** Throws `AddressRefusedError` if the host is an IP address that is refused. Names are checked when they are resolved. */
  demand(host: string, port: number): void;
  /** A DNS lookup for connections to a port, which returns only allowed addresses. */
  lookup(port: number): LookupFunction;
  /** Resolves a host and rejects with `AddressRefusedError` if no address is allowed, for programs that connect on their own. */
  check(host: string, port: number): Promise<void>;
  /** The `connect` option of an undici Agent: it checks each connection, also those that follow a redirect. */
  connector(options: buildConnector.BuildOptions): buildConnector.connector;
}

/** A connection that the guard refused. The message repeats what the user wrote, and not what a name resolves to. */
export class AddressRefusedError extends Error {
  constructor(host: string, port: number) {
    super(
      `${host}:${port} is refused: its address is loopback, link-local, reserved or a cloud metadata address. A platform administrator can allow it with --allow-address ${host.includes(':') ? `[${host}]` : host}:${port}`,
    );
    this.name = 'AddressRefusedError';
  }
}

const refused = [
  // Unspecified and loopback; the first of IPv6 contains `::`, `::1` and the deprecated form of IPv4 addresses.
  ...['0.0.0.0/8', '127.0.0.0/8', '::/96'],
  // Link-local, including 169.254.169.254.
  ...['169.254.0.0/16', 'fe80::/10'],
  // Metadata addresses of Azure, Oracle and Alibaba, and of Amazon and Google over IPv6.
  ...['168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
  // Multicast and reserved.
  ...['224.0.0.0/4', '240.0.0.0/4', 'ff00::/8'],
  // The same networks through NAT64 and 6to4, which embed an IPv4 address.
  ...['64:ff9b::/104', '64:ff9b::7f00:0/104', '64:ff9b::a9fe:0/112', '2002::/24', '2002:7f00::/24', '2002:a9fe::/32'],
];

interface Listed {
  /** Undefined for a name. */
  readonly network: BlockList | undefined;
  readonly name: string | undefined;
  /** Undefined for every port. */
  readonly port: number | undefined;
}

/** `addressGuard` makes a guard; `allowed` lists the exceptions. */
export function addressGuard(allowed: readonly string[] = []): AddressGuard {
  const others = new BlockList();
  for (const network of refused) addNetwork(others, network, network);
  const listed: Listed[] = allowed.map(readListed);

  const isAllowed = (address: string, port: number, name?: string): boolean => {
    const bare = address.replace(/%.*$/, '');
    const family = isIP(bare) === 6 ? 'ipv6' : 'ipv4';
    if (!others.check(bare, family)) return true;
    return listed.some(
      (each) =>
        (each.port === undefined || each.port === port) &&
        (each.network?.check(bare, family) === true || (each.name !== undefined && each.name === name)),
    );
  };
  const demand = (host: string, port: number): void => {
    const bare = unbracketed(host);
    if (isIP(bare) !== 0 && !isAllowed(bare, port)) throw new AddressRefusedError(bare, port);
  };
  const lookup =
    (port: number): LookupFunction =>
    (hostname, options, done) => {
      resolve(hostname, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(error, []);
        const usable = found.filter(({ address }) => isAllowed(address, port, hostname.toLowerCase()));
        const [first] = usable;
        if (first === undefined) return done(new AddressRefusedError(hostname, port), []);
        return options.all === true ? done(null, usable) : done(null, first.address, first.family);
      });
    };

  return {
    allow: (address) => void listed.push(readListed(address)),
    demand,
    lookup,
    async check(host, port) {
      demand(host, port);
      if (isIP(unbracketed(host)) !== 0) return;
      await new Promise<void>((done, fail) =>
        lookup(port)(host, { all: true }, (error) => (error === null ? done() : fail(error))),
      );
    },
    connector(options) {
      // One connector a port, because it keeps the TLS sessions.
      const connectors = new Map<number, buildConnector.connector>();
      return (target, done) => {
        const port = Number(target.port || (target.protocol === 'https:' ? 443 : 80));
        try {
          demand(target.hostname, port);
        } catch (error) {
          return done(error as Error, null);
        }
        const connect = connectors.get(port) ?? buildConnector({ ...options, lookup: lookup(port) });
        connectors.set(port, connect);
        return connect(target, done);
      };
    },
  };
}

/** `portOf` returns the port that a URL leads to. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);

const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, '');

function readListed(text: string): Listed {
  const [, bracketed, plain, bare, port] =
    /^(?:\[([0-9a-fA-F:.]+(?:\/\d+)?)\]|([^\s:[\]]+)|([0-9a-fA-F:.]+\/\d+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? bare ?? '';
  const number = port === undefined ? undefined : Number(port);
  const isNetwork = host.includes('/');
  const isPort = number === undefined ? isNetwork : number >= 1 && number <= 65_535;
  const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host) && !/^[\d.]+$/.test(host);
  if (!isPort || (!isNetwork && isIP(host) === 0 && !isName)) throw invalid(text);
  if (!isNetwork && isIP(host) === 0) return { network: undefined, name: host.toLowerCase(), port: number };
  const network = new BlockList();
  addNetwork(network, isNetwork ? host : `${host}/${isIP(host) === 6 ? 128 : 32}`, text);
  return { network, name: undefined, port: number };
}

function addNetwork(list: BlockList, network: string, text: string): void {
  const [address = '', bits = ''] = network.split('/');
  const family = isIP(address);
  if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32)) throw invalid(text);
  list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
}

const invalid = (text: string): RangeError =>
  new RangeError(`"${text}" is not an address: write HOST:PORT, 192.0.2.0/24:PORT or 192.0.2.0/24`);
