/**
 * Simulated users that create, change and delete objects. Each user has its own objects and does one action at a time, retrying until
 * the API server has acknowledged it. The acknowledged changes are the expected result of the run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kind, kindNamed } from '../../../src/api/index.ts';
import type { Deployable } from '../../../src/reconcile/index.ts';
import {
  ApiError,
  type Client,
  ConnectionError,
  isAlreadyExists,
  isConflict,
  isNotFound,
} from '../../../src/runtime/index.ts';
import type { Random } from './random.ts';
import { CLUSTER_BROKER, KAFKA_BROKER, NAMESPACE } from './stage.ts';

/** How long a user retries after the last fault. */
const patienceMilliseconds = 180_000;

/** The expected final state of an object. */
export interface Expected {
  readonly kind: 'Secret' | 'Topic';
  readonly name: string;
  readonly uid: string;
  /** The last acknowledged spec, without defaults. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly deleted: boolean;
}

export interface Workload {
  readonly expected: ReadonlyMap<string, Expected>;
  /** The acknowledged actions, and the number of retries. */
  readonly counts: Readonly<Record<'created' | 'changed' | 'deleted' | 'retried', number>>;
  /** Resolves once all users have stopped. */
  finish(): Promise<void>;
}

export interface WorkloadOptions {
  readonly client: Client;
  readonly random: Random;
  readonly users: number;
  /** The largest number of objects per user. */
  readonly mostObjects: number;
  /** The longest pause between two actions of a user. */
  readonly pauseMilliseconds: number;
}

export function startWorkload(options: WorkloadOptions): Workload {
  const expected = new Map<string, Expected>();
  const counts = { created: 0, changed: 0, deleted: 0, retried: 0 };
  const stopping = new AbortController();
  const users = Array.from({ length: options.users }, (_, index) =>
    new User(`u${index + 1}`, options, expected, counts, stopping.signal).run(),
  );
  // `finish` reports the failure.
  for (const each of users) each.catch(() => {});
  return {
    expected,
    counts,
    async finish() {
      stopping.abort();
      await Promise.all(users);
    },
  };
}

class User {
  readonly #name: string;
  readonly #options: WorkloadOptions;
  readonly #random: Random;
  readonly #expected: Map<string, Expected>;
  readonly #counts: Record<keyof Workload['counts'], number>;
  /** Aborted when the users must stop. */
  readonly #signal: AbortSignal;
  readonly #own: Expected[] = [];
  /** Names of deleted objects, for reuse. */
  readonly #former: string[] = [];
  #made = 0;

  constructor(
    name: string,
    options: WorkloadOptions,
    expected: Map<string, Expected>,
    counts: Record<keyof Workload['counts'], number>,
    signal: AbortSignal,
  ) {
    this.#signal = signal;
    this.#name = name;
    this.#options = options;
    this.#random = options.random.stream(name);
    this.#expected = expected;
    this.#counts = counts;
  }

  async run(): Promise<void> {
    const signal = this.#signal;
    while (!signal.aborted) {
      await this.#doSomething();
      await sleep(this.#random.between(0, this.#options.pauseMilliseconds), undefined, { signal }).catch(() => {});
    }
  }

  #doSomething(): Promise<void> {
    const chance = this.#random.next();
    const victim = this.#own.length === 0 ? undefined : this.#random.pick(this.#own);
    if (victim === undefined || (chance < 0.4 && this.#own.length < this.#options.mostObjects)) return this.#create();
    return chance < 0.75 ? this.#change(victim) : this.#delete(victim);
  }

  async #create(): Promise<void> {
    const { client } = this.#options;
    this.#made += 1;
    const again = this.#former.length > 0 && this.#random.chance(0.3) ? this.#former.shift() : undefined;
    const kind = again === undefined ? this.#random.pick(['Secret', 'Topic'] as const) : kindIn(again);
    const name = again ?? `${kind.toLowerCase()}-${this.#name}-${this.#made}`;
    const spec = { ...constant(kind), ...this.#variable(kind, 1) };
    const object = { apiVersion: 'platform.company.com/v1', kind, metadata: { name, namespace: NAMESPACE }, spec };
    const uid = await this.#untilDone(async () => {
      try {
        return (await client.create(resourceOf(kind), object as Deployable)).metadata.uid;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        const present = await client
          .get<Deployable>(resourceOf(kind), { namespace: NAMESPACE, name })
          .catch((failure: unknown) => {
            if (!isNotFound(failure)) throw failure;
          });
        // The previous object with that name can still be terminating, or has just been removed.
        if (present === undefined || this.#expected.has(present.metadata.uid ?? '')) throw error;
        return present.metadata.uid;
      }
    });
    this.#counts.created += 1;
    this.#keep({ kind, name, uid: uid ?? '', spec, deleted: false });
  }

  async #change(victim: Expected): Promise<void> {
    const { client } = this.#options;
    const { partitions } = victim.spec;
    const changed = this.#variable(victim.kind, typeof partitions === 'number' ? partitions : 1);
    await this.#untilDone(() =>
      client.patch(
        resourceOf(victim.kind),
        { namespace: NAMESPACE, name: victim.name },
        { type: 'merge', body: { metadata: { uid: victim.uid }, spec: changed } },
      ),
    );
    this.#counts.changed += 1;
    this.#keep({ ...victim, spec: { ...victim.spec, ...changed } });
  }

  async #delete(victim: Expected): Promise<void> {
    const { client } = this.#options;
    const { kind, name, uid } = victim;
    await this.#untilDone(async () => {
      try {
        await client.delete(resourceOf(kind), { namespace: NAMESPACE, name }, { preconditions: { uid } });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
    this.#counts.deleted += 1;
    this.#keep({ ...victim, deleted: true });
    this.#former.push(name);
  }

  #keep(object: Expected): void {
    this.#expected.set(object.uid, object);
    const at = this.#own.findIndex(({ uid }) => uid === object.uid);
    if (at >= 0) this.#own.splice(at, 1);
    if (!object.deleted) this.#own.push(object);
  }

  /** Returns the variable part of a spec, with a new value each time. */
  #variable(kind: Expected['kind'], partitions: number): Record<string, unknown> {
    const draw = this.#random.between(1, 2 ** 31 - 1);
    if (kind === 'Secret') return { keys: [{ name: `key-${draw}`, generate: { length: 16 } }] };
    const more = partitions < 3 && this.#random.chance(0.3) ? 1 : 0;
    return { partitions: partitions + more, config: { 'retention.ms': draw } };
  }

  /** Retries transient errors: an unreachable webhook and a lost connection. Any other error fails the run. */
  async #untilDone<T>(attempt: () => Promise<T>): Promise<T> {
    let until = Number.POSITIVE_INFINITY;
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (this.#signal.aborted) until = Math.min(until, Date.now() + patienceMilliseconds);
        if (!mayPass(error) || Date.now() > until) throw error;
        this.#counts.retried += 1;
        await sleep(Math.min(100 * tries, 2_000));
      }
    }
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof ConnectionError || isAlreadyExists(error)) return true;
  if (!(error instanceof ApiError)) return false;
  if (error.status >= 500 || error.status === 429 || error.status === 408) return true;
  return isConflict(error);
}

const constant = (kind: Expected['kind']): Record<string, unknown> => ({
  owner: { kind: 'Team', name: 'chaos' },
  targetRef: { name: kind === 'Secret' ? CLUSTER_BROKER : KAFKA_BROKER },
});

const kindIn = (name: string): Expected['kind'] => (name.startsWith('secret') ? 'Secret' : 'Topic');

export function resourceOf(name: string): Kind['resource'] {
  const kind = kindNamed(name);
  if (kind === undefined) throw new Error(`unknown kind ${name}`);
  return kind.resource;
}
