/**
 * Rollouts whose manager is killed with `kill -9` at every step that can be seen: each goes on where it was. Nothing is installed twice, and
 * no cluster counts as done that was not looked at. Everything is real: clusters, Helm, charts.
 */
import { join } from 'node:path';
import { type OperatorDeployment, operatorDeployment } from '../../src/api/index.ts';
import { eventually } from '../../src/runtime/index.ts';
import { releasesOn, rollOut, type Stage, startProgram, startStage, untilPhase, versionOn } from '../rollouts/stage.ts';

const main = join(import.meta.dirname, '..', 'rollouts', 'manager-main.ts');
const spec = { strategy: 'Rolling', rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0.5S' } };

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
      const kills = await killedRollout(stage, `killed-${round}`);
      log(`round ${round}: held over ${kills} kills`);
    }
  } finally {
    await stage.stop();
  }
}

async function killedRollout(stage: Stage, name: string): Promise<number> {
  const { client, management, keys, helm } = stage;
  const words = JSON.stringify({ kubeconfig: management.kubeconfig, keys, helm });
  const begin = () => startProgram(main, [words]);
  let running = begin();
  try {
    await stage.addOperator([
      { name, version: '1.0.0' },
      { name, version: '2.0.0', maximum: 30 },
    ]);
    await rollOut(client, `${name}-1`, name, '1.0.0', { strategy: 'Direct' });
    await untilPhase(client, `${name}-1`, 'Completed');
    await rollOut(client, `${name}-2`, name, '2.0.0', spec);
    const seen = new Set<string>();
    const look = async () => {
      const found = await client.get<OperatorDeployment>(operatorDeployment.resource, { name: `${name}-2` });
      const { phase = '', clusters = [], plan } = found.status ?? {};
      if (phase === 'Completed' || phase === 'Failed') return found;
      const moment = `${phase} ${plan === undefined} ${clusters.map(({ state }) => state).join(' ')}`;
      if (seen.has(moment)) return false;
      seen.add(moment);
      await running.kill();
      running = begin();
      return false;
    };
    const done = await eventually(look, { within: 900_000, every: 100 });
    await demandOnce(stage, name, done);
    return seen.size;
  } finally {
    await running.kill();
  }
}

async function demandOnce({ targets }: Stage, name: string, { status }: OperatorDeployment): Promise<void> {
  if (status?.phase !== 'Completed') throw new Error(`${name} ended as ${status?.phase}: ${JSON.stringify(status)}`);
  for (const target of targets) {
    const cluster = status.clusters?.find((each) => each.name === target.name);
    // One install and one upgrade: a Helm that was killed leaves a revision that has failed, which is no second install.
    const releases = await releasesOn(target, name);
    const version = await versionOn(target, name, `${name}-system`);
    if (releases !== 2 || version !== '2.0.0' || (cluster?.checksPassed ?? 0) === 0)
      throw new Error(`${name} on ${target.name}: ${releases} releases, ${version}, ${JSON.stringify(cluster)}`);
  }
}
