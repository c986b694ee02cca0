/**
 * Rollouts whose manager is killed with `kill -9` at every step that can be seen, to their end and back: each goes on where it was. Nothing
 * is installed twice, and no cluster counts as done that was not looked at. Everything is real: clusters, Helm, charts.
 */
import { isDeepStrictEqual } from 'node:util';
import { type OperatorDeployment, operatorDeployment } from '../../src/api/index.ts';
import {
  installedOn,
  isEnded,
  KillableManager,
  type Moments,
  wasValidated,
  wasValidatedAfterRollback,
} from '../rollout-e2e/support/killable-manager.ts';
import { rollOut, type Stage, startStage, untilPhase } from '../rollout-e2e/support/testbed.ts';

interface Kind {
  readonly name: string;
  readonly spec: (name: string) => object;
  /** How long each cluster is watched, at least. */
  readonly watchedMilliseconds: number;
  /** The releases per namespace after the rollout, and after the rollback. */
  readonly there: (name: string) => Readonly<Record<string, object>>;
  readonly back: (name: string) => Readonly<Record<string, object>>;
}

const none = { revisions: 0, version: undefined };

/** By turns: what is installed where it was, and what is installed beside it. */
const turns: readonly Kind[] = [
  {
    name: 'rolling',
    spec: () => ({
      strategy: 'Rolling',
      rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0.5S' },
    }),
    watchedMilliseconds: 1_000,
    there: (name) => ({ [`${name}-system`]: { revisions: 2, version: '2.0.0' } }),
    back: (name) => ({ [`${name}-system`]: { revisions: 3, version: '1.0.0' } }),
  },
  {
    name: 'blue-green',
    spec: (name) => ({
      strategy: 'BlueGreen',
      blueGreenConfig: {
        blueNamespace: `${name}-blue`,
        greenNamespace: `${name}-green`,
        validationPeriod: 'PT1S',
        monitorPeriod: 'PT1S',
      },
    }),
    watchedMilliseconds: 1_000,
    // The old side is scaled to 0 and works again after the rollback: it is never reinstalled.
    there: (name) => ({
      [`${name}-system`]: { revisions: 1, version: undefined },
      [`${name}-green`]: { revisions: 1, version: '2.0.0' },
    }),
    back: (name) => ({ [`${name}-system`]: { revisions: 1, version: '1.0.0' }, [`${name}-green`]: none }),
  },
];

/** Each cluster, beside all others. */
const moments: Moments = ({ phase = '', clusters = [], plan }) => [
  `${phase} ${plan === undefined} ${clusters.map(({ state, restoredAt }) => `${state}${restoredAt === undefined ? '' : ' restored'}`).join(' ')}`,
];
const within = 900_000;

/** As long as the minutes or the rounds last; each is one rollout of another operator. */
export async function run({
  minutes,
  rounds,
  log,
}: {
  minutes: number;
  rounds: number;
  log: (line: string) => void;
}): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const stage = await startStage();
  try {
    for (let round = 1; round <= rounds && performance.now() < end; round += 1) {
      const kind = turns[round % turns.length];
      if (kind === undefined) continue;
      const kills = await killedRollout(stage, `killed-${round}`, kind);
      log(`round ${round}: ${kind.name}, there and back, held over ${kills} kills`);
    }
  } finally {
    await stage.stop();
  }
}

async function killedRollout(stage: Stage, name: string, kind: Kind): Promise<number> {
  const { client, management } = stage;
  const manager = new KillableManager(stage, { client, kubeconfig: management.kubeconfig });
  try {
    await stage.addOperator([
      { name, version: '1.0.0' },
      { name, version: '2.0.0', maximum: 30 },
    ]);
    await rollOut(client, `${name}-1`, name, '1.0.0', { strategy: 'Direct' });
    await manager.whileRunning(untilPhase(client, `${name}-1`, 'Completed'));
    await rollOut(client, `${name}-2`, name, '2.0.0', kind.spec(name));
    const forward = await manager.killUntilEnded(`${name}-2`, { moments, within });
    await demand(stage, forward.done, name, 'Completed', kind.there(name), (cluster) =>
      wasValidated(cluster, kind.watchedMilliseconds),
    );
    const body = { spec: { rollback: true } };
    await client.patch(operatorDeployment.resource, { name: `${name}-2` }, { type: 'merge', body });
    const ends = (phase: string | undefined) => isEnded(phase) && phase !== 'Completed';
    const back = await manager.killUntilEnded(`${name}-2`, { moments, within, ends });
    await demand(stage, back.done, name, 'Failed', kind.back(name), wasValidatedAfterRollback);
    return forward.kills.length + back.kills.length;
  } finally {
    await manager.stop();
  }
}

async function demand(
  { targets }: Stage,
  { status }: OperatorDeployment,
  name: string,
  phase: string,
  expected: Readonly<Record<string, object>>,
  isSeen: (cluster: Parameters<typeof wasValidatedAfterRollback>[0]) => boolean,
): Promise<void> {
  if (status?.phase !== phase) throw new Error(`${name} ended as ${status?.phase}: ${JSON.stringify(status)}`);
  for (const target of targets) {
    const cluster = status.clusters?.find((each) => each.name === target.name);
    const found: Record<string, object> = {};
    for (const namespace of Object.keys(expected)) found[namespace] = await installedOn(target, name, namespace);
    if (cluster === undefined || !isSeen(cluster) || !isDeepStrictEqual(found, expected))
      throw new Error(`${name} on ${target.name}: ${JSON.stringify(found)}, ${JSON.stringify(cluster)}`);
  }
}
