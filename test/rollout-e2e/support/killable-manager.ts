/**
 * `KillableManager` runs the platform as a process that is ended with `kill -9` at every visible moment of a rollout,
 * and started again.
 */
import { join } from 'node:path';
import { type OperatorDeployment, operatorDeployment } from '../../../src/api/index.ts';
import type { Client } from '../../../src/runtime/index.ts';
import { eventuallyFrom, startTestProcess, type TestProcess, whileRunning } from '../../support/test-process.ts';
import { releasesOn, type Stage, type Target, versionOn } from './testbed.ts';

const main = join(import.meta.dirname, 'manager-main.ts');

/** Names the moments of a rollout that a status shows, such as its phase and the states of its clusters. */
export type Moments = (status: NonNullable<OperatorDeployment['status']>) => readonly string[];

export const isEnded = (phase: string | undefined): boolean => phase === 'Completed' || phase === 'Failed';

export class KillableManager {
  readonly #client: Client;
  readonly #argument: string;
  #running: TestProcess;

  constructor({ keys, helm }: Stage, { client, kubeconfig }: { readonly client: Client; readonly kubeconfig: string }) {
    this.#client = client;
    this.#argument = JSON.stringify({ kubeconfig, keys, helm });
    this.#running = this.#start();
  }

  /**
   * Waits until a rollout has ended, and kills the manager at each new moment. Resolves with the rollout and the
   * moments.
   */
  async killUntilEnded(
    name: string,
    {
      moments,
      within,
      ends = isEnded,
    }: { moments: Moments; within: number; ends?: (phase: string | undefined) => boolean },
  ): Promise<{ readonly done: OperatorDeployment; readonly kills: readonly string[] }> {
    const seen = new Set<string>();
    const deadline = Date.now() + within;
    const nextMoment = async () => {
      const found = await this.#client.get<OperatorDeployment>(operatorDeployment.resource, { name });
      const { status = {} } = found;
      if (ends(status.phase)) return { done: found };
      const fresh = moments(status).filter((moment) => !seen.has(moment));
      return fresh.length === 0 ? false : { fresh };
    };
    for (;;) {
      const waitedFor = `OperatorDeployment ${name} to make progress`;
      const options = { within: Math.max(0, deadline - Date.now()), every: 25, waitedFor };
      const next = await eventuallyFrom(this.#running, nextMoment, options);
      if ('done' in next) return { done: next.done, kills: [...seen] };
      for (const moment of next.fresh) seen.add(moment);
      await this.#running.kill();
      this.#running = this.#start();
    }
  }

  /**
   * Returns the result of a wait for something that the manager must do; rejects at once if the manager exits first.
   */
  whileRunning<T>(wait: Promise<T>, waitedFor?: string): Promise<T> {
    return whileRunning(this.#running, wait, waitedFor);
  }

  async stop(): Promise<void> {
    await this.#running.kill();
  }

  #start(): TestProcess {
    return startTestProcess('the manager', process.execPath, [main, this.#argument], { stdio: 'pipe' });
  }
}

/**
 * The number of successful Helm revisions of an operator on a cluster, and the version that runs. A Helm process that
 * was killed leaves a failed revision, which is not a second install.
 */
export async function installedOn(target: Target, operator: string, namespace = `${operator}-system`) {
  const [revisions, version] = [
    await releasesOn(target, operator, namespace),
    await versionOn(target, operator, namespace),
  ];
  return { revisions, version };
}

type ClusterStatus = NonNullable<NonNullable<OperatorDeployment['status']>['clusters']>[number];

/** Whether a cluster passed a health check after the change and after the whole validation period. */
export const wasValidated = (
  { checksPassed = 0, deployedAt = '', switchedAt, lastCheckedAt = '', healthySince }: ClusterStatus,
  validationMilliseconds: number,
): boolean =>
  checksPassed > 0 &&
  healthySince !== undefined &&
  Date.parse(lastCheckedAt) >= Date.parse(switchedAt ?? deployedAt) + validationMilliseconds;

/** Whether a cluster passed a health check after its rollback. */
export const wasValidatedAfterRollback = ({ restoredAt = '', healthySince = '' }: ClusterStatus): boolean =>
  Date.parse(healthySince) >= Date.parse(restoredAt);
