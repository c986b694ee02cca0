/** Writes only the changed fields of a status, over exactly the version it was computed from; 409 on a conflict. */
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
  // managedFields are more than half of the object and not used here; keeping them would double the memory of a burst.
  (written.metadata as { managedFields?: unknown }).managedFields = undefined;
  return written;
}

/** The number of recomputations on conflicts. */
const mostSwaps = 16;

/**
 * `swapStatus` is `writeStatus` for a change that must happen whatever else happened to the object: `change` is called
 * again for each newer version. If it returns the same status, nothing is written.
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
    // A re-created object of that name is not affected.
    if (found.metadata.uid !== object.metadata.uid) return found;
    current = found;
  }
}

type Values = Readonly<Record<string, unknown>>;

/**
 * `differences` returns a JSON merge patch: removed fields are null, equal fields are omitted, lists are replaced
 * whole.
 */
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
