/**
 * What is kept of rollouts that have come to their end: of each operator as many as it says, and the snapshots that somebody may still go
 * back to. All else goes, every so often.
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
import { isFinished, type Rollout, timeOf } from '../rollout.ts';
import type { Holds } from './leases.ts';

interface RetentionParts {
  readonly client: Client;
  readonly snapshots: SnapshotStore;
  readonly holds: Holds;
  readonly clock: Clock;
  readonly log: Logger;
  readonly everyMilliseconds: number;
}

export function retention(parts: RetentionParts): Runnable {
  const { clock, log, everyMilliseconds } = parts;
  return {
    name: 'retention of rollouts',
    leaderOnly: true,
    async start(signal) {
      while (!signal.aborted) {
        await sleep(clock, everyMilliseconds, signal);
        if (signal.aborted) return;
        await tidy(parts).catch((error: unknown) =>
          log.warn('rollouts could not be tidied up, it comes again', { error }),
        );
      }
    },
  };
}

async function tidy({ client, snapshots, holds }: RetentionParts): Promise<void> {
  const rollouts = await all<Rollout>(client, operatorDeployment.resource);
  const installations = await all<OperatorInstallation>(client, operatorInstallation.resource);
  const operators = await all<Operator>(client, operator.resource);
  const gone = new Set(outlived(rollouts, installations, operators));
  for (const { metadata } of gone) {
    const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
    await client
      .delete(operatorDeployment.resource, { name: metadata.name }, { preconditions })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }
  await holds.tidy();
  await snapshots.retain(
    snapshotsInUse(
      rollouts.filter((each) => !gone.has(each)),
      installations,
      operators,
    ),
  );
}

/** Of each operator the oldest that are more than it keeps; never one that put there what is on a cluster now. */
function outlived(
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
      .sort((one, other) => timeOf(other.status?.finishedAt) - timeOf(one.status?.finishedAt))
      // Of an operator that is gone nothing is known: what it has left stays as long as people want it to.
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
