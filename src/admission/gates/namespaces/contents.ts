/**
 * Lists the platform objects in a Namespace, kind by kind, as far as needed to know whether some are not yet being
 * deleted. The API server is queried, because a cache might not have the newest objects.
 */

import { application, deployableKinds, type Kind } from '../../../api/index.ts';
import { type Client, isNotFound } from '../../../runtime/index.ts';
import { lookupFailure } from '../lookup-failure.ts';

export type Reader = Pick<Client, 'list'>;

/** Objects of one kind that are not being deleted. */
export interface Held {
  readonly kind: string;
  readonly count: number;
  /** Whether the count is an estimate: not all objects were read, and some may be terminating. */
  readonly isEstimate: boolean;
  /** The names of the first objects. */
  readonly first: readonly string[];
}

export interface Contents {
  readonly held: readonly Held[];
  /** Why not every kind could be read; undefined if all were read. */
  readonly unknown: string | undefined;
}

const kindsHeld: readonly Kind[] = [application, ...deployableKinds];
const mostNamed = 3;
const firstPage = 20;
/** The size of further pages, which are read only if all objects so far are terminating. */
const laterPage = 500;

export async function contentsOf(
  namespace: string,
  { client, signal }: { client: Reader; signal: AbortSignal },
): Promise<Contents> {
  const found = await Promise.allSettled(kindsHeld.map((kind) => heldOf(kind, namespace, client, signal)));
  const failed = found.find((each) => each.status === 'rejected');
  return {
    held: found.flatMap((each) => (each.status === 'fulfilled' && each.value !== undefined ? [each.value] : [])),
    unknown: failed === undefined ? undefined : reasonOf(failed.reason, signal),
  };
}

async function heldOf(
  { kind, resource }: Kind,
  namespace: string,
  client: Reader,
  signal: AbortSignal,
): Promise<Held | undefined> {
  for (let next: string | undefined; ; ) {
    const page = next === undefined ? { limit: firstPage } : { limit: laterPage, continue: next };
    const list = await client.list(resource, { namespace, signal, ...page }).catch((error: unknown) => {
      // A kind that is not installed has no objects.
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (list === undefined) return undefined;
    const staying = list.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const remaining = list.metadata.remainingItemCount ?? 0;
    next = list.metadata.continue === '' ? undefined : list.metadata.continue;
    if (staying.length > 0) {
      const first = staying.slice(0, mostNamed).map(({ metadata }) => metadata.name);
      return { kind, count: staying.length + remaining, isEstimate: next !== undefined, first };
    }
    if (next === undefined) return undefined;
  }
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the time limit was reached';
  return lookupFailure(error);
}
