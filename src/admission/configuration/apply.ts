/**
 * Applies the webhook configurations of a cluster and keeps them in sync with what policies match.
 *
 * There is one writer: the leader, or the only replica. It takes over configurations of an earlier process.
 * Configurations with the same name that kidp did not create are left alone and reported. An installation restores its
 * configurations when they are changed or deleted.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ScopeEntry } from '../../policy/internal.ts';
import {
  type Client,
  ConfigError,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type OwnerReference,
  Reflector,
  type Resource,
} from '../../runtime/index.ts';
import { type Bundle, discover, type ResourceMapping, resourceMapping } from '../../runtime/internal.ts';
import {
  addressOf,
  buildConfiguration,
  type ConfigurationOptions,
  configurationName,
  fieldManager,
  heldBundle,
  installationAnnotation,
  isAnothers,
  isInstalledBy,
  isOurs,
  type Phase,
  phases,
  type WebhookConfiguration,
} from './build.ts';
import { rulesFor } from './rules.ts';

interface ConfigurationsOptions extends Omit<ConfigurationOptions, 'scope' | 'mapping' | 'bundle' | 'owner'> {
  readonly client: Client;
  /** Returns the current CA bundle. It changes when certificates rotate. */
  readonly bundle: () => Bundle;
  /** The resource mapping of the caller. Without it, the API server is queried. */
  readonly mapping?: (() => ResourceMapping) | undefined;
  /** Reads the owner of the configurations. Its UID changes if it is deleted and created again. */
  readonly owner?: (() => Promise<OwnerReference | undefined>) | undefined;
}

export interface Applied {
  /** Resources that policies match and the cluster does not serve (yet). Apply again when the cluster serves them. */
  readonly unresolved: readonly ScopeEntry[];
}

export interface Configurations {
  /**
   * Applies the configurations. Only differences are written; calls are serialized. The first call takes over
   * configurations of another process; afterwards, configurations that another process has taken over are left to it.
   */
  apply(scope: readonly ScopeEntry[]): Promise<Applied>;
  /**
   * Calls back when a configuration may have been changed or deleted, so that it can be restored. Returns a function
   * that ends the watch.
   */
  watch(changed: () => void): () => Promise<void>;
  /** Deletes the configurations, unless another process has replaced them. */
  remove(): Promise<void>;
}

export function webhookConfigurations(options: ConfigurationsOptions): Configurations {
  const mappingFor = options.mapping === undefined ? discoveredMapping(options.client) : givenMapping(options.mapping);
  let taken = false;
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = turn.then(work);
    turn = next.catch(() => {});
    return next;
  };
  return {
    apply: (scope) =>
      inTurn(async () => {
        const owner = await options.owner?.();
        const applied = await applyAll({ ...options, owner, takesOver: !taken }, scope, await mappingFor(scope));
        taken = true;
        return applied;
      }),
    watch: (changed) => watchConfigurations(options, changed),
    remove: () =>
      inTurn(async () => {
        taken = false;
        for (const phase of phases) await removeOne(options, phase);
      }),
  };
}

/**
 * Watches the configurations. Changes by another installer are ignored, because that installer restores and deletes its
 * own. An installation restores even those that another installer deleted, because that installer may have ended.
 */
function watchConfigurations({ client, installer }: ConfigurationsOptions, changed: () => void): () => Promise<void> {
  const updated = (configuration: WebhookConfiguration) => {
    if (!isAnothers(configuration, installer)) changed();
  };
  const deleted = (configuration: WebhookConfiguration) => {
    if (installer.installation === undefined) updated(configuration);
    else changed();
  };
  const reflectors = phases.map(
    ({ resource }) =>
      new Reflector<WebhookConfiguration>({
        client,
        resource,
        fieldSelector: `metadata.name=${configurationName}`,
        stripManagedFields: true,
        handlers: { updated, deleted },
      }),
  );
  for (const reflector of reflectors) {
    reflector.start();
    // Changes before the watch started produce no event.
    reflector.synced().then(changed, () => {});
  }
  return async () => void (await Promise.all(reflectors.map((reflector) => reflector.stop())));
}

type MappingFor = (scope: readonly ScopeEntry[]) => Promise<ResourceMapping>;

const givenMapping =
  (mapping: () => ResourceMapping): MappingFor =>
  async () =>
    mapping();

/** Queries the API server again if a kind is unknown: its CRD may have been created since. */
function discoveredMapping(client: Client): MappingFor {
  let known: ResourceMapping | undefined;
  return async (scope) => {
    const missing = (mapping: ResourceMapping) =>
      phases.some(
        ({ verb }) =>
          rulesFor({ scope, phase: verb, mapping, platformNamespace: '', breakGlassGroup: '' }).unresolved.length > 0,
      );
    if (scope.length === 0) return known ?? resourceMapping([]);
    if (known === undefined || missing(known)) known = resourceMapping((await discover(client)).resources);
    return known;
  };
}

type Unowned = Omit<ConfigurationsOptions, 'owner'>;

interface Applying extends Unowned {
  readonly owner: OwnerReference | undefined;
  readonly takesOver: boolean;
}

async function applyAll(options: Applying, scope: readonly ScopeEntry[], mapping: ResourceMapping): Promise<Applied> {
  const written: Phase[] = [];
  try {
    for (const phase of phases) {
      written.push(phase);
      await applyOne(options, phase, scope, mapping);
    }
  } catch (error) {
    // A partially installed pair of configurations is useless.
    if (error instanceof ConfigError) for (const phase of written) await removeOne(options, phase).catch(() => {});
    throw error;
  }
  const unresolved = phases.flatMap(({ verb }) => rulesFor({ ...options, scope, phase: verb, mapping }).unresolved);
  return { unresolved };
}

async function applyOne(
  options: Applying,
  phase: Phase,
  scope: readonly ScopeEntry[],
  mapping: ResourceMapping,
): Promise<void> {
  const { client } = options;
  for (;;) {
    const present = await readConfiguration(client, phase.resource);
    if (present !== undefined && options.takesOver && !isOurs(present)) throw foreign(phase.resource);
    if (present !== undefined && !options.takesOver && isAnothers(present, options.installer)) return;
    const wanted = buildConfiguration(phase, { ...options, scope, mapping, bundle: laterBundle(present, options) });
    try {
      if (present === undefined) await client.create(phase.resource, wanted, { fieldManager });
      else if (!holds(present, wanted)) await client.update(phase.resource, over(present, wanted), { fieldManager });
      return;
    } catch (error) {
      // A concurrent write: another replica with a newer bundle, or a process that ends. Try again.
      if (!isConflict(error) && !isNotFound(error) && !isAlreadyExists(error)) throw error;
    }
  }
}

/**
 * Merges the desired configuration over the present one. Server-side apply is not used: the bundle is written by
 * updates, and a webhook with two field managers would not be removed.
 */
function over(present: WebhookConfiguration, wanted: WebhookConfiguration): WebhookConfiguration {
  const { labels, annotations, ownerReferences: _owners, ...metadata } = present.metadata;
  const { [installationAnnotation]: _installation, ...kept } = annotations ?? {};
  return {
    ...wanted,
    metadata: {
      ...metadata,
      ...(wanted.metadata.ownerReferences && { ownerReferences: wanted.metadata.ownerReferences }),
      labels: { ...labels, ...wanted.metadata.labels },
      annotations: { ...kept, ...wanted.metadata.annotations },
    },
  };
}

function holds(present: WebhookConfiguration, wanted: WebhookConfiguration): boolean {
  const { metadata } = over(present, wanted);
  return isDeepStrictEqual(present.metadata, metadata) && isDeepStrictEqual(present.webhooks, wanted.webhooks);
}

const foreign = ({ kind, plural }: Resource): ConfigError =>
  new ConfigError({
    code: 'webhook-configuration',
    message: `A ${kind} named ${configurationName} exists that kidp did not create`,
    hint: `Inspect it with "kubectl get ${plural} ${configurationName} -o yaml" and delete it if it is no longer needed`,
  });

/**
 * Returns the newer of the own and the stored bundle, because another replica may have published since. The stored
 * bundle of a process with other certificates does not verify this one.
 */
function laterBundle(present: WebhookConfiguration | undefined, options: Unowned): Bundle {
  const own = options.bundle();
  if (present === undefined || !options.installer.sharesCertificates || !leadsHere(present, options)) return own;
  const held = heldBundle(present);
  return held.generation > own.generation ? held : own;
}

/**
 * Deletes a configuration if it is still ours. A process that takes over reuses the object with the same UID, so only
 * its content shows the owner.
 */
async function removeOne(options: Unowned, { resource }: Phase): Promise<void> {
  const { client } = options;
  for (;;) {
    const present = await readConfiguration(client, resource);
    if (present === undefined || !isInstalledAs(present, options)) return;
    const { uid, resourceVersion } = present.metadata;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    try {
      return await client.delete(resource, { name: configurationName }, { preconditions });
    } catch (error) {
      if (isNotFound(error)) return;
      // The configuration was changed in the meantime: check again whether it is still ours.
      if (!isConflict(error)) throw error;
    }
  }
}

const isInstalledAs = (present: WebhookConfiguration, options: Unowned): boolean =>
  isInstalledBy(present, options.installer) && leadsHere(present, options);

/** Reports whether every webhook of the configuration points to this target. */
function leadsHere(present: WebhookConfiguration, { target }: Unowned): boolean {
  const here = (path: string) => addressOf(target, path);
  return (present.webhooks ?? []).every(({ clientConfig: { caBundle, ...address } }) =>
    isDeepStrictEqual(address, here(pathOf(address, target))),
  );
}

/** Returns the path of a webhook that points to this target. */
function pathOf(address: Readonly<Record<string, unknown>>, target: ConfigurationsOptions['target']): string {
  if ('url' in target) return String(address.url ?? '').slice(target.url.length);
  const { path } = (address.service ?? {}) as { path?: string };
  return path ?? '';
}

export async function readConfiguration(client: Client, resource: Resource): Promise<WebhookConfiguration | undefined> {
  try {
    return await client.get<WebhookConfiguration>(resource, { name: configurationName });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
