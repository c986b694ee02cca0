/**
 * CustomResourceDefinitions are applied outside of every release, first, and only forward: deleting or narrowing a
 * definition deletes custom resources (a `helm rollback` has done that).
 */
import { isDeepStrictEqual } from 'node:util';
import { type Crd, compareCrds } from '../../crd-compat/index.ts';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { compareVersions } from '../charts/semver.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { type Deadline, waitUntil } from './wait.ts';

export const fieldManager = 'kidp-rollout';
/** The operator version that last applied the definition. */
export const versionAnnotation = 'platform.company.com/operator-version';

export const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export interface Definition extends UnknownObject {
  spec: {
    group?: string;
    names?: { plural?: string; kind?: string };
    scope?: string;
    versions?: readonly DefinitionVersion[];
    conversion?: Conversion;
    [field: string]: unknown;
  };
  status?: {
    conditions?: { type: string; status: string; message?: string }[];
    storedVersions?: readonly string[];
  };
}

interface DefinitionVersion {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly schema?: unknown;
}

export interface Conversion {
  readonly strategy?: string;
  readonly webhook?: {
    readonly conversionReviewVersions?: readonly string[];
    readonly clientConfig?: {
      readonly url?: string;
      readonly service?: { readonly namespace?: string; readonly name?: string };
      readonly caBundle?: string;
    };
  };
}

/** cert-manager injects the CA of the conversion webhook; these annotations belong to the converter. */
const injecting = 'cert-manager.io/inject-';

export const injectionsOf = ({ metadata }: UnknownObject): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith(injecting)));

interface DefinitionOptions extends Deadline {
  /**
   * For a blue-green side: the current converter stays until the switch, and the storage version stays until the other
   * side, which reads no other version, is removed.
   */
  readonly beside?: boolean;
}

/** `applyDefinitions` applies all definitions and waits until they are served. */
export async function applyDefinitions(client: Client, snapshot: Snapshot, options: DefinitionOptions): Promise<void> {
  const definitions = snapshot.definitions as readonly Definition[];
  for (const definition of definitions) await applyDefinition(client, definition, snapshot.version, options);
  for (const { metadata } of definitions) await untilServed(client, metadata.name, options);
}

async function applyDefinition(
  client: Client,
  definition: Definition,
  version: string,
  { beside = false }: DefinitionOptions,
): Promise<void> {
  const live = await definitionOf(client, definition.metadata.name);
  const made = beside && live !== undefined ? besideOther(definition, live) : definition;
  const annotations = { ...made.metadata.annotations, [versionAnnotation]: version };
  const wanted: Definition = { ...made, metadata: { ...made.metadata, annotations } };
  if (live !== undefined && !goesForward(live, wanted, version)) return;
  await client.apply(definitionResource, wanted, { fieldManager, force: true });
}

function besideOther(definition: Definition, live: Definition): Definition {
  const kept = { ...definition, spec: { ...definition.spec, versions: storedAs(definition, live) } };
  // Without a conversion, versions that differ must not be stored before their converter runs, or data would be lost.
  if (!isConverted(live) && isConverted(definition) && !areAlike(definition)) return kept;
  const own = Object.entries(definition.metadata.annotations ?? {}).filter(([name]) => !name.startsWith(injecting));
  const annotations = { ...Object.fromEntries(own), ...injectionsOf(live) };
  const conversion = live.spec.conversion ?? { strategy: 'None' };
  return { ...kept, metadata: { ...definition.metadata, annotations }, spec: { ...kept.spec, conversion } };
}

const isConverted = ({ spec }: Definition): boolean => spec.conversion?.strategy === 'Webhook';

const storageOf = ({ spec }: Definition): string | undefined => spec.versions?.find(({ storage }) => storage)?.name;

/** The new versions, with the current storage version if it still exists. */
function storedAs({ spec }: Definition, live: Definition): readonly DefinitionVersion[] {
  const { versions = [] } = spec;
  const now = storageOf(live);
  if (!versions.some(({ name }) => name === now)) return versions;
  return versions.map((version) => ({ ...version, storage: version.name === now }));
}

/** `settleStorage` sets the storage version of this side once the other side is removed. */
export async function settleStorage(client: Client, { definitions, version }: Snapshot): Promise<void> {
  for (const { metadata, spec } of definitions as readonly Definition[]) {
    const live = await definitionOf(client, metadata.name);
    if (live?.metadata.annotations?.[versionAnnotation] !== version) continue;
    const storage = spec.versions?.find((each) => each.storage)?.name;
    const { versions = [] } = live.spec;
    if (storageOf(live) === storage || !versions.some(({ name }) => name === storage)) continue;
    const body = {
      metadata: { resourceVersion: live.metadata.resourceVersion },
      spec: { versions: versions.map((each) => ({ ...each, storage: each.name === storage })) },
    };
    await client.patch(definitionResource, { name: metadata.name }, { type: 'merge', body }, { fieldManager });
  }
}

/** Whether all versions have the same schema. */
export function areAlike({ spec, status }: Definition): boolean {
  const { versions = [] } = spec;
  const stored = new Set(status?.storedVersions);
  const used = versions.filter(({ name, served, storage }) => served === true || storage === true || stored.has(name));
  const [first, ...rest] = used.map(({ schema }) => withoutDescriptions(schema));
  return rest.every((schema) => isDeepStrictEqual(schema, first));
}

/** Descriptions do not matter for compatibility. */
function withoutDescriptions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions);
  if (typeof schema !== 'object' || schema === null) return schema;
  const said = Object.entries(schema).filter(([key, value]) => key !== 'description' || typeof value !== 'string');
  return Object.fromEntries(said.map(([key, value]) => [key, withoutDescriptions(value)]));
}

/**
 * A definition of a newer operator version is kept, unless the older one accepts everything it accepts. Breaking
 * changes on the way forward were approved before.
 */
function goesForward(live: Definition, wanted: Definition, version: string): boolean {
  const there = live.metadata.annotations?.[versionAnnotation];
  if (there === undefined || compareVersions(there, version) <= 0) return true;
  return compareCrds(asCrd(live), asCrd(wanted), { witnesses: false }).verdict === 'safe';
}

const asCrd = (definition: Definition): Crd => definition as unknown as Crd;

export async function definitionOf(client: Client, name: string): Promise<Definition | undefined> {
  try {
    return await client.get<Definition>(definitionResource, { name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function untilServed(client: Client, name: string, waiting: Deadline): Promise<void> {
  let last = 'it does not exist';
  const isServed = await waitUntil(waiting, async () => {
    const definition = await definitionOf(client, name);
    const conditions = definition?.status?.conditions ?? [];
    const is = (type: string) => conditions.find((each) => each.type === type);
    last =
      is('NamesAccepted')?.status === 'False' ? (is('NamesAccepted')?.message ?? last) : 'it is not established yet';
    return is('Established')?.status === 'True' && (await isInDiscovery(client, definition));
  });
  if (!isServed) throw new FleetError('helm/timeout', `CustomResourceDefinition ${name} is not served: ${last}`);
}

/** Helm reads the discovery once; a kind that appears later does not exist for it. */
async function isInDiscovery(client: Client, definition: Definition | undefined): Promise<boolean> {
  const { group, versions = [], names } = definition?.spec ?? {};
  for (const { name } of versions.filter(({ served }) => served)) {
    const { status, text } = await client.request({ method: 'GET', path: `/apis/${group}/${name}` });
    if (status !== 200) return false;
    const { resources = [] } = JSON.parse(text) as { resources?: { name: string }[] };
    if (!resources.some((each) => each.name === names?.plural)) return false;
  }
  return true;
}
