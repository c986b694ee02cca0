/** Writes a status over exactly the version that it was worked out from, and of that only what differs: 409 where somebody was faster. */
import { isDeepStrictEqual } from 'node:util';
import { type Client, isConflict, keyOf, type Resource } from '../../runtime/index.ts';
import type { Deployable, DeployableStatus } from './deployable.ts';

const fieldManager = 'kidp-deployable';

export async function writeStatus(
  client: Client,
  resource: Resource,
  object: Deployable,
  status: DeployableStatus,
  signal?: AbortSignal,
): Promise<Deployable> {
  const { resourceVersion, uid } = object.metadata;
  const body = { metadata: { resourceVersion, uid }, status: differences(object.status ?? {}, status) };
  const written = await client.patch<Deployable>(
    resource,
    keyOf(object),
    { type: 'merge', body },
    { subresource: 'status', fieldManager, ...(signal === undefined ? {} : { signal }) },
  );
  // More than half of it, and nobody here reads it: what is kept of a burst would be as large as the cache.
  (written.metadata as { managedFields?: unknown }).managedFields = undefined;
  return written;
}

/** Works out the status anew from what the API server has, for as long as others are faster. */
const mostSwaps = 16;

/**
 * As `writeStatus`, for a change that must be made whatever else has happened to the object: `change` is asked again about each newer
 * version. Where it answers with the same status there is nothing to write.
 */
export async function swapStatus(
  client: Client,
  resource: Resource,
  object: Deployable,
  change: (object: Deployable) => DeployableStatus,
  signal?: AbortSignal,
): Promise<Deployable> {
  for (let current = object, tries = 1; ; tries += 1) {
    const status = change(current);
    if (status === (current.status ?? status)) return current;
    try {
      return await writeStatus(client, resource, current, status, signal);
    } catch (error) {
      if (!isConflict(error) || tries === mostSwaps) throw error;
    }
    const found = await client.get<Deployable>(resource, keyOf(object), signal === undefined ? {} : { signal });
    // Another object of that name has nothing to do with it.
    if (found.metadata.uid !== object.metadata.uid) return found;
    current = found;
  }
}

type Values = Readonly<Record<string, unknown>>;

/** A JSON merge patch: what is gone is null, what is the same is left out, a list is given whole. */
export function differences(before: Values, after: Values): Values {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(before)) if (after[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (value === undefined || isDeepStrictEqual(old, value)) continue;
    patch[key] = isValues(old) && isValues(value) ? differences(old, value) : value;
  }
  return patch;
}

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
