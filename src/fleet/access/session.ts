/**
 * One service account on one cluster, while its tokens last: the first use makes it and asks for a token, and before that ends for
 * another. The kubeconfig is opened for that, and not kept.
 */
import type { Cluster } from '../../api/index.ts';
import { ApiError, type Client, type Clock, type ClusterConfig, connect, type Logger } from '../../runtime/index.ts';
import { type Budgets, sleep } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { writeKubeconfig } from '../kubeconfig/index.ts';
import { type IssuedToken, type Marker, type Place, requestToken, rightsAreEffective } from './accounts.ts';
import { type CredentialsSource, readCredentials } from './credentials.ts';
import { accessFailure, redactingClient } from './failures.ts';
import { probe } from './probe.ts';

interface SessionParts {
  readonly source: CredentialsSource;
  readonly account: string;
  /** On the cluster. */
  readonly namespace: string;
  readonly tokenSeconds: number;
  readonly budgets: Budgets;
  readonly clock: Clock;
  readonly log: Logger;
  /** The Cluster as it is now; undefined where it is gone. */
  readonly find: () => Promise<Cluster | undefined>;
  /** Makes the account and gives it its rights. */
  readonly prepare: (place: Place) => Promise<readonly Marker[]>;
}

interface Ready {
  readonly config: ClusterConfig;
  readonly kubernetesVersion: string;
  /** Of the sealed kubeconfig. */
  readonly digest: string;
  readonly issued: IssuedToken;
  readonly endsAt: number;
}

/** While access is prepared: nobody waits a minute for a cluster that is not there. */
const preparingMilliseconds = 15_000;

export class Session {
  readonly name: string;
  readonly #parts: SessionParts;
  #ready: Ready | undefined;
  #client: Client | undefined;
  #opening: Promise<Ready> | undefined;
  #closed = false;

  constructor(name: string, parts: SessionParts) {
    this.name = name;
    this.#parts = parts;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get digest(): string | undefined {
    return this.#ready?.digest;
  }

  get kubernetesVersion(): string {
    return this.#ready?.kubernetesVersion ?? '';
  }

  /** Resolves once there is a token that lasts. Rejects with FleetError. True where this began a new one. */
  async begin(): Promise<boolean> {
    if (this.#lasts(0.25)) return false;
    await this.#renew();
    return true;
  }

  /** After `begin`. */
  get client(): Client {
    if (this.#client === undefined) throw new Error('begin first');
    return this.#client;
  }

  /** With a token that lasts at least half of its time. */
  async kubeconfig(): Promise<string> {
    const { config, issued } = this.#lasts(0.5) ? (this.#ready as Ready) : await this.#renew();
    return writeKubeconfig(config, issued.token);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#ready = undefined;
    await this.#client?.close();
  }

  #lasts(share: number): boolean {
    const ready = this.#ready;
    return ready !== undefined && ready.endsAt - this.#parts.clock.monotonic() > ready.issued.seconds * 1000 * share;
  }

  #renew(): Promise<Ready> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Ready> {
    const { find, source, prepare, account, namespace, tokenSeconds, budgets, clock } = this.#parts;
    const cluster = await find();
    if (cluster === undefined || this.#closed) throw gone(this.name);
    const { config, sealed } = await readCredentials(source, cluster);
    const owner = connect(config, { connections: 2, budgets, timeoutMilliseconds: preparingMilliseconds });
    try {
      const { kubernetesVersion } = await probe(this.name, owner);
      const place = { client: owner, namespace };
      const markers = await prepare(place);
      const asked = clock.monotonic();
      const issued = await requestToken(place, account, tokenSeconds);
      await this.#effective(config, issued, markers);
      if (this.#closed) throw gone(this.name);
      const ready = { config, kubernetesVersion, digest: sealed.digest, issued, endsAt: asked + issued.seconds * 1000 };
      // Another address or authority: who holds the client of before is not led there behind their back.
      if (this.#ready !== undefined && !sameServer(this.#ready.config, config)) {
        await this.close();
        throw new FleetError('cluster/unreachable', `The kubeconfig of ${this.name} was replaced: connect again`, {
          temporary: true,
        });
      }
      this.#ready = ready;
      this.#client ??= this.#connect(config);
      return ready;
    } catch (error) {
      throw accessFailure(this.name, error);
    } finally {
      await owner.close();
    }
  }

  /** An API server knows of accounts and roles a moment after they were written: who got the token would be refused till then. */
  async #effective(config: ClusterConfig, { token }: IssuedToken, markers: readonly Marker[]): Promise<void> {
    const { budgets, clock } = this.#parts;
    const client = connect(
      { ...serverOf(this.name, config), token: { data: token } },
      { connections: 1, budgets, timeoutMilliseconds: preparingMilliseconds },
    );
    try {
      const deadline = clock.monotonic() + preparingMilliseconds;
      for (;;) {
        const holds = await rightsAreEffective(client, markers).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 401) return false;
          throw error;
        });
        if (holds) return;
        if (clock.monotonic() > deadline) break;
        await sleep(clock, 100);
      }
    } finally {
      await client.close();
    }
    throw new FleetError(
      'cluster/unreachable',
      `The cluster ${this.name} has been told what the service account ${this.#parts.account} may do there, and does not go by it: see whether its API server keeps up`,
      { temporary: true },
    );
  }

  #connect(config: ClusterConfig): Client {
    const client = connect(
      {
        ...serverOf(this.name, config),
        authenticator: async (refused) => ({ token: await this.#token(refused) }),
      },
      { connections: 4, budgets: this.#parts.budgets },
    );
    return redactingClient(client, this.name);
  }

  /** `refused`: the cluster does not take the last one, whatever its time: the account may have been made anew. */
  async #token(refused: boolean): Promise<string> {
    if (this.#closed) throw gone(this.name);
    if (!refused && this.#lasts(0.25)) return (this.#ready as Ready).issued.token;
    try {
      return (await this.#renew()).issued.token;
    } catch (error) {
      if (refused || !this.#lasts(0)) throw error;
      const fields = { cluster: this.name, error };
      this.#parts.log.warn('the token for a cluster could not be renewed yet, the last one goes on', fields);
      return (this.#ready as Ready).issued.token;
    }
  }
}

/** Where it is, without what proves who we are. */
function serverOf(name: string, { certificateAuthority, tlsServerName, server }: ClusterConfig): ClusterConfig {
  return {
    server,
    source: `the cluster ${name}`,
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
  };
}

const sameServer = (one: ClusterConfig, other: ClusterConfig): boolean =>
  one.server === other.server &&
  one.tlsServerName === other.tlsServerName &&
  JSON.stringify(one.certificateAuthority) === JSON.stringify(other.certificateAuthority);

const gone = (cluster: string): FleetError =>
  new FleetError(
    'cluster/unknown',
    `There is no Cluster ${cluster}, or it is being removed: see \`kidp clusters list\``,
  );
