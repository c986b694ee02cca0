/** Reads of snapshots that may have been deleted. */
import { FleetError } from '../../../../fleet/index.ts';

/** Returns undefined if the snapshot does not exist. A damaged snapshot is still an error. */
export async function undefinedIfMissing<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof FleetError && error.code === 'snapshot/missing') return undefined;
    throw error;
  }
}
