/**
 * `openFleet` gives access to the registered clusters. Work uses service account tokens with minimal permissions and a
 * lifetime of at most an hour. Connections are reused while the token is valid, and stay below a hundred for any number
 * of clusters. Every access is audited.
 */
import { type Cluster, cluster as clusterKind } from '../../api/index.ts';
import { type Client, type Clock, isNotFound, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { type AddressGuard, ConnectionBudget, clientUntil } from '../../runtime/internal.ts';
import {
  type ClusterConnection,
  type Fleet,
  FleetError,
  type Purpose,
  type Snapshot,
  type WorkContext,
} from '../contract.ts';
import type { SealingKeys } from '../seal/index.ts';
import { grantObserver, installerAccount, OBSERVER, prepareInstaller, prepareObserver } from './accounts.ts';
import { outlineOf } from './installer-rights.ts';
import { kubeconfigFiles } from './kubeconfig-files.ts';
import { removeAccess } from './remove.ts';
import { Session } from './session.ts';

export interface FleetOptions {
  /** The client of the management cluster. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly keys: SealingKeys;
  /** The guard of connections: the author of a Cluster chooses its server. Without it every address is allowed. */
  readonly guard?: AddressGuard | undefined;
  /** Reads Clusters from a cache. Default: the API server. */
  readonly find?: (name: string) => Promise<Cluster | undefined>;
  /** The namespace of the service accounts on the clusters. */
  readonly remoteNamespace?: string;
  /** The token lifetime in seconds, from 600 (the Kubernetes minimum) to 3600. */
  readonly tokenSeconds?: number;
  /** Connection limits for short requests and watches. Default: `connectionLimits`. */
  readonly connections?: { readonly short?: number; readonly watch?: number };
  /** The directory of temporary kubeconfig files, ideally in memory. Default: the system's temporary directory. */
  readonly directory?: string;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** Replaces the audit log line. */
  readonly audit?: (access: ClusterAccess) => void;
}

/** An audited access to a cluster. */
export interface ClusterAccess {
  readonly event: 'cluster.access' | 'cluster.erase';
  readonly cluster: string;
  readonly purpose: 'observe' | 'install' | 'erase';
  readonly outcome: 'allowed' | FleetError['code'] | 'failed';
  readonly operatorName?: string;
  readonly version?: string;
  readonly deploymentId?: string;
  readonly userId?: string;
  readonly traceId?: string;
}

export interface ManagedFleet extends Fleet {
  /** Deletes the access objects on a cluster, including all tokens. Rejects with FleetError if that fails now. */
  removeAccess(cluster: Cluster): Promise<void>;
  /** The current and peak number of connections, without the management cluster and without child processes. */
  readonly connections: { readonly open: number; readonly most: number };
}

/**
 * Limits over all clusters. Each Helm run has one more connection, at most 16 at a time: together fewer than 100
 * (docs/requirements.md, 002).
 */
export const connectionLimits = { short: 56, watch: 24 } as const;

const mostSessions = 512;

export function openFleet(options: FleetOptions): ManagedFleet {
  const { client, log = silentLogger, remoteNamespace = 'kidp-system' } = options;
  const { short, watch } = { ...connectionLimits, ...options.connections };
  const budgets = { short: new ConnectionBudget(short), watch: new ConnectionBudget(watch) };
  const files = kubeconfigFiles(options.directory);
  const sessions = new Sessions(options, budgets);
  const audited = options.audit ?? ((access) => log.info('cluster accessed', { audit: true, ...access }));

  const find = (name: string) => findCluster(options, name);

  const audit = (name: string, purpose: Purpose, context: WorkContext, outcome: ClusterAccess['outcome']): void =>
    audited({ event: 'cluster.access', cluster: name, purpose: purpose.kind, outcome, ...subjectOf(purpose, context) });

  const connection = async (name: string, purpose: Purpose, context: WorkContext): Promise<ClusterConnection> => {
    const cluster = await find(name);
    if (cluster === undefined) {
      throw new FleetError(
        'cluster/unknown',
        `Cluster ${name} does not exist or is being removed: see \`kidp clusters list\``,
      );
    }
    const session = sessions.for(cluster, purpose, context);
    const began = await session.begin();
    // Health rounds are audited once per token; work on behalf of a user is audited every time.
    if (began || purpose.kind !== 'observe' || context.deploymentId !== undefined || context.userId !== undefined) {
      audit(name, purpose, context, 'allowed');
    }
    return {
      cluster: name,
      environment: cluster.spec.environment,
      kubernetesVersion: session.kubernetesVersion,
      client: context.signal === undefined ? session.client : clientUntil(session.client, context.signal),
      withKubeconfig: (use) => files.use(() => session.kubeconfig(), use),
    };
  };

  const fleet: ManagedFleet = {
    async connect(name, purpose, context) {
      try {
        return await connection(name, purpose, context);
      } catch (error) {
        audit(name, purpose, context, error instanceof FleetError ? error.code : 'failed');
        throw error;
      }
    },
    forget: (name) => sessions.forget(name),
    async removeAccess(cluster) {
      const { name } = cluster.metadata;
      const audit = (outcome: ClusterAccess['outcome']) =>
        audited({ event: 'cluster.erase', cluster: name, purpose: 'erase', outcome });
      fleet.forget(name);
      try {
        await removeAccess({ ...options, client }, cluster, {
          namespace: remoteNamespace,
          budgets,
        });
        audit('allowed');
      } catch (error) {
        audit(error instanceof FleetError ? error.code : 'failed');
        throw error;
      }
    },
    get connections() {
      return { open: budgets.short.open + budgets.watch.open, most: budgets.short.most + budgets.watch.most };
    },
    async stop() {
      await sessions.stop();
      await files.stop();
    },
  };
  return fleet;
}

/** `findCluster` returns the Cluster unless it is being removed. */
async function findCluster({ client, find }: FleetOptions, name: string): Promise<Cluster | undefined> {
  const found = await (find?.(name) ??
    client.get<Cluster>(clusterKind.resource, { name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    }));
  return found?.metadata.deletionTimestamp === undefined ? found : undefined;
}

interface Budgets {
  readonly short: ConnectionBudget;
  readonly watch: ConnectionBudget;
}

/** The open sessions: one per cluster and service account, reused while credentials and permissions are the same. */
class Sessions {
  readonly #options: FleetOptions;
  readonly #budgets: Budgets;
  /** Ordered by last use, most recent last. */
  readonly #sessions = new Map<
    string,
    { readonly cluster: string; readonly session: Session; rights: string; seen: string }
  >();

  constructor(options: FleetOptions, budgets: Budgets) {
    this.#options = options;
    this.#budgets = budgets;
  }

  for(cluster: Cluster, purpose: Purpose, context: WorkContext): Session {
    const { name, uid = '' } = cluster.metadata;
    const account = purpose.kind === 'observe' ? OBSERVER : installerAccount(operatorOf(purpose, context));
    const rights = purpose.kind === 'observe' ? '' : digestsOf(purpose.snapshots);
    const id = `${uid}/${account}`;
    const known = this.#sessions.get(id);
    const digest = cluster.status?.credentialsDigest ?? '';
    const sameCredentials =
      known?.session.digest === undefined || known.session.digest === digest || known.seen === digest;
    this.#sessions.delete(id);
    if (known !== undefined && !known.session.closed && known.rights === rights && sameCredentials) {
      this.#sessions.set(id, known);
      return known.session;
    }
    if (known !== undefined && !sameCredentials) void known.session.close();
    const session = this.#open(name, account, purpose);
    this.#sessions.set(id, { cluster: name, session, rights, seen: digest });
    // Dropped without closing, because it may be in use. Its connections close when idle.
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > mostSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return session;
  }

  forget(name: string): void {
    for (const [id, { cluster, session }] of this.#sessions) {
      if (cluster !== name) continue;
      this.#sessions.delete(id);
      void session.close();
    }
  }

  async stop(): Promise<void> {
    const all = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(all.map(({ session }) => session.close()));
  }

  #open(name: string, account: string, purpose: Purpose): Session {
    const { client, systemNamespace, keys, guard, tokenSeconds = 3600 } = this.#options;
    const { clock = systemClock, log = silentLogger, remoteNamespace = 'kidp-system' } = this.#options;
    const snapshots = purpose.kind === 'observe' ? [] : purpose.snapshots.map(outlineOf);
    return new Session(name, {
      source: { client, systemNamespace, keys, guard },
      account,
      namespace: remoteNamespace,
      tokenSeconds: Math.min(3600, Math.max(600, tokenSeconds)),
      budgets: this.#budgets,
      clock,
      log,
      find: () => findCluster(this.#options, name),
      prepare: async (place) => {
        if (account === OBSERVER) return prepareObserver(place);
        // The observer must be able to read the objects of the operator.
        await grantObserver(place, account, snapshots);
        return prepareInstaller(place, account, snapshots);
      },
    });
  }
}

const digestsOf = (snapshots: readonly Snapshot[]): string =>
  snapshots
    .map(({ digest }) => digest)
    .sort()
    .join(' ');

function operatorOf(purpose: Purpose & { kind: 'install' }, context: WorkContext): string {
  const operator = purpose.snapshots[0]?.operator ?? context.operator;
  if (operator === undefined) throw new TypeError('an install needs an operator, in a snapshot or in the context');
  return operator;
}

function subjectOf(purpose: Purpose, { operator, version, deploymentId, userId, traceparent }: WorkContext) {
  const operatorName = operator ?? (purpose.kind === 'install' ? purpose.snapshots[0]?.operator : undefined);
  const traceId = traceparent?.split('-')[1];
  return {
    ...(operatorName === undefined ? {} : { operatorName }),
    ...(version === undefined ? {} : { version }),
    ...(deploymentId === undefined ? {} : { deploymentId }),
    ...(userId === undefined ? {} : { userId }),
    ...(traceId === undefined ? {} : { traceId }),
  };
}
