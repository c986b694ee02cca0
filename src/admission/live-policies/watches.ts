/**
 * Watches the objects that policies declare (params and context): a watch starts with the first policy that needs a
 * kind and stops with the last one. Only the declared name, namespace or selector is watched, until there are so many
 * watches of one kind that a watch of the whole kind is cheaper.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Json, LabelSelector, ObjectQuery } from '../../policy/index.ts';
import { type Client, type Logger, Reflector, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { byKey, isAsked, labelIndex, plainMetadata, selectorText } from './objects.ts';

/**
 * The state of a watch. `unserved`: the API server does not serve the kind. `failing`: the kind is served, but cannot
 * be watched.
 */
export type NeedState = 'synced' | 'pending' | 'unserved' | 'failing';

interface KindWatchesOptions {
  readonly client: Client;
  readonly log: Logger;
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
  /** Called when a watch has synced or failed, or an object of the kind has changed. */
  readonly changed: (apiVersion: string, kind: string, what: 'state' | 'objects') => void;
}

interface Selection {
  readonly namespace?: string;
  readonly name?: string;
  readonly selector?: LabelSelector;
}

interface Watch {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly selection: Selection;
  readonly reflector: Reflector<UnknownObject>;
  /** Results since the last change, by query. */
  readonly answers: Map<string, readonly Json[]>;
  wanted: boolean;
}

/** The maximum number of narrow watches of a kind, above which the whole kind is watched. */
const mostNarrowWatches = 4;
/** The maximum number of cached results per watch. */
const mostAnswers = 512;

export class KindWatches {
  readonly #options: KindWatchesOptions;
  readonly #watches = new Map<string, Watch>();
  #needs: readonly ObjectQuery[] = [];

  constructor(options: KindWatchesOptions) {
    this.#options = options;
  }

  /** Starts and stops watches according to the given needs. Watches that are still needed continue. */
  want(needs: readonly ObjectQuery[]): void {
    this.#needs = needs;
    const wanted = new Map(
      selectionsOf(needs).flatMap(({ apiVersion, kind, selection }) => {
        const resource = this.#options.resourceOf(apiVersion, kind);
        if (resource === undefined) return [];
        return [[idOf(resource, selection), { apiVersion, kind, selection, resource }] as const];
      }),
    );
    for (const [id, watch] of this.#watches) watch.wanted = wanted.has(id);
    for (const [id, one] of wanted) if (!this.#watches.has(id)) this.#open(id, one);
    this.#retire();
  }

  /** Re-evaluates the watches after the served kinds have changed. */
  refresh(): void {
    this.want(this.#needs);
  }

  state(need: ObjectQuery): NeedState {
    const covering = this.#covering(need);
    if (covering.some(({ reflector }) => reflector.hasSynced)) return 'synced';
    if (covering.length === 0) {
      const served = this.#options.resourceOf(need.apiVersion, need.kind) !== undefined;
      return served ? 'pending' : 'unserved';
    }
    return covering.every(({ reflector }) => reflector.status.state === 'failing') ? 'failing' : 'pending';
  }

  /** Returns the matching objects, ordered by namespace and name, or undefined if the kind is not available. */
  find(query: ObjectQuery): readonly Json[] | undefined {
    const watch = this.#covering(query).find(({ reflector }) => reflector.hasSynced);
    if (watch === undefined) return undefined;
    const key = JSON.stringify([query.namespace, query.name, query.selector]);
    const known = watch.answers.get(key);
    if (known !== undefined) return known;
    const answer = select(watch.reflector, inScope(watch, query));
    if (watch.answers.size >= mostAnswers) watch.answers.clear();
    watch.answers.set(key, answer);
    return answer;
  }

  /** The number of watches, for metrics and tests. */
  get size(): number {
    return this.#watches.size;
  }

  async stop(): Promise<void> {
    const all = [...this.#watches.values()];
    this.#watches.clear();
    await Promise.all(all.map(({ reflector }) => reflector.stop()));
  }

  #covering({ apiVersion, kind, ...asked }: ObjectQuery): Watch[] {
    return [...this.#watches.values()].filter(
      (watch) =>
        watch.kind === kind && watch.apiVersion === apiVersion && covers(watch.selection, inScope(watch, asked)),
    );
  }

  #open(id: string, wanted: { apiVersion: string; kind: string; selection: Selection; resource: Resource }): void {
    const { client, changed, log } = this.#options;
    const { apiVersion, kind, selection, resource } = wanted;
    const answers = new Map<string, readonly Json[]>();
    const forget = () => {
      answers.clear();
      changed(apiVersion, kind, 'objects');
    };
    const selector = selection.selector === undefined ? '' : selectorText(selection.selector);
    const reflector = new Reflector<UnknownObject>({
      client,
      resource,
      ...(selection.namespace === undefined || !resource.namespaced ? {} : { namespace: selection.namespace }),
      ...(selection.name === undefined ? {} : { fieldSelector: `metadata.name=${selection.name}` }),
      ...(selector === '' ? {} : { labelSelector: selector }),
      indexes: { label: labelIndex },
      stripManagedFields: true,
      transform: plainMetadata,
      handlers: { added: forget, updated: forget, deleted: forget },
      observer: {
        failed: (error, during) =>
          log.warn('watching objects that policies read failed; retrying', { apiVersion, kind, error, during }),
        status: ({ state }) => {
          if (state === 'failing') changed(apiVersion, kind, 'state');
        },
      },
    });
    this.#watches.set(id, {
      apiVersion,
      kind,
      namespaced: resource.namespaced,
      selection,
      reflector,
      answers,
      wanted: true,
    });
    reflector.start();
    reflector.synced().then(
      () => {
        this.#retire();
        changed(apiVersion, kind, 'state');
      },
      () => {},
    );
  }

  /** Stops unneeded watches once their replacements have synced. */
  #retire(): void {
    for (const [id, watch] of this.#watches) {
      if (watch.wanted || this.#isAwaited(watch)) continue;
      this.#watches.delete(id);
      void watch.reflector.stop();
    }
  }

  #isAwaited({ apiVersion, kind }: Watch): boolean {
    return [...this.#watches.values()].some(
      (other) =>
        other.wanted &&
        other.kind === kind &&
        other.apiVersion === apiVersion &&
        !other.reflector.hasSynced &&
        other.reflector.status.state !== 'failing',
    );
  }
}

function selectionsOf(needs: readonly ObjectQuery[]) {
  const kinds = new Map<string, { apiVersion: string; kind: string; selections: Map<string, Selection> }>();
  for (const { apiVersion, kind, namespace, name, selector } of needs) {
    const selection: Selection = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(selector === undefined ? {} : { selector }),
    };
    const id = `${apiVersion}/${kind}`;
    const entry = kinds.get(id) ?? { apiVersion, kind, selections: new Map() };
    kinds.set(id, entry);
    entry.selections.set(JSON.stringify([namespace, name, selector]), selection);
  }
  return [...kinds.values()].flatMap(({ apiVersion, kind, selections }) => {
    const all = [...selections.values()];
    const wide = all.length > mostNarrowWatches || all.some((selection) => Object.keys(selection).length === 0);
    return (wide ? [{}] : all).map((selection) => ({ apiVersion, kind, selection }));
  });
}

/** Ignores the namespace of a query for cluster-scoped kinds. */
function inScope<Q extends Selection>({ namespaced }: Watch, query: Q): Q {
  if (namespaced || query.namespace === undefined) return query;
  const { namespace, ...rest } = query;
  return rest as Q;
}

function covers(watched: Selection, asked: Selection): boolean {
  return (
    (watched.namespace === undefined || watched.namespace === asked.namespace) &&
    (watched.name === undefined || watched.name === asked.name) &&
    (watched.selector === undefined || isDeepStrictEqual(watched.selector, asked.selector))
  );
}

function select({ store }: Reflector<UnknownObject>, query: Selection): readonly Json[] {
  const { namespace, name, selector } = query;
  const [label] = Object.entries(selector?.matchLabels ?? {});
  const narrowed =
    name !== undefined && namespace !== undefined
      ? [store.get({ namespace, name })].filter((object) => object !== undefined)
      : label !== undefined
        ? store.byIndex('label', `${label[0]}=${label[1]}`)
        : namespace !== undefined
          ? store.byNamespace(namespace)
          : store.list();
  return narrowed.filter((object) => isAsked(object, query)).sort(byKey);
}

const idOf = (resource: Resource, selection: Selection): string => JSON.stringify([resource, selection]);
