/** Discovery: the kinds that an API server serves, with their plurals. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Resource } from '../objects/object.ts';
import type { Client } from './client.ts';

export interface ServedResource extends Resource {
  /** `get`, `list`, `watch`, `create` …; none where they are not known. */
  readonly verbs: readonly string[];
  /** `status`, `scale`, `exec` …, without the resource's own name. */
  readonly subresources: readonly string[];
  /** Whether it is in the version of its group that the server prefers. */
  readonly preferred: boolean;
}

interface Discovery {
  readonly resources: readonly ServedResource[];
  /** The group versions that did not answer, such as that of an aggregated API server that is away. */
  readonly failed: readonly string[];
}

/** Kinds and plurals as of one moment. */
export interface ResourceMapping {
  readonly resources: readonly ServedResource[];
  /** `version` left out: the preferred one that has the kind. */
  byKind(group: string, kind: string, version?: string): ServedResource | undefined;
  byPlural(group: string, plural: string, version?: string): ServedResource | undefined;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly preferred: boolean;
}

interface GroupList {
  groups?: { name: string; versions?: { version: string }[]; preferredVersion?: { version: string } }[];
}

interface ResourceList {
  resources?: { name: string; kind: string; namespaced?: boolean; verbs?: string[] }[];
}

/** Group versions that come or go meanwhile are listed before, or after, they answer. */
const retryMilliseconds = [100, 300, 1_000];

interface DiscoverOptions {
  readonly signal?: AbortSignal;
  /** Asks again for group versions that do not answer. A caller that discovers again anyway does not wait for them. */
  readonly retries?: boolean;
}

/** `discover` lists all resources, with one request per group version. It rejects if the list of groups cannot be read. */
export async function discover(
  client: Client,
  { retries = false, ...options }: DiscoverOptions = {},
): Promise<Discovery> {
  let { resources, failed } = await resourcesOf(await groupVersionsOf(client, options), client, options);
  for (const milliseconds of retries ? retryMilliseconds : []) {
    if (failed.length === 0) break;
    await sleep(milliseconds, undefined, options);
    const names = new Set(failed.map(nameOf));
    const left = (await groupVersionsOf(client, options)).filter((each) => names.has(nameOf(each)));
    const more = await resourcesOf(left, client, options);
    resources = [...resources, ...more.resources];
    failed = more.failed;
  }
  return { resources, failed: failed.map(nameOf) };
}

async function resourcesOf(groups: readonly GroupVersion[], client: Client, options: { signal?: AbortSignal }) {
  const failed: GroupVersion[] = [];
  const found = await Promise.all(
    groups.map(async (each) => {
      const path = each.group === '' ? `/api/${each.version}` : `/apis/${each.group}/${each.version}`;
      try {
        return servedBy(await read<ResourceList>(client, path, options), each);
      } catch (error) {
        if (options.signal?.aborted === true) throw error;
        failed.push(each);
        return [];
      }
    }),
  );
  return { resources: found.flat(), failed };
}

const nameOf = ({ group, version }: GroupVersion): string => (group === '' ? version : `${group}/${version}`);

export function resourceMapping(resources: readonly ServedResource[]): ResourceMapping {
  const kinds = new Map<string, ServedResource>();
  const plurals = new Map<string, ServedResource>();
  for (const resource of resources) {
    const { group, version, kind, plural } = resource;
    kinds.set(keyOf(group, version, kind), resource);
    plurals.set(keyOf(group, version, plural), resource);
    for (const [names, name] of [
      [kinds, kind],
      [plurals, plural],
    ] as const) {
      const any = keyOf(group, '', name);
      if (resource.preferred || !names.has(any)) names.set(any, resource);
    }
  }
  return {
    resources,
    byKind: (group, kind, version = '') => kinds.get(keyOf(group, version, kind)),
    byPlural: (group, plural, version = '') => plurals.get(keyOf(group, version, plural)),
  };
}

/** The part of a CustomResourceDefinition that says what is served. */
export interface DefinitionLike {
  readonly spec?: {
    readonly group?: string;
    readonly scope?: string;
    readonly names?: { readonly plural?: string; readonly kind?: string };
    readonly versions?: readonly {
      readonly name?: string;
      readonly served?: boolean;
      readonly subresources?: object;
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type?: string; readonly status?: string }[] };
}

const ofCustomResources = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** What the API server serves because of a definition: known from the definition itself, without asking again. */
export function servedByDefinition({ spec, status }: DefinitionLike): ServedResource[] {
  const { group, scope, names, versions = [] } = spec ?? {};
  const { plural, kind } = names ?? {};
  const established = status?.conditions?.some(({ type, status: state }) => type === 'Established' && state === 'True');
  if (established !== true || group === undefined || plural === undefined || kind === undefined) return [];
  const served = versions.flatMap(({ name, served: isServed, subresources }) =>
    name === undefined || isServed !== true ? [] : [{ name, subresources: Object.keys(subresources ?? {}) }],
  );
  const [preferred] = served.map(({ name }) => name).sort(byPriority);
  return served.map(({ name, subresources }) => ({
    group,
    version: name,
    plural,
    kind,
    namespaced: scope === 'Namespaced',
    verbs: ofCustomResources,
    subresources,
    preferred: name === preferred,
  }));
}

/** As the API server orders versions: stable ones before beta before alpha, later ones first, other names last. */
function byPriority(one: string, other: string): number {
  const [a, b] = [priorityOf(one), priorityOf(other)];
  for (const [index, value] of a.entries()) if (value !== b[index]) return (b[index] ?? 0) - value;
  return one < other ? -1 : 1;
}

function priorityOf(version: string): readonly number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const stability = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}

async function groupVersionsOf(client: Client, options: { signal?: AbortSignal }): Promise<GroupVersion[]> {
  const [core, named] = await Promise.all([
    read<{ versions?: string[] }>(client, '/api', options),
    read<GroupList>(client, '/apis', options),
  ]);
  return [
    ...(core.versions ?? []).map((version, index) => ({ group: '', version, preferred: index === 0 })),
    ...(named.groups ?? []).flatMap(({ name, versions = [], preferredVersion }) =>
      versions.map(({ version }) => ({ group: name, version, preferred: version === preferredVersion?.version })),
    ),
  ];
}

function servedBy({ resources = [] }: ResourceList, at: GroupVersion): ServedResource[] {
  const subresources = new Map<string, string[]>();
  for (const { name } of resources) {
    const [plural = '', ...rest] = name.split('/');
    if (rest.length > 0) subresources.set(plural, [...(subresources.get(plural) ?? []), rest.join('/')]);
  }
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      ...at,
      plural: name,
      kind,
      namespaced: namespaced === true,
      verbs: verbs ?? [],
      subresources: subresources.get(name) ?? [],
    }));
}

async function read<T>(client: Client, path: string, { signal }: { signal?: AbortSignal }): Promise<T> {
  const { status, text } = await client.request({ method: 'GET', path, ...(signal === undefined ? {} : { signal }) });
  if (status !== 200) throw new Error(`GET ${path}: the server answered ${status}`);
  return JSON.parse(text) as T;
}

const keyOf = (group: string, version: string, name: string): string => `${group}/${version}/${name}`;
