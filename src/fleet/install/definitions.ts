/**
 * CustomResourceDefinitions, outside of every release: applied before all else and only ever forward, because a definition that goes or
 * is narrowed takes custom resources with it (a `helm rollback` has done that).
 */
import { type Crd, compareCrds } from '../../crd-compat/index.ts';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { compareVersions } from '../charts/semver.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { until, type Waiting } from './until.ts';

export const fieldManager = 'kidp-rollout';
/** On a definition: which version of its operator has put it there as it is. */
const versionAnnotation = 'platform.company.com/operator-version';

export const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

interface Definition extends UnknownObject {
  spec: { conversion?: Readonly<Record<string, unknown>>; names?: unknown; [field: string]: unknown };
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

export interface DefinitionOptions extends Waiting {
  /** Whoever converts objects now goes on until the switch of a blue-green deployment. */
  readonly keepConversion?: boolean;
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
  { keepConversion = false }: DefinitionOptions,
): Promise<void> {
  const live = await definitionOf(client, definition.metadata.name);
  const conversion = keepConversion && live !== undefined ? (live.spec.conversion ?? { strategy: 'None' }) : undefined;
  const wanted: Definition = {
    ...definition,
    metadata: {
      ...definition.metadata,
      annotations: { ...definition.metadata.annotations, [versionAnnotation]: version },
    },
    spec: { ...definition.spec, ...(conversion === undefined ? {} : { conversion }) },
  };
  if (live !== undefined && !goesForward(live, wanted, version)) return;
  await client.apply(definitionResource, wanted, { fieldManager, force: true });
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

/** The conversion webhooks of a snapshot's definitions lead to its own namespace: from now on they are asked. */
export async function switchConversions(client: Client, snapshot: Snapshot): Promise<void> {
  for (const { metadata, spec } of snapshot.definitions as readonly Definition[]) {
    const live = await definitionOf(client, metadata.name);
    const conversion = spec.conversion;
    if (live === undefined || conversion === undefined) continue;
    const body = { spec: { conversion } };
    await client.patch(definitionResource, { name: metadata.name }, { type: 'merge', body }, { fieldManager });
  }
}

export async function definitionOf(client: Client, name: string): Promise<Definition | undefined> {
  try {
    return await client.get<Definition>(definitionResource, { name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function untilServed(client: Client, name: string, waiting: Waiting): Promise<void> {
  let last = 'it is not there';
  const isServed = await until(waiting, async () => {
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
  const { group, versions, names } = (definition?.spec ?? {}) as {
    group?: string;
    versions?: readonly { name: string; served: boolean }[];
    names?: { plural?: string };
  };
  for (const { name } of (versions ?? []).filter(({ served }) => served)) {
    const { status, text } = await client.request({ method: 'GET', path: `/apis/${group}/${name}` });
    if (status !== 200) return false;
    const { resources = [] } = JSON.parse(text) as { resources?: { name: string }[] };
    if (!resources.some((each) => each.name === names?.plural)) return false;
  }
  return true;
}
