/**
 * A session of one service account on one cluster: the first use creates the account and requests a token, which is
 * renewed before it expires. The kubeconfig is decrypted only for that and not kept.
 */
import type { Cluster } from '../../api/index.ts';
import { ApiError, type Client, type Clock, type ClusterConfig, connect, type Logger } from '../../runtime/index.ts';
import { type Budgets, sleep } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { writeKubeconfig } from '../kubeconfig/index.ts';
import { type IssuedToken, type Marker, type Place, requestToken, rightsAreEffective } from './accounts.ts';
import { type CredentialsSource, demandServer, lookupFor, readCredentials } from './credentials.ts';
import { accessFailure, redactingClient } from './failures.ts';
import { probe } from './probe.ts';

interface SessionParts {
  readonly source: CredentialsSource;
  readonly account: string;
  /** The namespace on the cluster. */
  readonly namespace: string;
  readonly tokenSeconds: number;
  readonly budgets: Budgets;
  readonly clock: Clock;
  readonly log: Logger;
  /** The current Cluster; undefined if it was deleted. */
  readonly find: () => Promise<Cluster | undefined>;
  /** Creates the account and its permissions. */
  readonly prepare: (place: Place) => Promise<readonly Marker[]>;
}

interface Ready {
  readonly config: ClusterConfig;
  readonly kubernetesVersion: string;
  /** The digest of the sealed kubeconfig. */
  readonly digest: string;
  readonly issued: IssuedToken;
  readonly endsAt: number;
}

/** The request timeout while access is prepared, so that an unavailable cluster fails quickly. */
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

  /** Resolves once there is a valid token; true if this call started a new one. Rejects with FleetError. */
  async begin(): Promise<boolean> {
    if (this.#lasts(0.25)) return false;
    await this.#renew();
    return true;
  }

  /** Available after `begin`. */
  get client(): Client {
    if (this.#client === undefined) throw new Error('call begin first');
    return this.#client;
  }

  /** The kubeconfig, with a token that is valid for at least half of its lifetime. */
  async kubeconfig(): Promise<string> {
    const { config, issued } = this.#lasts(0.5) ? (this.#ready as Ready) : await this.#renew();
    // Helm resolves the name on its own.
    await demandServer(this.#parts.source.guard, this.name, config);
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
    const lookup = lookupFor(source.guard, config);
    const owner = connect(config, { connections: 2, budgets, lookup, timeoutMilliseconds: preparingMilliseconds });
    try {
      const { kubernetesVersion } = await probe(this.name, owner);
      const place = { client: owner, namespace };
      const markers = await prepare(place);
      const asked = clock.monotonic();
      const issued = await requestToken(place, account, tokenSeconds);
      await this.#effective(config, issued, markers);
      if (this.#closed) throw gone(this.name);
      const ready = { config, kubernetesVersion, digest: sealed.digest, issued, endsAt: asked + issued.seconds * 1000 };
      // The server changed: holders of the old client must not be redirected without noticing.
      if (this.#ready !== undefined && !sameServer(this.#ready.config, config)) {
        await this.close();
        throw new FleetError('cluster/unreachable', `The kubeconfig of ${this.name} was replaced: reconnect`, {
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

  /** Accounts and roles take effect with a delay, and a request before that would be denied. */
  async #effective(config: ClusterConfig, { token }: IssuedToken, markers: readonly Marker[]): Promise<void> {
    const { budgets, clock, source } = this.#parts;
    const lookup = lookupFor(source.guard, config);
    const client = connect(
      { ...serverOf(this.name, config), token: { data: token } },
      { connections: 1, budgets, lookup, timeoutMilliseconds: preparingMilliseconds },
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
      `Cluster ${this.name} does not apply the permissions of service account ${this.#parts.account} in time: check that its API server is not overloaded`,
      { temporary: true },
    );
  }

  #connect(config: ClusterConfig): Client {
    const client = connect(
      {
        ...serverOf(this.name, config),
        authenticator: async (refused) => ({ token: await this.#token(refused) }),
      },
      { connections: 4, budgets: this.#parts.budgets, lookup: lookupFor(this.#parts.source.guard, config) },
    );
    return redactingClient(client, this.name);
  }

  /** `refused`: the cluster rejected the last token before its expiry; the account may have been re-created. */
  async #token(refused: boolean): Promise<string> {
    if (this.#closed) throw gone(this.name);
    if (!refused && this.#lasts(0.25)) return (this.#ready as Ready).issued.token;
    try {
      return (await this.#renew()).issued.token;
    } catch (error) {
      if (refused || !this.#lasts(0)) throw error;
      const fields = { cluster: this.name, error };
      this.#parts.log.warn('token renewal failed; using the last token', fields);
      return (this.#ready as Ready).issued.token;
    }
  }
}

/** The server of a cluster, without credentials. */
function serverOf(name: string, { certificateAuthority, tlsServerName, server }: ClusterConfig): ClusterConfig {
  return {
    server,
    source: `cluster ${name}`,
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
    `Cluster ${cluster} does not exist or is being removed: see \`kidp clusters list\``,
  );
