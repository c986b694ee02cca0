/**
 * `openFleet`: the way into the clusters. Work is done with tokens of service accounts that may do just that and last an hour at most;
 * connections are kept while they last, and are fewer than a hundred however many clusters there are. Each access is audited.
 */
import { type Cluster, cluster as clusterKind } from '../../api/index.ts';
import { type Client, type Clock, isNotFound, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { ConnectionBudget, clientUntil } from '../../runtime/internal.ts';
import { type ClusterConnection, type Fleet, FleetError, type Purpose, type WorkContext } from '../contract.ts';
import type { SealingKeys } from '../seal/index.ts';
import { grantObserver, installerAccount, OBSERVER, prepareInstaller, prepareObserver } from './accounts.ts';
import { outlineOf } from './installer-rights.ts';
import { kubeconfigFiles } from './kubeconfig-files.ts';
import { removeAccess } from './remove.ts';
import { Session } from './session.ts';

export interface FleetOptions {
  /** Of the management cluster. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly keys: SealingKeys;
  /** Where Clusters are cached already. Left out, they are asked for. */
  readonly find?: (name: string) => Promise<Cluster | undefined>;
  /** On the clusters, for the service accounts. */
  readonly remoteNamespace?: string;
  /** How long a token lasts: from 600, which Kubernetes wants, to 3600. */
  readonly tokenSeconds?: number;
  /** Of short requests and of watches. Left out, `connectionLimits`. */
  readonly connections?: { readonly short?: number; readonly watch?: number };
  /** Where kubeconfigs for programs are put. Best in memory. Left out, where temporary files are. */
  readonly directory?: string;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** In place of a line in the log. */
  readonly audit?: (access: ClusterAccess) => void;
}

/** Who went to which cluster, and what for. */
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
  /** What was made on it for access to it goes, with all tokens. Rejects with FleetError where it cannot be done now. */
  removeAccess(cluster: Cluster): Promise<void>;
  /** How many connections there are now, and were at most: to others than the management cluster, without those of programs. */
  readonly connections: { readonly open: number; readonly most: number };
}

/** Over all clusters. Each run of Helm has one besides, of which there are 16 at most: together fewer than 100 (requirement 002). */
export const connectionLimits = { short: 56, watch: 24 } as const;

const mostSessions = 512;

export function openFleet(options: FleetOptions): ManagedFleet {
  const { client, clock = systemClock, log = silentLogger, remoteNamespace = 'kidp-system' } = options;
  const tokenSeconds = Math.min(3600, Math.max(600, options.tokenSeconds ?? 3600));
  const { short, watch } = { ...connectionLimits, ...options.connections };
  const budgets = { short: new ConnectionBudget(short), watch: new ConnectionBudget(watch) };
  const files = kubeconfigFiles(options.directory);
  /** The last used comes last. */
  const sessions = new Map<
    string,
    { readonly cluster: string; readonly session: Session; rights: string; seen: string }
  >();
  const audited = options.audit ?? ((access) => log.info('a cluster was accessed', { audit: true, ...access }));

  const find = async (name: string): Promise<Cluster | undefined> => {
    const found = await (options.find?.(name) ??
      client.get<Cluster>(clusterKind.resource, { name }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }));
    return found?.metadata.deletionTimestamp === undefined ? found : undefined;
  };

  const sessionFor = (cluster: Cluster, purpose: Purpose, context: WorkContext): Session => {
    const { name, uid = '' } = cluster.metadata;
    const account = purpose.kind === 'observe' ? OBSERVER : installerAccount(operatorOf(purpose, context));
    const rights =
      purpose.kind === 'observe'
        ? ''
        : purpose.snapshots
            .map(({ digest }) => digest)
            .sort()
            .join(' ');
    const id = `${uid}/${account}`;
    const known = sessions.get(id);
    const digest = cluster.status?.credentialsDigest ?? '';
    const sameCredentials =
      known?.session.digest === undefined || known.session.digest === digest || known.seen === digest;
    sessions.delete(id);
    if (known !== undefined && !known.session.closed && known.rights === rights && sameCredentials) {
      sessions.set(id, known);
      return known.session;
    }
    if (known !== undefined && !sameCredentials) void known.session.close();
    const snapshots = purpose.kind === 'observe' ? [] : purpose.snapshots.map(outlineOf);
    const session = new Session(name, {
      source: { client, systemNamespace: options.systemNamespace, keys: options.keys },
      account,
      namespace: remoteNamespace,
      tokenSeconds,
      budgets,
      clock,
      log,
      find: () => find(name),
      prepare: async (place) => {
        if (account === OBSERVER) return prepareObserver(place);
        // Who looks how it fares must be able to see what it brings.
        await grantObserver(place, account, snapshots);
        return prepareInstaller(place, account, snapshots);
      },
    });
    sessions.set(id, { cluster: name, session, rights, seen: digest });
    // Forgotten and not closed: somebody may be at work with it. Its connections end when they are idle.
    const [oldest] = sessions.keys();
    if (sessions.size > mostSessions && oldest !== undefined) sessions.delete(oldest);
    return session;
  };

  const audit = (name: string, purpose: Purpose, context: WorkContext, outcome: ClusterAccess['outcome']): void =>
    audited({ event: 'cluster.access', cluster: name, purpose: purpose.kind, outcome, ...subjectOf(purpose, context) });

  const connection = async (name: string, purpose: Purpose, context: WorkContext): Promise<ClusterConnection> => {
    const cluster = await find(name);
    if (cluster === undefined) {
      throw new FleetError(
        'cluster/unknown',
        `There is no Cluster ${name}, or it is being removed: see \`kidp clusters list\``,
      );
    }
    const session = sessionFor(cluster, purpose, context);
    const began = await session.begin();
    // The rounds of the platform itself are told once a token; whatever is done for somebody, each time.
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
    forget(name) {
      for (const [id, { cluster, session }] of sessions) {
        if (cluster !== name) continue;
        sessions.delete(id);
        void session.close();
      }
    },
    async removeAccess(cluster) {
      const { name } = cluster.metadata;
      const told = (outcome: ClusterAccess['outcome']) =>
        audited({ event: 'cluster.erase', cluster: name, purpose: 'erase', outcome });
      fleet.forget(name);
      try {
        await removeAccess({ client, systemNamespace: options.systemNamespace, keys: options.keys }, cluster, {
          namespace: remoteNamespace,
          budgets,
        });
        told('allowed');
      } catch (error) {
        told(error instanceof FleetError ? error.code : 'failed');
        throw error;
      }
    },
    get connections() {
      return { open: budgets.short.open + budgets.watch.open, most: budgets.short.most + budgets.watch.most };
    },
    async stop() {
      const all = [...sessions.values()];
      sessions.clear();
      await Promise.all(all.map(({ session }) => session.close()));
      await files.stop();
    },
  };
  return fleet;
}

function operatorOf(purpose: Purpose & { kind: 'install' }, context: WorkContext): string {
  const operator = purpose.snapshots[0]?.operator ?? context.operator;
  if (operator === undefined) throw new TypeError('who installs says which operator: in a snapshot, or in the context');
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
