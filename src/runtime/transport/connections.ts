/**
 * The connections to one API server, in two pools: short requests share a bounded set of kept-alive connections, and
 * each watch has one from a pool of its own, so that a hundred watches cannot block a write.
 *
 * The pool is wire/pool.ts, or undici's agent behind a proxy, because undici supports all kinds of proxies.
 */
import { connect as connectTcp, type LookupFunction } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ProxyAgent } from 'undici';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import { type Credentials, readCredentials } from './credentials.ts';
import { ProxiedHolding } from './proxied-holding.ts';
import { type ConnectionBudget, type Dispatcher, type HoldingDispatcher, Pool } from './wire/index.ts';

/** Connection limits shared by the clients of several servers. */
export interface Budgets {
  readonly short: ConnectionBudget;
  readonly watch: ConnectionBudget;
}

export interface Pools {
  readonly short: Dispatcher;
  readonly watch: Dispatcher;
  /** For writes in two steps: the same as `short`, except behind a proxy. */
  readonly fenced: HoldingDispatcher;
  readonly credentials: Credentials;
}

export interface Connections {
  /** Returns the pools for the current credentials. Rejects with a `ConfigError` if the credentials are unavailable. */
  use(): Pools | Promise<Pools>;
  /** Reads the credentials again after the server rejected `refused`. False if they are unchanged: a retry would fail too. */
  renew(refused: Credentials): Promise<boolean>;
  close(): Promise<void>;
}

export function openConnections(
  config: ClusterConfig,
  options: {
    connections: number;
    recheckMilliseconds: number;
    budgets?: Budgets | undefined;
    lookup?: LookupFunction | undefined;
  },
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
    const short = openPool(config, credentials, { ...options, budget: options.budgets?.short });
    pools = {
      short,
      watch: openPool(config, credentials, { ...options, connections: null, budget: options.budgets?.watch }),
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

/** Detects a peer that vanished silently (a node lost power, a NAT dropped its state) long before TCP would. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 15_000 };
const connectMilliseconds = 10_000;
/** Shorter than the 90 s after which the API server, and the 60 s after which most load balancers, close an idle connection. */
const idleMilliseconds = 50_000;

function openPool(
  config: ClusterConfig,
  credentials: Credentials,
  {
    connections,
    budget,
    lookup,
  }: {
    readonly connections: number | null;
    readonly budget: ConnectionBudget | undefined;
    readonly lookup?: LookupFunction | undefined;
  },
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
      // Every request has its own deadline, and a watch may be silent for any time.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
  const isSecure = protocol === 'https:';
  const address = {
    // A URL encloses an IPv6 address in brackets.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    ...(lookup === undefined ? {} : { lookup }),
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
