/**
 * Who may work where: so many rollouts at once in the whole system, and of one operator on one cluster never more than one. The second is
 * a Lease for each pair that names its holder. It does not run out: its holder is an object whose status says whether it still needs it,
 * so that one that was left behind by a crash is free for whoever looks.
 */
import { createHash } from 'node:crypto';
import { installationLabels, operatorDeployment } from '../../../../api/index.ts';
import { type Client, eachObject, isAlreadyExists, isConflict, isNotFound } from '../../../../runtime/index.ts';
import { type Lease, leases } from '../../../../runtime/internal.ts';
import { isUnderWay, phaseOf, type Rollout, takesPlace } from '../rollout.ts';
import { fieldManager } from './status-writer.ts';

/** On every Lease of a pair, so that those that nobody needs can be found. */
const LEASE_LABEL = 'platform.company.com/rollout-lease';

interface Pair {
  readonly operator: string;
  readonly cluster: string;
}

interface HoldsParts {
  readonly client: Client;
  readonly namespace: string;
  readonly maxConcurrent: number;
  readonly now: () => number;
}

export class Holds {
  readonly #parts: HoldsParts;
  /** What is decided about places is decided by one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Holders that are no rollouts, in this process: one that is not here is not there any more. */
  readonly #guests = new Set<string>();

  constructor(parts: HoldsParts) {
    this.#parts = parts;
  }

  /**
   * Gets a place and all clusters for a rollout, and calls `begin`, which writes that down, before anybody else is asked. Returns why not.
   */
  start(object: Rollout, clusters: readonly string[], begin: () => Promise<unknown>): Promise<string | undefined> {
    return this.#inTurn(async () => {
      const all = await this.#rollouts();
      const underWay = all.filter((each) => !isSame(each, object) && isUnderWay(each.status ?? {}));
      const goingBack = underWay.find(
        ({ spec, status = {} }) => spec.operator === object.spec.operator && phaseOf(status) === 'RollingBack',
      );
      if (goingBack !== undefined) return `OperatorDeployment ${goingBack.metadata.name} is being rolled back`;
      // What goes back has had its place.
      const full = object.status?.startedAt === undefined ? this.#full(object, all) : undefined;
      if (full !== undefined) return full;
      const pairs = clusters.map((cluster) => ({ operator: object.spec.operator, cluster }));
      const refusal = await this.#takeAll(pairs, holderOf(object), all);
      if (refusal !== undefined) return refusal;
      await begin();
      return undefined;
    });
  }

  /** Gets a place again for a rollout that was held; its clusters it has kept. As `start`. */
  resume(object: Rollout, begin: () => Promise<unknown>): Promise<string | undefined> {
    return this.#inTurn(async () => {
      const full = this.#full(object, await this.#rollouts());
      if (full === undefined) await begin();
      return full;
    });
  }

  #full(object: Rollout, all: readonly Rollout[]): string | undefined {
    const { maxConcurrent } = this.#parts;
    const others = all.filter((each) => !isSame(each, object) && takesPlace(each.status ?? {})).length;
    return others < maxConcurrent
      ? undefined
      : `${others} rollouts are under way, and no more than ${maxConcurrent} may be`;
  }

  /** Does something short of a rollout with one pair, where nobody else works on it. Returns whether it was done. */
  async alone(pair: Pair, work: () => Promise<void>): Promise<boolean> {
    const holder = `guest/${leaseName(pair)}`;
    if (this.#guests.has(holder)) return false;
    this.#guests.add(holder);
    try {
      const refusal = await this.#inTurn(async () => this.#takeAll([pair], holder, await this.#rollouts()));
      if (refusal !== undefined) return false;
      await work();
      return true;
    } finally {
      this.#guests.delete(holder);
      await this.#release(pair, holder).catch(() => {});
    }
  }

  /** Nobody needs them any more. What is left of it, because it fails, is free all the same. */
  async release(object: Rollout): Promise<void> {
    const { operator } = object.spec;
    for (const { name } of object.status?.clusters ?? []) {
      await this.#release({ operator, cluster: name }, holderOf(object));
    }
  }

  /** Removes the Leases whose holders have come to their end. */
  async tidy(): Promise<void> {
    const { client, namespace } = this.#parts;
    await this.#inTurn(async () => {
      const all = await this.#rollouts();
      const free: Lease[] = [];
      await eachObject(client, leases, { namespace, labelSelector: `${LEASE_LABEL}=true` }, (object) => {
        const lease = object as unknown as Lease;
        if (!this.#isHeld(lease, all)) free.push(lease);
      });
      for (const lease of free) await this.#remove(lease);
    });
  }

  async #takeAll(pairs: readonly Pair[], holder: string, all: readonly Rollout[]): Promise<string | undefined> {
    const taken: Pair[] = [];
    for (const pair of pairs) {
      const other = await this.#take(pair, holder, all);
      if (other === undefined) {
        taken.push(pair);
        continue;
      }
      for (const each of taken) await this.#release(each, holder);
      return `${other} works on ${pair.operator} on Cluster ${pair.cluster}`;
    }
    return undefined;
  }

  /** Returns who has it, where somebody else has. */
  async #take(pair: Pair, holder: string, all: readonly Rollout[]): Promise<string | undefined> {
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
    if (this.#isHeld(found, all)) return found.spec?.holderIdentity?.split('/')[0] ?? 'somebody';
    await client.update(leases, { ...found, spec }, { fieldManager });
    return undefined;
  }

  #isHeld({ spec }: Lease, all: readonly Rollout[]): boolean {
    const { holderIdentity = '' } = spec ?? {};
    if (this.#guests.has(holderIdentity)) return true;
    return all.some((each) => holderOf(each) === holderIdentity && isUnderWay(each.status ?? {}));
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

  /** As they are, not as a cache has them. */
  async #rollouts(): Promise<Rollout[]> {
    const all: Rollout[] = [];
    await eachObject(this.#parts.client, operatorDeployment.resource, {}, (object) => {
      all.push(object as unknown as Rollout);
    });
    return all;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

const holderOf = ({ metadata }: Rollout): string => `${metadata.name}/${metadata.uid ?? ''}`;

const isSame = (one: Rollout, other: Rollout): boolean => one.metadata.uid === other.metadata.uid;

function leaseName({ operator, cluster }: Pair): string {
  return `rollout-${createHash('sha256').update(`${operator}/${cluster}`).digest('hex').slice(0, 32)}`;
}
