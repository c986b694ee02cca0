/**
 * Reads the stored objects of a definition page by page from all namespaces, until all are checked or the time is up.
 * Each page is released before the next one is requested. The result states how many were checked. The size of a page
 * is bounded, whatever the size of the objects.
 */

import type { AskAuthorizer } from '../../../policy/index.ts';
import { type Client, ConnectionError, type Resource } from '../../../runtime/index.ts';
import { resourcePath } from '../../../runtime/internal.ts';
import type { Json } from '../../review/decode.ts';
import { lookupFailure } from '../lookup-failure.ts';
import type { StoredCount } from './comparison.ts';
import type { Comparer } from './comparison-pool.ts';
import { isEstablished, liveDefinition, resourceOf } from './definition.ts';

export interface Stored extends StoredCount {
  /** The resource that the objects were read from. */
  readonly resource?: Resource | undefined;
  /** The total number of objects, as far as it is known. */
  readonly total: number;
  /** Why not all objects were checked; undefined if they were. */
  readonly incomplete: string | undefined;
}

interface StoredQuestion {
  /** The client; without it, no objects are read, for this reason. */
  readonly client: Client | { readonly none: string };
  /** The name of the definition. */
  readonly name: string;
  readonly comparer: Pick<Comparer, 'add'>;
  readonly signal: AbortSignal;
}

const none: StoredCount = { checked: 0, broken: 0, first: [] };
/** The first page shows the size of the objects. */
const firstPage = 10;
const largestPage = 500;
const wantedBytes = 4 * 1024 * 1024;
/** The largest page. A larger one is discarded and requested again with a lower limit. */
const mostBytes = 8 * 1024 * 1024;
const step = 8;

/** Where the objects are, or why they cannot be read. */
type Source = { readonly resource: Resource; readonly path: string; readonly definition: Json };

async function sourceOf(client: Client, name: string, signal: AbortSignal): Promise<Source | string> {
  const definition = await liveDefinition(client, name, signal);
  if (definition === undefined) return 'the cluster has no CustomResourceDefinition of this name';
  const resource = resourceOf(definition);
  if (resource === undefined) return 'no version is served, so they cannot be read';
  return { resource, path: resourcePath(resource, {}), definition };
}

export async function readStored({ client, name, comparer, signal }: StoredQuestion): Promise<Stored> {
  let count = none;
  let total = 0;
  let resource: Resource | undefined;
  const stop = (incomplete: string): Stored => ({
    ...count,
    resource,
    total: Math.max(total, count.checked),
    incomplete,
  });
  if ('none' in client) return stop(client.none);
  try {
    const source = await sourceOf(client, name, signal);
    if (typeof source === 'string') return stop(source);
    const { path, definition } = source;
    resource = source.resource;
    for (let next: string | undefined, limit = firstPage; ; ) {
      const answer = await pageOf(client, path, { limit, next, signal });
      if (answer === undefined) {
        limit = Math.ceil(limit / step);
        continue;
      }
      const { status, text } = answer;
      if (status === 404 && !isEstablished(definition)) return { ...none, total: 0, incomplete: undefined };
      if (status !== 200) return stop(`GET ${path} returned ${status}${messageIn(text)}`);
      const page = await comparer.add(text);
      count = page.count;
      total = count.checked + (page.remaining ?? 0);
      if (page.next === undefined) return { ...count, resource, total: count.checked, incomplete: undefined };
      next = page.next;
      limit = Math.min(limit * step, limitFor(text.length, page.objects));
    }
  } catch (error) {
    if (signal.aborted) return stop('the time limit was reached');
    return stop(lookupFailure(error));
  }
}

/**
 * `readableTo` leaves out the values of objects that the user must not read: of those, only the name and the paths are
 * reported.
 */
export async function readableTo(ask: AskAuthorizer, stored: Stored): Promise<Stored> {
  const { resource, first } = stored;
  if (resource === undefined || first.length === 0) return stored;
  const answers = await ask(
    first.map(({ namespace = '', name }) => ({
      kind: 'resource' as const,
      subject: 'requester' as const,
      verb: 'get',
      group: resource.group,
      resource: resource.plural,
      subresource: '',
      namespace,
      name,
      fieldSelector: '',
      labelSelector: '',
    })),
  ).catch(() => []);
  const shown = first.map((object, index) =>
    answers[index]?.allowed === true ? object : { ...object, reasons: object.paths.map(withoutValue) },
  );
  return { ...stored, first: shown };
}

const withoutValue = (path: string): string =>
  `${path === '' ? 'the object' : path} (the value is shown to users who can get the object)`;

/** `countStored` counts the objects without reading them. */
export async function countStored({
  client,
  name,
  signal,
}: Omit<StoredQuestion, 'comparer'>): Promise<{ total: number; first: string } | { unknown: string }> {
  if ('none' in client) return { unknown: client.none };
  try {
    const source = await sourceOf(client, name, signal);
    if (typeof source === 'string') return { unknown: source };
    const { path, definition } = source;
    const { status, text } = await list(client, path, { limit: 1, signal });
    if (status === 404 && !isEstablished(definition)) return { total: 0, first: '' };
    if (status !== 200) return { unknown: `GET ${path} returned ${status}${messageIn(text)}` };
    const { items, metadata } = JSON.parse(text) as {
      items?: { metadata?: { namespace?: string; name?: string } }[] | null;
      metadata?: { remainingItemCount?: number };
    };
    const [first] = items ?? [];
    const key = [first?.metadata?.namespace, first?.metadata?.name].filter((part) => part !== undefined).join('/');
    return { total: (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0), first: key };
  } catch (error) {
    if (signal.aborted) return { unknown: 'the time limit was reached' };
    return { unknown: lookupFailure(error) };
  }
}

interface PageRequest {
  readonly limit: number;
  readonly next?: string | undefined;
  readonly signal: AbortSignal;
  readonly maximumResponseBytes?: number;
}

const list = (client: Client, path: string, { limit, next, ...options }: PageRequest) =>
  client.request({
    method: 'GET',
    path,
    query: { limit: String(limit), ...(next === undefined ? {} : { continue: next }) },
    ...options,
  });

/** Reads a page. It returns undefined if the page is too large and can be split. */
async function pageOf(client: Client, path: string, request: PageRequest) {
  try {
    return await list(client, path, request.limit === 1 ? request : { ...request, maximumResponseBytes: mostBytes });
  } catch (error) {
    if (request.limit > 1 && error instanceof ConnectionError && error.failure === 'too-large') return undefined;
    throw error;
  }
}

/** Chooses the limit of the next page, so that memory use stays constant whatever the size of the objects. */
const limitFor = (bytes: number, objects: number): number =>
  Math.max(1, Math.min(largestPage, Math.floor(wantedBytes / Math.max(1, bytes / Math.max(1, objects)))));

function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: string };
    return message === undefined ? '' : `: ${message}`;
  } catch {
    return '';
  }
}
