/**
 * The kinds that the cluster serves, kept up to date from its CustomResourceDefinitions, and their schemas for
 * type-checking policies.
 *
 * Schemas are kept as text and parsed on demand: a cluster may have hundreds of definitions of half a megabyte each.
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
  /** Incremented by every change of the served kinds or their schemas. */
  readonly version: number;
  readonly synced: boolean;
  /** Resolves once `synced`; rejects if stopped before. */
  whenSynced(): Promise<unknown>;
  /** Returns the current schemas of custom resources. */
  customSchemas(): SchemaSource;
  /** Returns the schemas of custom resources and of built-in kinds. */
  schemas(): SchemaSource;
  stop(): Promise<void>;
}

interface KeptDefinition extends UnknownObject {
  readonly served: readonly ServedResource[];
  /** The definition as JSON, without the parts that type-checking does not read. */
  readonly text: string;
}

/** The interval of discovery. Built-in and aggregated kinds rarely change. */
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

  /** Triggers discovery soon after a kind was added or removed, once for several changes. */
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
      failed: (error, during) => log.warn('watching CustomResourceDefinitions failed; retrying', { error, during }),
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
    // The key is the text itself: an unchanged text has the same schema.
    const known = parsed.get(text);
    if (known !== undefined) return known;
    const made = crdSchemas([JSON.parse(text)]);
    if (parsed.size >= mostParsed) parsed.clear();
    parsed.set(text, made);
    log.debug('parsed the schema of a definition', { name });
    return made;
  }

  reflector.start();
  // Discovery may have finished first: subscribers are notified of the later one.
  void reflector.synced().then(
    () => renewed(''),
    () => {},
  );
  const discovering = keepDiscovering();

  async function keepDiscovering(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const { resources, failed } = await discover(client, { signal: stopping.signal });
        if (failed.length > 0) log.warn('discovery failed for some API groups', { groups: failed });
        discovered = resources;
        firstDiscovery.resolve();
        renewed('');
      } catch (error) {
        if (!stopping.signal.aborted) log.warn('discovery failed; retrying', { error });
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
      firstDiscovery.reject(new Error('stopped before discovery was complete'));
      await Promise.all([reflector.stop(), discovering]);
    },
  };
}

/** Merges discovery and definitions. Definitions take precedence, because they are newer. */
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

/** Drops descriptions, which are most of a schema. A field can also be named `description`; then it is an object. */
function withoutProse(key: string, value: unknown): unknown {
  return key === 'description' && typeof value === 'string' ? undefined : value;
}

/** Returns the group from the name, which is always `plural.group`. */
const groupOf = ({ metadata: { name } }: KeptDefinition): string => name.slice(name.indexOf('.') + 1);

function isSame(one: KeptDefinition, other: KeptDefinition): boolean {
  return one.text === other.text && JSON.stringify(one.served) === JSON.stringify(other.served);
}
