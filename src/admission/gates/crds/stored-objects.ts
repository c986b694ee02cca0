/**
 * The objects of a definition that exist: read page by page from all namespaces, each page looked at and let go before the next is
 * asked for, until all are seen or time is up. How far it got is always told. A page is never larger than it may be, whatever the
 * objects before it were like.
 */
import { type Client, ConnectionError } from '../../../runtime/index.ts';
import type { Json } from '../../review/decode.ts';
import type { StoredCount } from './comparison.ts';
import type { Comparer } from './comparison-pool.ts';
import { isEstablished, resourceOf } from './definition.ts';

export interface Stored extends StoredCount {
  /** All that there are, as far as it is known; of those that were not read only how many they are. */
  readonly total: number;
  /** Why not all of them were looked at; undefined where they were. */
  readonly incomplete: string | undefined;
}

interface StoredQuestion {
  /** Without one nothing can be read. */
  readonly client: Client | undefined;
  /** As it is stored. */
  readonly definition: Json;
  readonly comparer: Pick<Comparer, 'add'>;
  readonly signal: AbortSignal;
}

const none: StoredCount = { checked: 0, broken: 0, first: [] };
/** The first page tells how large objects are. */
const firstPage = 10;
const largestPage = 500;
const wantedBytes = 4 * 1024 * 1024;
/** Large objects may come after many small ones. A page that turns out larger is given up, and a smaller one asked for. */
const mostBytes = 8 * 1024 * 1024;
const step = 8;

export async function readStored(question: StoredQuestion): Promise<Stored> {
  const { client, definition, comparer, signal } = question;
  const path = pathOf(definition);
  let count = none;
  let total = 0;
  const stop = (incomplete: string): Stored => ({ ...count, total: Math.max(total, count.checked), incomplete });
  if (client === undefined) return stop('there is no cluster to read them from');
  if (path === undefined) return stop('no version of it is served, so that they cannot be read');
  try {
    for (let next: string | undefined, limit = firstPage; ; ) {
      const answer = await pageOf(client, path, { limit, next, signal });
      if (answer === undefined) {
        limit = Math.ceil(limit / step);
        continue;
      }
      const { status, text } = answer;
      if (status === 404 && !isEstablished(definition)) return { ...none, total: 0, incomplete: undefined };
      if (status !== 200) return stop(`the API server answers ${status} to GET ${path}${messageIn(text)}`);
      const page = await comparer.add(text);
      count = page.count;
      total = count.checked + (page.remaining ?? 0);
      if (page.next === undefined) return { ...count, total: count.checked, incomplete: undefined };
      next = page.next;
      limit = Math.min(limit * step, limitFor(text.length, page.objects));
    }
  } catch (error) {
    if (signal.aborted) return stop('time was up');
    return stop(error instanceof Error ? error.message : String(error));
  }
}

/** How many there are, without reading them. */
export async function countStored({
  client,
  definition,
  signal,
}: Omit<StoredQuestion, 'comparer'>): Promise<{ total: number; first: string } | { unknown: string }> {
  const path = pathOf(definition);
  if (client === undefined) return { unknown: 'there is no cluster to ask' };
  if (path === undefined) return { unknown: 'no version of it is served' };
  try {
    const { status, text } = await list(client, path, { limit: 1, signal });
    if (status === 404 && !isEstablished(definition)) return { total: 0, first: '' };
    if (status !== 200) return { unknown: `the API server answers ${status} to GET ${path}${messageIn(text)}` };
    const { items, metadata } = JSON.parse(text) as {
      items?: { metadata?: { namespace?: string; name?: string } }[] | null;
      metadata?: { remainingItemCount?: number };
    };
    const [first] = items ?? [];
    const name = [first?.metadata?.namespace, first?.metadata?.name].filter((part) => part !== undefined).join('/');
    return { total: (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0), first: name };
  } catch (error) {
    if (signal.aborted) return { unknown: 'time was up' };
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

/** Undefined where it is too large and can be made smaller. */
async function pageOf(client: Client, path: string, request: PageRequest) {
  try {
    return await list(client, path, request.limit === 1 ? request : { ...request, maximumResponseBytes: mostBytes });
  } catch (error) {
    if (request.limit > 1 && error instanceof ConnectionError && error.failure === 'too-large') return undefined;
    throw error;
  }
}

/** Small objects in large pages, large ones in small pages: what is in memory at a time stays the same. */
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
