/**
 * The sockets to one API server. Two pools: short requests share a bounded set of kept-alive connections, watches get
 * one each from a pool of their own, so that a hundred watches cannot keep a write waiting.
 *
 * Our own pool (see wire/pool.ts), but undici's agent where a proxy is on the way: it knows the sorts of proxies there are.
 */
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ProxyAgent } from 'undici';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import { type Credentials, readCredentials } from './credentials.ts';
import { ProxiedHolding } from './proxied-holding.ts';
import { type ConnectionBudget, type Dispatcher, type HoldingDispatcher, Pool } from './wire/index.ts';

/** What clients of several servers share: so many connections at once, however many servers there are. */
export interface Budgets {
  readonly short: ConnectionBudget;
  readonly watch: ConnectionBudget;
}

export interface Pools {
  readonly short: Dispatcher;
  readonly watch: Dispatcher;
  /** For writes that are sent in two steps: `short`, but where a proxy is on the way. */
  readonly fenced: HoldingDispatcher;
  readonly credentials: Credentials;
}

export interface Connections {
  /** The pools for the credentials as they are now. Rejects with a `ConfigError` where those cannot be had. */
  use(): Pools | Promise<Pools>;
  /** Reads the credentials again after the server rejected `refused`. False if they are unchanged: a retry would fail too. */
  renew(refused: Credentials): Promise<boolean>;
  close(): Promise<void>;
}

export function openConnections(
  config: ClusterConfig,
  options: { connections: number; recheckMilliseconds: number; budgets?: Budgets | undefined },
): Connections {
  const source = readCredentials(config, options.recheckMilliseconds);
  // Pools whose certificates were replaced: requests in flight finish, and new ones use other pools.
  const retired = new Set<Dispatcher | HoldingDispatcher>();
  let pools: Pools | undefined;

  const poolsFor = (credentials: Credentials): Pools => {
    if (pools?.credentials === credentials) return pools;
    if (pools !== undefined && pools.credentials.tlsIdentity === credentials.tlsIdentity) {
      pools = { ...pools, credentials };
      return pools;
    }
    if (pools !== undefined) for (const pool of allOf(pools)) retire(pool);
    const short = openPool(config, credentials, options.connections, options.budgets?.short);
    pools = {
      short,
      watch: openPool(config, credentials, null, options.budgets?.watch),
      fenced: short instanceof Pool ? short : new ProxiedHolding(config, credentials, options.connections),
      credentials,
    };
    return pools;
  };

  const retire = (pool: Dispatcher | HoldingDispatcher) => {
    retired.add(pool);
    void pool.close().finally(() => retired.delete(pool));
  };

  return {
    use() {
      const credentials = source.current();
      return credentials instanceof Promise ? credentials.then(poolsFor) : poolsFor(credentials);
    },
    renew: (refused) => source.renew(refused),
    async close() {
      const open = [...retired, ...(pools === undefined ? [] : allOf(pools))];
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

const allOf = ({ watch, short, fenced }: Pools) => new Set<Dispatcher | HoldingDispatcher>([watch, short, fenced]);

/** Finds a peer that vanished without a word (a node lost power, a NAT forgot us) long before TCP would. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 15_000 };
const connectMilliseconds = 10_000;
/** Shorter than the 90 s after which the API server, and the 60 s after which most load balancers, close an idle connection. */
const idleMilliseconds = 50_000;

function openPool(
  config: ClusterConfig,
  credentials: Credentials,
  connections: number | null,
  budget: ConnectionBudget | undefined,
): Pool | ProxyAgent {
  const { protocol, host, hostname, port } = new URL(config.server);
  const trust = {
    ...(credentials.secureContext === undefined ? {} : { secureContext: credentials.secureContext }),
    ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
    ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
  };
  if (config.proxyUrl !== undefined) {
    return new ProxyAgent({
      uri: config.proxyUrl,
      requestTls: { ...trust, ...keepAlive, timeout: connectMilliseconds },
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleMilliseconds,
      // Every request has a deadline of its own, and a watch is silent for as long as nothing happens.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
  const isSecure = protocol === 'https:';
  const address = {
    // A URL has an IPv6 address in brackets.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    ...keepAlive,
  };
  return new Pool({
    host,
    connections: connections ?? Number.POSITIVE_INFINITY,
    connectMilliseconds,
    idleMilliseconds,
    budget,
    open: ({ session, ...reading }) =>
      isSecure
        ? connectTls({
            ...address,
            ...trust,
            ...(session === undefined ? {} : { session }),
            ALPNProtocols: ['http/1.1'],
            ...reading,
          })
        : connectTcp({ ...address, ...reading }),
  });
}
