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
  // Metadata addresses of Azure, Oracle and Alibaba.
  ...['168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32'],
  // Over IPv6: Amazon (metadata, pod identity, DNS and time), Google, Oracle, Akamai, Scaleway and Alibaba.
  ...['fd00:ec2::/32', 'fd20:ce::/64', 'fd00:c1::/64', 'fd00:a9fe:a9fe::/64', 'fd00:42::/64', 'fd00:100::/64'],
  // Multicast and reserved.
  ...['224.0.0.0/4', '240.0.0.0/4', 'ff00::/8'],
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
    const isRefused = others.check(bare, family) || carriedBy(bare).some((each) => others.check(each, 'ipv4'));
    if (!isRefused) return true;
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

/**
 * `carriedBy` returns the IPv4 addresses that an IPv6 address leads to through a translator or a tunnel (NAT64, SIIT, 6to4, Teredo, ISATAP).
 * `BlockList` itself knows only the mapped form.
 */
function carriedBy(address: string): string[] {
  if (isIP(address) !== 6) return [];
  const bytes = bytesOf(address);
  const at = (...places: number[]): string => places.map((place) => bytes[place]).join('.');
  const startsWith = (...prefix: number[]): boolean => prefix.every((byte, index) => bytes[index] === byte);
  const last = at(12, 13, 14, 15);
  if (startsWith(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0)) return [last];
  if (startsWith(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0)) return [last];
  // The administrator of a local NAT64 chooses the length of its prefix, and with it the place (RFC 6052). Zeros in the others are filling.
  if (startsWith(0, 0x64, 0xff, 0x9b, 0, 1)) {
    return [at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), last].filter((each) => !each.startsWith('0.'));
  }
  if (startsWith(0x20, 0x02)) return [at(2, 3, 4, 5)];
  // Teredo names its server, and its client with all bits inverted.
  if (startsWith(0x20, 0x01, 0, 0)) {
    return [at(4, 5, 6, 7), [12, 13, 14, 15].map((place) => 255 - (bytes[place] ?? 0)).join('.')];
  }
  const isIsatap = (bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
  return isIsatap ? [last] : [];
}

/** The 16 bytes of a valid IPv6 address in any spelling. */
function bytesOf(address: string): number[] {
  // A URL spells every address in one way: in hexadecimal, with at most one `::`.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const wordsIn = (text = ''): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const [start, end] = [wordsIn(left), wordsIn(right)];
  const zeros = new Array<number>(8 - start.length - end.length).fill(0);
  return [...start, ...zeros, ...end].flatMap((word) => [word >> 8, word & 0xff]);
}

function addNetwork(list: BlockList, network: string, text: string): void {
  const [address = '', bits = ''] = network.split('/');
  const family = isIP(address);
  if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32)) throw invalid(text);
  list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
}

const invalid = (text: string): RangeError =>
  new RangeError(`"${text}" is not an address: write HOST:PORT, 192.0.2.0/24:PORT or 192.0.2.0/24`);
