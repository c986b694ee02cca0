/**
 * `StatusWriter` writes the status of rollouts by compare-and-swap on the resourceVersion that the status was computed
 * from. The writes of one rollout are serialized within this process. Changes that arrive during a write are combined
 * into the next one, because the steps of many clusters finish at the same time.
 */
import { operatorDeployment } from '../../../../api/index.ts';
import { type Client, isConflict, keyOf } from '../../../../runtime/index.ts';
import type { Latest } from '../../../deployable/latest.ts';
import { differences } from '../../../deployable/write-status.ts';
import type { Rollout, RolloutStatus } from '../rollout.ts';

export const fieldManager = 'kidp-rollout';

type Change = (object: Rollout) => RolloutStatus;

interface PendingChange {
  readonly change: Change;
  resolve(object: Rollout): void;
  reject(error: unknown): void;
}

/** After a conflict the status is computed again from the object in the API server, this many times. */
const maxAttempts = 16;

export class StatusWriter {
  readonly #latest: Latest<Rollout>;
  readonly #client: Client;
  readonly #queues = new Map<string, PendingChange[]>();
  readonly #onWritten: (before: Rollout, after: Rollout) => void;

  /** `onWritten` is called after each write. */
  constructor(client: Client, latest: Latest<Rollout>, onWritten: (before: Rollout, after: Rollout) => void) {
    this.#client = client;
    this.#latest = latest;
    this.#onWritten = onWritten;
  }

  /**
   * Applies `change` and writes the result. `change` is called again for each newer version of the object, so it must
   * be a pure function. If it returns the same status, nothing is written. Rejects if the object does not exist any
   * more.
   */
  update(object: Rollout, change: Change): Promise<Rollout> {
    const { uid = '' } = object.metadata;
    return new Promise<Rollout>((resolve, reject) => {
      const waiting = { change, resolve, reject };
      const queue = this.#queues.get(uid);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const fresh = [waiting];
      this.#queues.set(uid, fresh);
      void this.#drain(object, fresh);
    });
  }

  async #drain(object: Rollout, queue: PendingChange[]): Promise<void> {
    // Changes that arrive before the first write join it.
    await Promise.resolve();
    for (let batch = queue.splice(0); batch.length > 0; batch = queue.splice(0)) {
      try {
        const written = await this.#write(this.#latest.of(object), batch);
        for (const { resolve } of batch) resolve(written);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    // No await since the last look into the queue: a later change starts a queue of its own.
    this.#queues.delete(object.metadata.uid ?? '');
  }

  async #write(object: Rollout, batch: readonly PendingChange[]): Promise<Rollout> {
    for (let current = object, tries = 1; ; tries += 1) {
      let next = current;
      for (const { change } of batch) {
        const status = change(next);
        if (status !== (next.status ?? status)) next = { ...next, status };
      }
      if (next === current) return current;
      try {
        const written = await this.#patch(current, next.status ?? {});
        this.#latest.keep(written);
        this.#onWritten(current, written);
        return written;
      } catch (error) {
        if (!isConflict(error) || tries === maxAttempts) throw error;
      }
      const found = await this.#client.get<Rollout>(operatorDeployment.resource, keyOf(object));
      // An object with the same name and another uid is a different rollout.
      if (found.metadata.uid !== object.metadata.uid)
        throw new Error(`OperatorDeployment ${keyOf(object).name} was deleted`);
      this.#latest.keep(found);
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
