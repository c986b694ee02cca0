/** The platform as a process that is ended with `kill -9` at every moment of a rollout that can be seen, and started again. */
import { join } from 'node:path';
import { type OperatorDeployment, operatorDeployment } from '../../../src/api/index.ts';
import type { Client } from '../../../src/runtime/index.ts';
import { ProcessGroup, startTestProcess, type TestProcess } from '../../support/test-process.ts';
import { releasesOn, type Stage, type Target, versionOn } from './testbed.ts';

const main = join(import.meta.dirname, 'manager-main.ts');

/** All that differs is another moment: the phase, and how far the clusters are. */
export type Moments = (status: NonNullable<OperatorDeployment['status']>) => readonly string[];

export const isEnded = (phase: string | undefined): boolean => phase === 'Completed' || phase === 'Failed';

export class MortalManager {
  readonly #client: Client;
  readonly #words: string;
  readonly #processes = new ProcessGroup();
  #running: TestProcess;

  constructor({ keys, helm }: Stage, { client, kubeconfig }: { readonly client: Client; readonly kubeconfig: string }) {
    this.#client = client;
    this.#words = JSON.stringify({ kubeconfig, keys, helm });
    this.#running = this.#begin();
  }

  /** `whileRunning` returns the result of a wait, or rejects at once if the manager exits without having been killed. */
  whileRunning<T>(wait: Promise<T>): Promise<T> {
    return this.#processes.whileRunning(wait);
  }

  /** Brings a rollout to its end. Resolves with it, and the moments at which the manager was killed. */
  async throughKills(
    name: string,
    {
      moments,
      within,
      ends = isEnded,
    }: { moments: Moments; within: number; ends?: (phase: string | undefined) => boolean },
  ): Promise<{ readonly done: OperatorDeployment; readonly kills: readonly string[] }> {
    const seen = new Set<string>();
    const look = async () => {
      const found = await this.#client.get<OperatorDeployment>(operatorDeployment.resource, { name });
      const { status = {} } = found;
      if (ends(status.phase)) return found;
      const fresh = moments(status).filter((moment) => !seen.has(moment));
      if (fresh.length === 0) return false;
      for (const moment of fresh) seen.add(moment);
      await this.stop();
      this.#running = this.#begin();
      return false;
    };
    const done = await this.#processes.eventually(look, { within, every: 25 });
    return { done, kills: [...seen] };
  }

  async stop(): Promise<void> {
    await this.#running.kill();
  }

  #begin(): TestProcess {
    return this.#processes.add(startTestProcess('the manager', process.execPath, [main, this.#words]));
  }
}

/** What there is on a cluster: how often Helm has installed it, and what works there. A Helm that was killed leaves a revision that has failed, which is no second install. */
export async function thereOn(target: Target, operator: string, namespace = `${operator}-system`) {
  const [revisions, version] = [
    await releasesOn(target, operator, namespace),
    await versionOn(target, operator, namespace),
  ];
  return { revisions, version };
}

type ClusterStatus = NonNullable<NonNullable<OperatorDeployment['status']>['clusters']>[number];

/** It was well when it was looked at after it was changed, and after all that it was to be watched for. */
export const wasValidated = (
  { checksPassed = 0, deployedAt = '', switchedAt, lastCheckedAt = '', healthySince }: ClusterStatus,
  watchedMilliseconds: number,
): boolean =>
  checksPassed > 0 &&
  healthySince !== undefined &&
  Date.parse(lastCheckedAt) >= Date.parse(switchedAt ?? deployedAt) + watchedMilliseconds;

/** The same of the way back. */
export const wasValidatedBack = ({ restoredAt = '', healthySince = '' }: ClusterStatus): boolean =>
  Date.parse(healthySince) >= Date.parse(restoredAt);
