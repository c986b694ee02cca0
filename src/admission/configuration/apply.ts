/**
 * Keeps the webhook configurations of a cluster in line with what policies match. One writes: the replica that leads, or the only
 * one there is. Whatever one run has left behind, the next takes over; what somebody else has made under the same name is left
 * alone and reported. An installation puts its own back whoever has changed or removed them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ScopeEntry } from '../../policy/internal.ts';
import {
  type Client,
  ConfigError,
  isAlreadyExists,
  isConflict,
  isNotFound,
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

interface ConfigurationsOptions extends Omit<ConfigurationOptions, 'scope' | 'mapping' | 'bundle'> {
  readonly client: Client;
  /** As of now: certificates rotate. */
  readonly bundle: () => Bundle;
  /** Kinds and plurals as somebody else keeps them; without it the API server is asked. */
  readonly mapping?: (() => ResourceMapping) | undefined;
}

export interface Applied {
  /** What policies match and the cluster does not serve (yet): apply again when it may. */
  readonly unresolved: readonly ScopeEntry[];
}

export interface Configurations {
  /**
   * Brings the configurations in line. Only what differs is written; calls follow one another. The first takes over what another run
   * has left; after that, what another run has taken over is left to it.
   */
  apply(scope: readonly ScopeEntry[]): Promise<Applied>;
  /** Calls back when somebody may have changed or removed one, so that it can be put back. Returns what ends it. */
  watch(changed: () => void): () => Promise<void>;
  /** Removes them, unless somebody has put others in their place. */
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
        const applied = await applyAll({ ...options, takesOver: !taken }, scope, await mappingFor(scope));
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
 * Unless it is another's: what another has taken over is that one's to put back, and to remove. Only an installation puts back even
 * what another has removed, which may have been the last that it did.
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
    // What has become of it before the watch began is told by no event.
    reflector.synced().then(changed, () => {});
  }
  return async () => void (await Promise.all(reflectors.map((reflector) => reflector.stop())));
}

type MappingFor = (scope: readonly ScopeEntry[]) => Promise<ResourceMapping>;

const givenMapping =
  (mapping: () => ResourceMapping): MappingFor =>
  async () =>
    mapping();

/** Asked again where a kind is not known: its CRD may have come since. */
function discoveredMapping(client: Client): MappingFor {
  let known: ResourceMapping | undefined;
  return async (scope) => {
    const missing = (mapping: ResourceMapping) =>
      phases.some(({ verb }) => rulesFor({ scope, phase: verb, mapping, platformNamespace: '' }).unresolved.length > 0);
    if (scope.length === 0) return known ?? resourceMapping([]);
    if (known === undefined || missing(known)) known = resourceMapping((await discover(client)).resources);
    return known;
  };
}

interface Applying extends ConfigurationsOptions {
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
    // Half of a webhook that is not ours to complete is of no use.
    if (error instanceof ConfigError) for (const phase of written) await removeOne(options, phase).catch(() => {});
    throw error;
  }
  const { platformNamespace } = options;
  const unresolved = phases.flatMap(
    ({ verb }) => rulesFor({ scope, phase: verb, mapping, platformNamespace }).unresolved,
  );
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
      // Somebody was faster: another replica with a later bundle, or a run that ends.
      if (!isConflict(error) && !isNotFound(error) && !isAlreadyExists(error)) throw error;
    }
  }
}

/** Not by server-side apply: the bundle is written by updates, and what two managers own would not go with a webhook that goes. */
function over(present: WebhookConfiguration, wanted: WebhookConfiguration): WebhookConfiguration {
  const { labels, annotations } = present.metadata;
  const { [installationAnnotation]: _, ...kept } = annotations ?? {};
  return {
    ...wanted,
    metadata: {
      ...present.metadata,
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
    message: `A ${kind} ${configurationName} exists that kidp has not made`,
    hint: `Look at it with "kubectl get ${plural} ${configurationName} -o yaml", and delete it if nobody needs it`,
  });

/**
 * Another replica may have published since this one read its certificates. What a run with others has left, or has written over ours,
 * verifies nothing of ours.
 */
function laterBundle(present: WebhookConfiguration | undefined, options: ConfigurationsOptions): Bundle {
  const own = options.bundle();
  if (present === undefined || !options.installer.sharesCertificates || !leadsHere(present, options)) return own;
  const held = heldBundle(present);
  return held.generation > own.generation ? held : own;
}

/** A run that takes over writes the same object, under the same uid: only what stands in it tells whose it is. */
async function removeOne(options: ConfigurationsOptions, { resource }: Phase): Promise<void> {
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
      // Written since: look again whether it is still ours.
      if (!isConflict(error)) throw error;
    }
  }
}

const isInstalledAs = (present: WebhookConfiguration, options: ConfigurationsOptions): boolean =>
  isInstalledBy(present, options.installer) && leadsHere(present, options);

/** Whether every webhook in it is one of ours, by where it is called. */
function leadsHere(present: WebhookConfiguration, { target }: ConfigurationsOptions): boolean {
  const here = (path: string) => addressOf(target, path);
  return (present.webhooks ?? []).every(({ clientConfig: { caBundle, ...address } }) =>
    isDeepStrictEqual(address, here(pathOf(address, target))),
  );
}

/** The path that a webhook is called by, if it is one of ours. */
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
