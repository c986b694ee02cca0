/**
 * `RolloutLeases` limits the rollouts in progress: a maximum in the whole system, and never more than one for an
 * operator on a cluster. The second limit is a Lease for each pair of operator and cluster. The Lease does not expire.
 * Its holder is an OperatorDeployment whose status says whether it still needs the Lease, so a Lease left behind by a
 * crash is free for the next rollout.
 */
import { createHash } from 'node:crypto';
import { installationLabels, operatorDeployment } from '../../../../api/index.ts';
import { type Client, eachObject, isAlreadyExists, isConflict, isNotFound } from '../../../../runtime/index.ts';
import { type Lease, leases } from '../../../../runtime/internal.ts';
import { isInProgress, phaseOf, type Rollout, takesSlot } from '../rollout.ts';
import { fieldManager } from './status-writer.ts';

/** Marks the Leases of rollouts, so that stale ones can be listed. */
const LEASE_LABEL = 'platform.company.com/rollout-lease';

interface Pair {
  readonly operator: string;
  readonly cluster: string;
}

interface RolloutLeasesOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly maxConcurrent: number;
  readonly now: () => number;
}

export class RolloutLeases {
  readonly #parts: RolloutLeasesOptions;
  /** Decisions about slots are serialized. */
  #last: Promise<unknown> = Promise.resolve();
  /**
   * Holders in this process that are not rollouts. A Lease of such a holder is stale if the holder is not in this set.
   */
  readonly #localHolders = new Set<string>();

  constructor(parts: RolloutLeasesOptions) {
    this.#parts = parts;
  }

  /**
   * Acquires a slot and the Leases of all clusters for a rollout, then calls `begin`, which records the start in the
   * status. Returns the cause if it cannot start.
   */
  start(object: Rollout, clusters: readonly string[], begin: () => Promise<unknown>): Promise<string | undefined> {
    return this.#serialize(async () => {
      const all = await this.#rollouts();
      const inProgress = all.filter((each) => !isSame(each, object) && isInProgress(each.status ?? {}));
      const rollingBack = inProgress.find(
        ({ spec, status = {} }) => spec.operator === object.spec.operator && phaseOf(status) === 'RollingBack',
      );
      if (rollingBack !== undefined) return `OperatorDeployment ${rollingBack.metadata.name} is being rolled back`;
      // A rollback of a finished rollout needs no slot.
      const full = object.status?.startedAt === undefined ? this.#slotRefusal(object, all) : undefined;
      if (full !== undefined) return full;
      const pairs = clusters.map((cluster) => ({ operator: object.spec.operator, cluster }));
      const refusal = await this.#acquireAll(pairs, holderOf(object), all);
      if (refusal !== undefined) return refusal;
      await begin();
      return undefined;
    });
  }

  /**
   * Acquires a slot again for a rollout that was held, then calls `begin`. It has kept its Leases. Returns the cause if
   * it cannot resume.
   */
  resume(object: Rollout, begin: () => Promise<unknown>): Promise<string | undefined> {
    return this.#serialize(async () => {
      const full = this.#slotRefusal(object, await this.#rollouts());
      if (full === undefined) await begin();
      return full;
    });
  }

  #slotRefusal(object: Rollout, all: readonly Rollout[]): string | undefined {
    const { maxConcurrent } = this.#parts;
    const others = all.filter((each) => !isSame(each, object) && takesSlot(each.status ?? {})).length;
    return others < maxConcurrent ? undefined : `${others} rollouts are in progress, the maximum is ${maxConcurrent}`;
  }

  /** Runs `work` while holding the Lease of one pair. Returns false if another holder has it. */
  async withLease(pair: Pair, work: () => Promise<void>): Promise<boolean> {
    const holder = `guest/${leaseName(pair)}`;
    if (this.#localHolders.has(holder)) return false;
    this.#localHolders.add(holder);
    try {
      const refusal = await this.#serialize(async () => this.#acquireAll([pair], holder, await this.#rollouts()));
      if (refusal !== undefined) return false;
      await work();
      return true;
    } finally {
      this.#localHolders.delete(holder);
      await this.#release(pair, holder).catch(() => {});
    }
  }

  /** Deletes the Leases of a finished rollout. A Lease that cannot be deleted is stale and blocks nobody. */
  async release(object: Rollout): Promise<void> {
    const { operator } = object.spec;
    for (const { name } of object.status?.clusters ?? []) {
      await this.#release({ operator, cluster: name }, holderOf(object));
    }
  }

  /** Deletes the Leases whose holders have finished. */
  async deleteStale(): Promise<void> {
    const { client, namespace } = this.#parts;
    await this.#serialize(async () => {
      const all = await this.#rollouts();
      const free: Lease[] = [];
      await eachObject(client, leases, { namespace, labelSelector: `${LEASE_LABEL}=true` }, (object) => {
        const lease = object as unknown as Lease;
        if (!this.#isHeld(lease, all)) free.push(lease);
      });
      for (const lease of free) await this.#remove(lease);
    });
  }

  async #acquireAll(pairs: readonly Pair[], holder: string, all: readonly Rollout[]): Promise<string | undefined> {
    const acquired: Pair[] = [];
    for (const pair of pairs) {
      const other = await this.#acquire(pair, holder, all);
      if (other === undefined) {
        acquired.push(pair);
        continue;
      }
      for (const each of acquired) await this.#release(each, holder);
      return `Operator ${pair.operator} on Cluster ${pair.cluster} is in use by ${other}`;
    }
    return undefined;
  }

  /** Returns the name of the current holder if that is another one. */
  async #acquire(pair: Pair, holder: string, all: readonly Rollout[]): Promise<string | undefined> {
    const { client, namespace, now } = this.#parts;
    const name = leaseName(pair);
    const acquireTime = new Date(now()).toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: holder, acquireTime };
    const labels = { ...installationLabels(pair.operator, pair.cluster), [LEASE_LABEL]: 'true' };
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, labels },
      spec,
    };
    try {
      await client.create(leases, lease, { fieldManager });
      return undefined;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const found = await client.get<Lease>(leases, { namespace, name });
    if (found.spec?.holderIdentity === holder) return undefined;
    if (this.#isHeld(found, all)) return found.spec?.holderIdentity?.split('/')[0] ?? 'an unknown holder';
    await client.update(leases, { ...found, spec }, { fieldManager });
    return undefined;
  }

  #isHeld({ spec }: Lease, all: readonly Rollout[]): boolean {
    const { holderIdentity = '' } = spec ?? {};
    if (this.#localHolders.has(holderIdentity)) return true;
    return all.some((each) => holderOf(each) === holderIdentity && isInProgress(each.status ?? {}));
  }

  async #release(pair: Pair, holder: string): Promise<void> {
    const { client, namespace } = this.#parts;
    try {
      const found = await client.get<Lease>(leases, { namespace, name: leaseName(pair) });
      if (found.spec?.holderIdentity === holder) await this.#remove(found);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #remove({ metadata }: Lease): Promise<void> {
    const { client, namespace } = this.#parts;
    const { name, uid, resourceVersion } = metadata;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    try {
      await client.delete(leases, { namespace, name }, { preconditions });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Lists the rollouts from the API server: the cache may be stale. */
  async #rollouts(): Promise<Rollout[]> {
    const all: Rollout[] = [];
    await eachObject(this.#parts.client, operatorDeployment.resource, {}, (object) => {
      all.push(object as unknown as Rollout);
    });
    return all;
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }
}

const holderOf = ({ metadata }: Rollout): string => `${metadata.name}/${metadata.uid ?? ''}`;

const isSame = (one: Rollout, other: Rollout): boolean => one.metadata.uid === other.metadata.uid;

function leaseName({ operator, cluster }: Pair): string {
  return `rollout-${createHash('sha256').update(`${operator}/${cluster}`).digest('hex').slice(0, 32)}`;
}
