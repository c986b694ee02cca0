/**
 * CustomResourceDefinitions, outside of every release: applied before all else and only ever forward, because a definition that goes or
 * is narrowed takes custom resources with it (a `helm rollback` has done that).
 */
import { isDeepStrictEqual } from 'node:util';
import { type Crd, compareCrds } from '../../crd-compat/index.ts';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { compareVersions } from '../charts/semver.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { type Deadline, waitUntil } from './wait.ts';

export const fieldManager = 'kidp-rollout';
/** On a definition: which version of its operator has put it there as it is. */
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

/** Whose authority is put into the conversion: it goes with who converts. */
const injecting = 'cert-manager.io/inject-';

export const injectionsOf = ({ metadata }: UnknownObject): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith(injecting)));

interface DefinitionOptions extends Deadline {
  /**
   * For a side of a blue-green deployment: whoever converts objects now goes on until the switch, and they are stored as they are until the
   * other side is gone, which reads no other version.
   */
  readonly beside?: boolean;
}

/** All of them, and then until all of them are served. */
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
  // Where nobody converts yet, versions that differ are converted by who knows them, or not at all: as they are, they would lose something.
  if (!isConverted(live) && isConverted(definition) && !areAlike(definition)) return kept;
  const own = Object.entries(definition.metadata.annotations ?? {}).filter(([name]) => !name.startsWith(injecting));
  const annotations = { ...Object.fromEntries(own), ...injectionsOf(live) };
  const conversion = live.spec.conversion ?? { strategy: 'None' };
  return { ...kept, metadata: { ...definition.metadata, annotations }, spec: { ...kept.spec, conversion } };
}

const isConverted = ({ spec }: Definition): boolean => spec.conversion?.strategy === 'Webhook';

const storageOf = ({ spec }: Definition): string | undefined => spec.versions?.find(({ storage }) => storage)?.name;

/** Its versions, and objects are stored in the one that they are stored in now, where it still has that. */
function storedAs({ spec }: Definition, live: Definition): readonly DefinitionVersion[] {
  const { versions = [] } = spec;
  const now = storageOf(live);
  if (!versions.some(({ name }) => name === now)) return versions;
  return versions.map((version) => ({ ...version, storage: version.name === now }));
}

/** The other side is gone: from now on objects are stored as this one says. */
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

/** There is one version only, or an object of one is an object of the other. */
export function areAlike({ spec, status }: Definition): boolean {
  const { versions = [] } = spec;
  const stored = new Set(status?.storedVersions);
  const used = versions.filter(({ name, served, storage }) => served === true || storage === true || stored.has(name));
  const [first, ...rest] = used.map(({ schema }) => withoutWords(schema));
  return rest.every((schema) => isDeepStrictEqual(schema, first));
}

/** What a schema says to people. */
function withoutWords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (typeof schema !== 'object' || schema === null) return schema;
  const said = Object.entries(schema).filter(([key, value]) => key !== 'description' || typeof value !== 'string');
  return Object.fromEntries(said.map(([key, value]) => [key, withoutWords(value)]));
}

/**
 * What a newer version of the operator has put there is left alone, unless all that it takes is taken by the older one too. What
 * breaks on the way forward was approved before it came here.
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
  let last = 'it is not there';
  const isServed = await waitUntil(waiting, async () => {
    const definition = await definitionOf(client, name);
    const conditions = definition?.status?.conditions ?? [];
    const is = (type: string) => conditions.find((each) => each.type === type);
    last =
      is('NamesAccepted')?.status === 'False' ? (is('NamesAccepted')?.message ?? last) : 'it is not established yet';
    return is('Established')?.status === 'True' && (await isInDiscovery(client, definition));
  });
  if (!isServed) throw new FleetError('helm/timeout', `The definition ${name} is not served: ${last}`);
}

/** Helm asks what kinds there are, once; one that comes a moment later does not exist for it. */
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
