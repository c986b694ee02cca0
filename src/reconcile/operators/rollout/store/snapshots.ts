/** Snapshots that may not be there any more. */
import { FleetError } from '../../../../fleet/index.ts';

/** Undefined where nobody has kept it; one that is damaged is no such case. */
export async function orMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof FleetError && error.code === 'snapshot/missing') return undefined;
    throw error;
  }
}
