/**
 * Reads the stored objects of a definition page by page from all namespaces, until all are checked or the time is up.
 * Each page is released before the next one is requested. The result states how many were checked. The size of a page
 * is bounded, whatever the size of the objects.
 */
import { type Client, ConnectionError } from '../../../runtime/index.ts';
import type { Json } from '../../review/decode.ts';
import type { StoredCount } from './comparison.ts';
import type { Comparer } from './comparison-pool.ts';
import { isEstablished, resourceOf } from './definition.ts';

export interface Stored extends StoredCount {
  /** The total number of objects, as far as it is known. */
  readonly total: number;
  /** Why not all objects were checked; undefined if they were. */
  readonly incomplete: string | undefined;
}

interface StoredQuestion {
  /** The client. Without it, no objects are read. */
  readonly client: Client | undefined;
  /** The stored definition. */
  readonly definition: Json;
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

export async function readStored(question: StoredQuestion): Promise<Stored> {
  const { client, definition, comparer, signal } = question;
  const path = pathOf(definition);
  let count = none;
  let total = 0;
  const stop = (incomplete: string): Stored => ({ ...count, total: Math.max(total, count.checked), incomplete });
  if (client === undefined) return stop('there is no cluster to read them from');
  if (path === undefined) return stop('no version is served, so they cannot be read');
  try {
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
      if (page.next === undefined) return { ...count, total: count.checked, incomplete: undefined };
      next = page.next;
      limit = Math.min(limit * step, limitFor(text.length, page.objects));
    }
  } catch (error) {
    if (signal.aborted) return stop('the time limit was reached');
    return stop(error instanceof Error ? error.message : String(error));
  }
}

/** `countStored` counts the objects without reading them. */
export async function countStored({
  client,
  definition,
  signal,
}: Omit<StoredQuestion, 'comparer'>): Promise<{ total: number; first: string } | { unknown: string }> {
  const path = pathOf(definition);
  if (client === undefined) return { unknown: 'there is no cluster to query' };
  if (path === undefined) return { unknown: 'no version is served' };
  try {
    const { status, text } = await list(client, path, { limit: 1, signal });
    if (status === 404 && !isEstablished(definition)) return { total: 0, first: '' };
    if (status !== 200) return { unknown: `GET ${path} returned ${status}${messageIn(text)}` };
    const { items, metadata } = JSON.parse(text) as {
      items?: { metadata?: { namespace?: string; name?: string } }[] | null;
      metadata?: { remainingItemCount?: number };
    };
    const [first] = items ?? [];
    const name = [first?.metadata?.namespace, first?.metadata?.name].filter((part) => part !== undefined).join('/');
    return { total: (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0), first: name };
  } catch (error) {
    if (signal.aborted) return { unknown: 'the time limit was reached' };
    return { unknown: error instanceof Error ? error.message : String(error) };
  }
}

function pathOf(definition: Json): string | undefined {
  const resource = resourceOf(definition);
  return resource === undefined ? undefined : `/apis/${resource.group}/${resource.version}/${resource.plural}`;
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
