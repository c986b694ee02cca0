/**
 * Writes the status of rollouts over exactly the version that it was worked out from. Of one rollout all writes of this process come one
 * after the other, and what waits meanwhile is written together: many clusters tell of themselves at the same time.
 */
import { operatorDeployment } from '../../../../api/index.ts';
import { type Client, isConflict, keyOf } from '../../../../runtime/index.ts';
import { Latest } from '../../../deployable/latest.ts';
import { differences } from '../../../deployable/write-status.ts';
import type { Rollout, RolloutStatus } from '../rollout.ts';

export const fieldManager = 'kidp-rollout';

type Change = (object: Rollout) => RolloutStatus;

interface Waiting {
  readonly change: Change;
  resolve(object: Rollout): void;
  reject(error: unknown): void;
}

/** Works out the status anew from what the API server has, for as long as others are faster. */
const mostSwaps = 16;

export class Ledger {
  readonly latest = new Latest<Rollout>();
  readonly #client: Client;
  readonly #lines = new Map<string, Waiting[]>();
  readonly #written: (before: Rollout, after: Rollout) => void;

  /** `written`: told of each write that was made. */
  constructor(client: Client, written: (before: Rollout, after: Rollout) => void) {
    this.#client = client;
    this.#written = written;
  }

  /**
   * `change` is asked again about each newer version, so it must be a value of what it is given and of nothing that it does. Where it
   * answers with the same status there is nothing to write. Rejects where the object is gone.
   */
  swap(object: Rollout, change: Change): Promise<Rollout> {
    const { uid = '' } = object.metadata;
    return new Promise<Rollout>((resolve, reject) => {
      const waiting = { change, resolve, reject };
      const line = this.#lines.get(uid);
      if (line !== undefined) {
        line.push(waiting);
        return;
      }
      const fresh = [waiting];
      this.#lines.set(uid, fresh);
      void this.#work(object, fresh);
    });
  }

  async #work(object: Rollout, line: Waiting[]): Promise<void> {
    // What comes before anything is written may still join in.
    await Promise.resolve();
    for (let batch = line.splice(0); batch.length > 0; batch = line.splice(0)) {
      try {
        const written = await this.#write(this.latest.of(object), batch);
        for (const { resolve } of batch) resolve(written);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    // In the same breath as the last look into it: who comes later opens a line of their own.
    this.#lines.delete(object.metadata.uid ?? '');
  }

  async #write(object: Rollout, batch: readonly Waiting[]): Promise<Rollout> {
    for (let current = object, tries = 1; ; tries += 1) {
      let next = current;
      for (const { change } of batch) {
        const status = change(next);
        if (status !== (next.status ?? status)) next = { ...next, status };
      }
      if (next === current) return current;
      try {
        const written = await this.#patch(current, next.status ?? {});
        this.latest.keep(written);
        this.#written(current, written);
        return written;
      } catch (error) {
        if (!isConflict(error) || tries === mostSwaps) throw error;
      }
      const found = await this.#client.get<Rollout>(operatorDeployment.resource, keyOf(object));
      // Another object of that name has nothing to do with it.
      if (found.metadata.uid !== object.metadata.uid)
        throw new Error(`OperatorDeployment ${keyOf(object).name} is gone`);
      this.latest.keep(found);
      current = found;
    }
  }

  #patch(object: Rollout, status: RolloutStatus): Promise<Rollout> {
    const { resourceVersion, uid } = object.metadata;
    const body = { metadata: { resourceVersion, uid }, status: differences(object.status ?? {}, status) };
    const options = { subresource: 'status', fieldManager };
    return this.#client.patch<Rollout>(operatorDeployment.resource, keyOf(object), { type: 'merge', body }, options);
  }
}
