/** Reads, lists and changes objects on the API server with the identity of the caller. */
import type { Kind } from '../api/index.ts';
import { ApiError, apiVersionOf, type Client, type KubernetesObject, type ObjectMeta } from '../runtime/index.ts';
import { Problem, type StatusDetails } from '../runtime/internal.ts';
import { notFound } from './problems.ts';
import type { Call } from './route.ts';

interface ApiObject extends KubernetesObject {
  spec: object;
  status?: object;
}

const pathOf = ({ resource }: Kind, name?: string): string =>
  `/apis/${apiVersionOf(resource)}/${resource.plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;

interface Written<T> {
  readonly object: T;
  /** Warnings of admission and the API server. */
  readonly warnings: readonly string[];
}

export function create<T extends ApiObject>(
  { client, signal }: Call,
  kind: Kind,
  object: { metadata: ObjectMeta; spec: object },
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<Written<T>> {
  return write(client, {
    method: 'POST',
    path: pathOf(kind),
    query: { fieldValidation: 'Strict', fieldManager: 'kidp-rest', ...(dryRun ? { dryRun: 'All' } : {}) },
    body: { apiVersion: apiVersionOf(kind.resource), kind: kind.kind, ...object },
    signal,
  });
}

/** `patchSpec` requires the uid of the object that was read: an object re-created with the same name is not changed. */
export function patchSpec<T extends ApiObject>(
  { client, signal }: Call,
  kind: Kind,
  { metadata }: KubernetesObject,
  spec: object,
): Promise<Written<T>> {
  return write(client, {
    method: 'PATCH',
    path: pathOf(kind, metadata.name),
    query: { fieldManager: 'kidp-rest' },
    contentType: 'application/merge-patch+json',
    body: { metadata: { uid: metadata.uid }, spec },
    signal,
  });
}

export function update<T extends ApiObject>({ client, signal }: Call, kind: Kind, object: T): Promise<Written<T>> {
  return write(client, {
    method: 'PUT',
    path: pathOf(kind, object.metadata.name),
    query: { fieldManager: 'kidp-rest' },
    body: object,
    signal,
  });
}

async function write<T>(client: Client, request: Parameters<Client['request']>[0]): Promise<Written<T>> {
  const { status, text, warnings } = await client.request(request);
  if (status < 300) return { object: JSON.parse(text) as T, warnings };
  let answer: { message?: string; reason?: string; details?: StatusDetails } = {};
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    // A proxy in front of the API server answered, without a Status object.
  }
  const { message = `status ${status}`, reason = 'Unknown', details = {} } = answer;
  throw new ApiError({ doing: 'write', status, reason, message, details });
}

export async function remove({ client, signal }: Call, kind: Kind, { metadata }: KubernetesObject): Promise<void> {
  await client.delete(
    kind.resource,
    { name: metadata.name },
    {
      signal,
      ...(metadata.uid === undefined ? {} : { preconditions: { uid: metadata.uid } }),
    },
  );
}

export async function get<T extends ApiObject>({ client, signal }: Call, kind: Kind, name: string): Promise<T> {
  try {
    return await client.get<T>(kind.resource, { name }, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) throw notFound(kind.kind, name);
    throw error;
  }
}

/** Returns undefined if the object does not exist. */
export const orNothing = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: unknown) => {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  });

interface Page<T> {
  readonly items: readonly T[];
  readonly continue?: string;
}

/**
 * `page` lists one page. With the filter `keep` a page can be shorter than `limit`, but it is empty only at the end of
 * the list.
 */
export async function page<T extends ApiObject>(
  { client, query, signal }: Call,
  kind: Kind,
  keep: (object: T) => boolean = () => true,
): Promise<Page<T>> {
  const { limit = defaultLimit, continue: from } = query as { limit?: number; continue?: string };
  for (let next = from; ; ) {
    const list = await client.list<T>(kind.resource, {
      limit,
      signal,
      ...(next === undefined || next === '' ? {} : { continue: next }),
    });
    const items = list.items.filter(keep);
    next = list.metadata.continue;
    if (next === undefined || next === '') return { items };
    if (items.length > 0) return { items, continue: next };
  }
}

export const mostPerPage = 500;
const defaultLimit = 100;

/** `all` lists every object of a kind, page by page. */
export async function all<T extends ApiObject>(
  { client, signal }: Call,
  kind: Kind,
  labelSelector?: string,
): Promise<readonly T[]> {
  const items: T[] = [];
  for (let next: string | undefined; ; ) {
    const list = await client.list<T>(kind.resource, {
      limit: mostPerPage,
      signal,
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(next === undefined ? {} : { continue: next }),
    });
    items.push(...list.items);
    next = list.metadata.continue;
    if (next === undefined || next === '') return items;
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Cached names by uid. They are only hints: the object is always read. */
const seen = new Map<string, string>();
const mostSeen = 50_000;
const lookedAtOnce = 50;

function remember(objects: Iterable<KubernetesObject>): void {
  for (const { metadata } of objects) {
    if (metadata.uid === undefined) continue;
    seen.delete(metadata.uid);
    seen.set(metadata.uid, metadata.name);
    if (seen.size > mostSeen) seen.delete(seen.keys().next().value ?? '');
  }
}

/**
 * `find` reads an object by `metadata.uid` or, if `id` is not a uid, by name. Kubernetes cannot look up a uid, so an
 * uncached uid is searched in the list.
 */
export async function find<T extends ApiObject>(call: Call, kind: Kind, id: string): Promise<T> {
  if (!uuid.test(id)) return get<T>(call, kind, id);
  const known = seen.get(id);
  if (known !== undefined) {
    const object = await orNothing(get<T>(call, kind, known));
    if (object?.metadata.uid === id) return object;
  }
  // Searches page by page and keeps only names, because the size of all objects is unbounded.
  const { client, signal } = call;
  for (let next: string | undefined; ; ) {
    const list = await client.list<T>(kind.resource, {
      limit: lookedAtOnce,
      signal,
      ...(next === undefined ? {} : { continue: next }),
    });
    remember(list.items);
    const found = list.items.find(({ metadata }) => metadata.uid === id);
    if (found !== undefined) return found;
    next = list.metadata.continue;
    if (next === undefined || next === '') throw notFound(kind.kind, id);
  }
}

/** `shown` converts an object to its response, without the fields that Kubernetes manages. */
export function shown(
  object: ApiObject,
  {
    without = [],
    withoutStatus = [],
    warnings = [],
  }: { without?: readonly string[]; withoutStatus?: readonly string[]; warnings?: readonly string[] } = {},
): Record<string, unknown> {
  const { uid, name, labels, creationTimestamp, deletionTimestamp } = object.metadata;
  remember([object]);
  return {
    id: uid,
    name,
    ...(labels === undefined ? {} : { labels }),
    createdAt: creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletingSince: deletionTimestamp }),
    ...leftOut(object.spec, without),
    ...(object.status === undefined ? {} : { status: leftOut(object.status, withoutStatus) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

const leftOut = (value: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
