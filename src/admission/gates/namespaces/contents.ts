/**
 * What of the platform a Namespace holds: kind by kind, and only as far as it takes to know whether there is any that is not being
 * deleted already. Asked of the API server itself: a cache may not know yet what was created a moment ago.
 */
import { application, deployableKinds, type Kind } from '../../../api/index.ts';
import { type Client, isNotFound } from '../../../runtime/index.ts';

export type Reader = Pick<Client, 'list'>;

/** Objects of one kind that nobody has deleted. */
export interface Held {
  readonly kind: string;
  readonly count: number;
  /** Not all of them were looked at: some may be being deleted. */
  readonly isEstimate: boolean;
  /** The names of some. */
  readonly first: readonly string[];
}

export interface Contents {
  readonly held: readonly Held[];
  /** Why not every kind could be looked at; undefined where all were. */
  readonly unknown: string | undefined;
}

const kindsHeld: readonly Kind[] = [application, ...deployableKinds];
const mostNamed = 3;
const firstPage = 20;
/** Only where all before it are being deleted. */
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
      // Whoever has not installed a kind has no objects of it.
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
  if (signal.aborted) return 'time was up';
  return error instanceof Error ? error.message : String(error);
}
