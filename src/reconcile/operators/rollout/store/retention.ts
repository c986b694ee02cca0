/**
 * Deletes what finished rollouts leave behind: rollouts beyond the operator's history limit, Leases without a holder,
 * and snapshots that no rollback can need any more.
 */
import {
  type Operator,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../../../api/index.ts';
import type { SnapshotStore } from '../../../../fleet/index.ts';
import {
  type Client,
  type Clock,
  eachObject,
  isNotFound,
  type Logger,
  type Resource,
  type Runnable,
} from '../../../../runtime/index.ts';
import { sleep } from '../../../../runtime/internal.ts';
import { isFinished, type Rollout, toMilliseconds } from '../rollout.ts';
import type { RolloutLeases } from './leases.ts';

interface RetentionOptions {
  readonly client: Client;
  readonly snapshots: SnapshotStore;
  readonly leases: RolloutLeases;
  readonly clock: Clock;
  readonly log: Logger;
  readonly intervalMilliseconds: number;
}

export function retention(parts: RetentionOptions): Runnable {
  const { clock, log, intervalMilliseconds } = parts;
  return {
    name: 'rollout retention',
    leaderOnly: true,
    async start(signal) {
      while (!signal.aborted) {
        await sleep(clock, intervalMilliseconds, signal);
        if (signal.aborted) return;
        await prune(parts).catch((error: unknown) => log.warn('rollout retention failed; retried', { error }));
      }
    },
  };
}

async function prune({ client, snapshots, leases }: RetentionOptions): Promise<void> {
  const rollouts = await all<Rollout>(client, operatorDeployment.resource);
  const installations = await all<OperatorInstallation>(client, operatorInstallation.resource);
  const operators = await all<Operator>(client, operator.resource);
  const expired = new Set(expiredRollouts(rollouts, installations, operators));
  for (const { metadata } of expired) {
    const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
    await client
      .delete(operatorDeployment.resource, { name: metadata.name }, { preconditions })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }
  await leases.deleteStale();
  await snapshots.retain(
    snapshotsInUse(
      rollouts.filter((each) => !expired.has(each)),
      installations,
      operators,
    ),
  );
}

/**
 * The oldest finished rollouts beyond each operator's history limit, except those whose version is still installed on a
 * cluster.
 */
function expiredRollouts(
  rollouts: readonly Rollout[],
  installations: readonly OperatorInstallation[],
  operators: readonly Operator[],
): Rollout[] {
  const current = new Set(installations.map(({ spec }) => spec.deployment));
  const limits = new Map(operators.map(({ metadata, spec }) => [metadata.name, spec.historyLimit ?? 20]));
  const byOperator = Map.groupBy(
    rollouts.filter(({ status }) => isFinished(status ?? {})),
    ({ spec }) => spec.operator,
  );
  return [...byOperator].flatMap(([name, finished]) =>
    finished
      .sort((one, other) => toMilliseconds(other.status?.finishedAt) - toMilliseconds(one.status?.finishedAt))
      // A deleted Operator has no limit: its rollouts stay until a user deletes them.
      .slice(limits.get(name) ?? finished.length)
      .filter(({ metadata }) => !current.has(metadata.name)),
  );
}

export function snapshotsInUse(
  rollouts: readonly Rollout[],
  installations: readonly OperatorInstallation[],
  operators: readonly Operator[],
): ReadonlySet<string> {
  const names = [
    ...rollouts.flatMap(({ status }) =>
      (status?.clusters ?? []).flatMap(({ snapshot, snapshotBefore }) => [snapshot, snapshotBefore]),
    ),
    ...installations.flatMap(({ spec }) => [
      spec.snapshot,
      spec.previous?.snapshot,
      ...(spec.kept ?? []).map(({ snapshot }) => snapshot),
    ]),
    ...operators.flatMap(({ status }) => (status?.versions ?? []).map(({ definitionsRef }) => definitionsRef)),
  ];
  return new Set(names.filter((name) => name !== undefined));
}

async function all<T>(client: Client, resource: Resource): Promise<T[]> {
  const found: T[] = [];
  await eachObject(client, resource, {}, (object) => found.push(object as unknown as T));
  return found;
}
