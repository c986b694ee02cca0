/**
 * The kinds of the cluster: what it serves, kept up to date by its CustomResourceDefinitions, and their schemas for the type
 * checks of policies.
 *
 * Schemas are kept as text and read when one is asked for: a cluster may hold hundreds of definitions of half a megabyte each.
 */
import { combineSchemas, crdSchemas, kubernetesSchemas, type SchemaSource } from '../../policy/index.ts';
import {
  type Client,
  type Logger,
  Reflector,
  type Resource,
  systemClock,
  type UnknownObject,
} from '../../runtime/index.ts';
import {
  type DefinitionLike,
  discover,
  type ResourceMapping,
  resourceMapping,
  type ServedResource,
  servedByDefinition,
  sleep,
} from '../../runtime/internal.ts';
import { plainMetadata } from './objects.ts';

const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export interface Definitions {
  readonly mapping: ResourceMapping;
  /** Raised by every change of a definition that changes what is served, or how it looks. */
  readonly version: number;
  readonly synced: boolean;
  /** Resolves once `synced`; rejects when stopped before. */
  whenSynced(): Promise<unknown>;
  /** Of custom resources as they are defined now. */
  customSchemas(): SchemaSource;
  /** Those, and those of the kinds of Kubernetes. */
  schemas(): SchemaSource;
  stop(): Promise<void>;
}

interface KeptDefinition extends UnknownObject {
  readonly served: readonly ServedResource[];
  /** The definition without what no type check reads, as JSON. */
  readonly text: string;
}

/** Built-in and aggregated kinds come and go with upgrades of the API server only. */
const rediscoverMilliseconds = 10 * 60_000;
const retryMilliseconds = 2_000;
const settleMilliseconds = 500;
const mostParsed = 64;

export function startDefinitions(options: {
  client: Client;
  log: Logger;
  changed: (group: string) => void;
}): Definitions {
  const { client, log, changed } = options;
  const stopping = new AbortController();
  const parsed = new Map<string, SchemaSource>();
  let custom: SchemaSource | undefined;
  let schemas: SchemaSource | undefined;
  let discovered: readonly ServedResource[] | undefined;
  let mapping: ResourceMapping | undefined;
  let version = 0;
  let cutShort = new AbortController();
  const firstDiscovery = Promise.withResolvers<void>();
  firstDiscovery.promise.catch(() => {});

  /** A kind that has come or gone: soon, but once for all that come and go together. */
  const rediscover = () => cutShort.abort();
  const renewed = (group: string) => {
    mapping = undefined;
    custom = undefined;
    schemas = undefined;
    version += 1;
    changed(group);
  };
  const reflector = new Reflector<KeptDefinition>({
    client,
    resource: customResourceDefinitions,
    stripManagedFields: true,
    transform: kept,
    handlers: {
      added: (definition, initial) => {
        renewed(groupOf(definition));
        if (!initial) rediscover();
      },
      updated: (definition, old) => {
        if (!isSame(definition, old)) renewed(groupOf(definition));
      },
      deleted: (definition) => {
        renewed(groupOf(definition));
        rediscover();
      },
    },
    observer: {
      failed: (error, during) => log.warn('CustomResourceDefinitions cannot be watched', { error, during }),
    },
  });
  function definedSchemas(): SchemaSource {
    const definitions = reflector.store.list();
    const byKind = new Map(
      definitions.flatMap((definition) =>
        definition.served.map(({ group, kind }) => [`${group}/${kind}`, definition] as const),
      ),
    );
    return {
      kinds: () => definitions.flatMap(({ served }) => served),
      schema(of) {
        const definition = byKind.get(`${of.group}/${of.kind}`);
        return definition === undefined ? undefined : schemasOf(definition).schema(of);
      },
    };
  }

  function schemasOf({ metadata: { name }, text }: KeptDefinition): SchemaSource {
    // By the text itself: what has not changed is the same schema, and what was made of it still holds.
    const known = parsed.get(text);
    if (known !== undefined) return known;
    const made = crdSchemas([JSON.parse(text)]);
    if (parsed.size >= mostParsed) parsed.clear();
    parsed.set(text, made);
    log.debug('read the schema of a definition', { name });
    return made;
  }

  reflector.start();
  // Discovery may have been faster: whoever waits for both hears of the later one.
  void reflector.synced().then(
    () => renewed(''),
    () => {},
  );
  const discovering = keepDiscovering();

  async function keepDiscovering(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const { resources, failed } = await discover(client, { signal: stopping.signal });
        if (failed.length > 0) log.warn('some groups of the API server do not answer', { groups: failed });
        discovered = resources;
        firstDiscovery.resolve();
        renewed('');
      } catch (error) {
        if (!stopping.signal.aborted) log.warn('cannot tell what the API server serves, trying again', { error });
      }
      const wait = discovered === undefined ? retryMilliseconds : rediscoverMilliseconds;
      await sleep(systemClock, wait, AbortSignal.any([stopping.signal, cutShort.signal]));
      if (cutShort.signal.aborted) await sleep(systemClock, settleMilliseconds, stopping.signal);
      cutShort = new AbortController();
    }
  }

  return {
    get mapping() {
      mapping ??= resourceMapping(joined(discovered ?? [], reflector.store.list()));
      return mapping;
    },
    get version() {
      return version;
    },
    get synced() {
      return reflector.hasSynced && discovered !== undefined;
    },
    whenSynced: () => Promise.all([reflector.synced(), firstDiscovery.promise]),
    customSchemas() {
      custom ??= definedSchemas();
      return custom;
    },
    schemas() {
      schemas ??= combineSchemas(this.customSchemas(), kubernetesSchemas());
      return schemas;
    },
    async stop() {
      stopping.abort();
      firstDiscovery.reject(new Error('stopped before the API server had said what it serves'));
      await Promise.all([reflector.stop(), discovering]);
    },
  };
}

/** What definitions say comes first: they are as of now, discovery is a moment old. */
function joined(discovered: readonly ServedResource[], definitions: readonly KeptDefinition[]): ServedResource[] {
  const names = new Set(definitions.map(({ metadata }) => metadata.name));
  const others = discovered.filter(({ group, plural }) => !names.has(`${plural}.${group}`));
  return [...others, ...definitions.flatMap(({ served }) => served)];
}

function kept(definition: UnknownObject): KeptDefinition {
  const { apiVersion, kind, metadata, spec } = plainMetadata(definition);
  const { name, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    served: servedByDefinition(definition as DefinitionLike),
    text: JSON.stringify({ kind, spec }, withoutProse),
  };
}

/** Descriptions are most of a schema; but a field may be called `description`, and is an object then. */
function withoutProse(key: string, value: unknown): unknown {
  return key === 'description' && typeof value === 'string' ? undefined : value;
}

/** `plural.group`, as the API server demands. */
const groupOf = ({ metadata: { name } }: KeptDefinition): string => name.slice(name.indexOf('.') + 1);

function isSame(one: KeptDefinition, other: KeptDefinition): boolean {
  return one.text === other.text && JSON.stringify(one.served) === JSON.stringify(other.served);
}
