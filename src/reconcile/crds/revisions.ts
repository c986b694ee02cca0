/**
 * Keeps stored versions of each CustomResourceDefinition as CRDRevisions, the newest per name, so that a change can be
 * compared with any earlier version.
 *
 * It is not only level-triggered: of two changes in quick succession both are kept, because the watch delivers both.
 * Versions that came and went without a leader are missed; gaps in the generations show it.
 *
 * Revisions have no owner reference: they outlive their definition for a while, so that a re-created definition can be
 * compared with the deleted one.
 */
import {
  type CrdRevision,
  crdRevision,
  type PackedDefinition,
  packDefinition,
  REVISION_LABEL,
  revisionLabelOf,
  revisionName,
} from '../../api/index.ts';
import {
  type Client,
  type Clock,
  FenceError,
  isAlreadyExists,
  isNotFound,
  type Logger,
  type Manager,
  Reflector,
  type Resource,
  type Runnable,
  type UnknownObject,
  Workqueue,
} from '../../runtime/index.ts';

export interface RevisionOptions {
  /** Revisions to keep per definition; 0 keeps none. */
  readonly kept: number;
  /** How long the revisions of a deleted definition are kept. */
  readonly afterRemovalMilliseconds?: number | undefined;
}

export const defaultKeptRevisions = 10;
const day = 24 * 3_600_000;
const defaultAfterRemoval = 30 * day;
const fieldManager = 'kidp-crds';

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** A definition as cached: compressed, because a cluster can have hundreds of half a megabyte each. */
interface Packed extends UnknownObject {
  readonly packed: PackedDefinition | undefined;
}

/** A version that was observed and not written yet. */
interface Seen {
  readonly crd: CrdRevision['spec']['crd'];
  readonly packed: PackedDefinition;
  readonly at: string;
}

export class RevisionKeeper implements Runnable {
  readonly name = 'revisions of definitions';
  readonly leaderOnly = true;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #kept: number;
  readonly #afterRemovalMilliseconds: number;
  readonly #queue: Workqueue;
  /** By the name of the definition, oldest first. */
  readonly #seen = new Map<string, Seen[]>();
  /** The last sequence number, which the cache might not have yet. */
  readonly #sequences = new Map<string, number>();

  constructor({ leaderClient, clock, log }: Pick<Manager, 'leaderClient' | 'clock' | 'log'>, options: RevisionOptions) {
    const { kept, afterRemovalMilliseconds = defaultAfterRemoval } = options;
    this.#client = leaderClient;
    this.#clock = clock;
    this.#log = log;
    this.#kept = kept;
    this.#afterRemovalMilliseconds = afterRemovalMilliseconds;
    this.#queue = new Workqueue({ clock });
  }

  async start(signal: AbortSignal): Promise<void> {
    const [stored, revisions] = [this.#watchDefinitions(), this.#watchRevisions()];
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    stored.start();
    revisions.start();
    // Before both caches are synced, existing revisions would look missing and existing definitions deleted.
    const synced = Promise.all([stored.synced(), revisions.synced()]).then(
      () => true,
      () => false,
    );
    await Promise.race([synced, stopped]);
    if (!signal.aborted) void this.#work(stored, revisions);
    await stopped;
    await Promise.all([this.#queue.shutdown(), stored.stop(), revisions.stop()]);
  }

  #watchDefinitions(): Reflector<Packed> {
    return new Reflector<Packed>({
      client: this.#client,
      resource: definitions,
      stripManagedFields: true,
      clock: this.#clock,
      transform: packed,
      handlers: {
        added: (definition) => this.#observe(definition),
        updated: (definition, old) => {
          const { uid, generation } = definition.metadata;
          if (uid !== old.metadata.uid || generation !== old.metadata.generation) this.#observe(definition);
        },
        deleted: ({ metadata }) => this.#queue.add(metadata.name),
      },
      observer: {
        failed: (error, during) => this.#log.warn('watching CustomResourceDefinitions failed', { error, during }),
      },
    });
  }

  #watchRevisions(): Reflector<CrdRevision> {
    const wake = ({ spec }: CrdRevision) => this.#queue.add(spec.crd.name);
    return new Reflector<CrdRevision>({
      client: this.#client,
      resource: crdRevision.resource,
      stripManagedFields: true,
      clock: this.#clock,
      // The stored definition is not needed here.
      transform: (revision) => ({ ...revision, spec: { ...revision.spec, definition: '' } }),
      handlers: { added: wake, deleted: wake },
      observer: {
        failed: (error, during) => this.#log.warn('watching CRDRevisions failed', { error, during }),
      },
    });
  }

  #observe({ metadata, packed: content }: Packed): void {
    const { name, uid = '', generation = 1 } = metadata;
    if (content === undefined) {
      this.#log.warn('CustomResourceDefinition too large for a CRDRevision; skipped', { name, generation });
      return;
    }
    const at = new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const seen = this.#seen.get(name) ?? [];
    seen.push({ crd: { name, uid, generation }, packed: content, at });
    this.#seen.set(name, seen);
    this.#queue.add(name);
  }

  async #work(stored: Reflector<Packed>, revisions: Reflector<CrdRevision>): Promise<void> {
    for (;;) {
      const name = await this.#queue.get();
      if (name === undefined) return;
      try {
        const kept = revisions.store
          .list()
          .filter(({ spec }) => spec.crd.name === name && spec.registered === undefined);
        const isThere = stored.store.get({ name }) !== undefined;
        const again = await this.#keep(name, kept, isThere);
        this.#queue.forget(name);
        if (again !== undefined) this.#queue.addAfter(name, again);
      } catch (error) {
        if (!(error instanceof FenceError)) this.#log.error('writing CRDRevision failed; requeued', { name, error });
        this.#queue.addRateLimited(name);
      } finally {
        this.#queue.done(name);
      }
    }
  }

  /** Returns when to look again if time alone changes something. */
  async #keep(name: string, kept: readonly CrdRevision[], isThere: boolean): Promise<number | undefined> {
    const all = [...kept].sort((one, other) => one.spec.sequence - other.spec.sequence);
    await this.#write(name, all);
    if (!isThere) return this.#afterRemoval(name, all);
    const tooMany = Math.max(0, all.length - this.#kept);
    for (const { metadata } of all.slice(0, tooMany)) await this.#remove(metadata.name);
    return undefined;
  }

  /** Writes the observed versions that are not stored yet, oldest first. */
  async #write(name: string, all: readonly CrdRevision[]): Promise<void> {
    const seen = this.#seen.get(name) ?? [];
    for (let first = seen[0]; first !== undefined; first = seen[0]) {
      const { uid, generation } = first.crd;
      const isWritten = all.some(({ spec }) => spec.crd.uid === uid && spec.crd.generation === generation);
      if (!isWritten) await this.#create(first, all);
      seen.shift();
    }
    if (this.#seen.get(name)?.length === 0) this.#seen.delete(name);
  }

  async #create({ crd, packed: content, at }: Seen, all: readonly CrdRevision[]): Promise<void> {
    const last = Math.max(all.at(-1)?.spec.sequence ?? 0, this.#sequences.get(crd.name) ?? 0);
    const revision: CrdRevision = {
      apiVersion: 'platform.company.com/v1',
      kind: crdRevision.kind,
      metadata: { name: revisionName(crd), labels: { [REVISION_LABEL]: revisionLabelOf(crd.name) } },
      spec: { crd, sequence: last + 1, ...content, recordedAt: at },
    };
    try {
      await this.#client.create(crdRevision.resource, revision, { fieldManager });
      this.#sequences.set(crd.name, last + 1);
    } catch (error) {
      // It exists already and is not in the cache yet.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /**
   * The newest revision records when the definition was found deleted; all are deleted when the retention time is over.
   */
  async #afterRemoval(name: string, all: readonly CrdRevision[]): Promise<number | undefined> {
    const newest = all.at(-1);
    if (newest === undefined) {
      this.#sequences.delete(name);
      return undefined;
    }
    const removedAt = newest.status?.removedAt;
    const since = removedAt === undefined ? this.#clock.now() : Date.parse(removedAt);
    if (removedAt === undefined) await this.#markRemoved(newest, since);
    const left = since + this.#afterRemovalMilliseconds - this.#clock.now();
    if (left > 0) return Math.min(left + 1_000, day);
    for (const { metadata } of all) await this.#remove(metadata.name);
    return undefined;
  }

  async #markRemoved({ metadata }: CrdRevision, since: number): Promise<void> {
    const removedAt = new Date(since).toISOString().replace(/\.\d+Z$/, 'Z');
    const body = {
      apiVersion: 'platform.company.com/v1' as const,
      kind: crdRevision.kind,
      metadata: { name: metadata.name },
      status: { removedAt },
    };
    await this.#client
      .apply(crdRevision.resource, body, { subresource: 'status', fieldManager, force: true })
      .catch(ignoreMissing);
  }

  async #remove(name: string): Promise<void> {
    await this.#client.delete(crdRevision.resource, { name }).catch(ignoreMissing);
  }
}

function ignoreMissing(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

function packed({ metadata, ...definition }: UnknownObject): Packed {
  const { name, uid, generation, resourceVersion } = metadata;
  return {
    apiVersion: definition.apiVersion,
    kind: definition.kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    packed: packDefinition(JSON.stringify(definition.spec ?? {})),
  };
}
