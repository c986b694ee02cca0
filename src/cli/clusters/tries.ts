/** A write that goes by what was read: the platform writes the status of a Cluster every now and then, and somebody may change it by hand. */
import { isConflict } from '../../runtime/index.ts';

const most = 10;

class ChangedByOthers extends Error {
  readonly code = 'cluster/changed-by-others';
}

/** Once more where somebody has written between read and write, which `attempt` does both, but not for ever. */
export async function readAndWrite(name: string, attempt: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (tries < most) continue;
      const said = `the Cluster ${name} is being changed by others all the time: try again.`;
      throw new ChangedByOthers(said, { cause: error });
    }
  }
}
