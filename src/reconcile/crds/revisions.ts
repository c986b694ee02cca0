/**
 * Keeps every version of each CustomResourceDefinition that was stored as a CRDRevision, the newest of them for each name, so that a
 * change can be compared with any earlier version.
 *
 * Not level-triggered alone: of two changes in quick succession both are kept, because the watch delivers both. Only what came and
 * went while nobody led is missed; the generations tell.
 *
 * The revisions have no owner: they outlive their definition for a while, so that one that is deleted and made anew can be compared
 * with what was there before.
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
  /** Of each definition; none at all where it is 0. */
  readonly kept: number;
  /** How long those of a definition that was deleted are kept. */
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

/** A definition as the cache holds it: packed, because a cluster may have hundreds of half a megabyte each. */
interface Packed extends UnknownObject {
  readonly packed: PackedDefinition | undefined;
}

/** A version that was seen and is not written yet. */
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
  /** The last number that was given, which the cache may not know yet. */
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
    // Before both are known, what is kept would look missing, and a definition that is there deleted.
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
        added: (definition) => this.#saw(definition),
        updated: (definition, old) => {
          const { uid, generation } = definition.metadata;
          if (uid !== old.metadata.uid || generation !== old.metadata.generation) this.#saw(definition);
        },
        deleted: ({ metadata }) => this.#queue.add(metadata.name),
      },
      observer: {
        failed: (error, during) =>
          this.#log.warn('definitions cannot be watched for their revisions', { error, during }),
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
      // What it holds is not looked at here.
      transform: (revision) => ({ ...revision, spec: { ...revision.spec, definition: '' } }),
      handlers: { added: wake, deleted: wake },
      observer: {
        failed: (error, during) => this.#log.warn('revisions of definitions cannot be watched', { error, during }),
      },
    });
  }

  #saw({ metadata, packed: content }: Packed): void {
    const { name, uid = '', generation = 1 } = metadata;
    if (content === undefined) {
      this.#log.warn('a definition is too large to be kept as a revision', { name, generation });
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
        if (!(error instanceof FenceError)) this.#log.error('a revision of a definition was not kept', { name, error });
        this.#queue.addRateLimited(name);
      } finally {
        this.#queue.done(name);
      }
    }
  }

  /** Returns after how long to look again, where time alone changes something. */
  async #keep(name: string, kept: readonly CrdRevision[], isThere: boolean): Promise<number | undefined> {
    const all = [...kept].sort((one, other) => one.spec.sequence - other.spec.sequence);
    await this.#write(name, all);
    if (!isThere) return this.#afterRemoval(name, all);
    const tooMany = Math.max(0, all.length - this.#kept);
    for (const { metadata } of all.slice(0, tooMany)) await this.#remove(metadata.name);
    return undefined;
  }

  /** Whatever was seen and is not written yet, oldest first. */
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
      // Written before, and not in the cache yet.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** The newest remembers when the definition was seen to be gone; all go when their time is over. */
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
