/**
 * Each strategy over all clusters: to its end and back, with custom resources that must be the same afterwards. Time is
 * compressed by what is configured; where a figure of the requirement holds the periods of its own, what was left out
 * of them is added to what was measured.
 */
import { addWidgets, type Target, versionOn, widgetsOn } from '../../test/rollout-e2e/support/testbed.ts';
import { type Figure, say, seconds } from './figures.ts';
import { rollBack, rollbackMilliseconds, rollOut } from './rollouts.ts';
import type { Stage } from './stage.ts';

const table = 'Deployment performance';
const rollbackBound = 180;
/** Custom resources on the first cluster, and on each of the others: none may be lost. */
const customResources = { first: 500, others: 20 };
/** Seconds in this benchmark, and in the requirement. */
const evaluation = { here: 5, required: 300 };
const watched = { interval: 'PT1S', failureThreshold: 3 };

const direct = { strategy: 'Direct', directConfig: { parallelClusters: 10 } };
const rolling = { strategy: 'Rolling', rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0.5S' } };
const canary = { strategy: 'Canary', canaryConfig: { evaluationPeriod: `PT${evaluation.here}S` } };
const blueGreen = (name: string) => ({
  strategy: 'BlueGreen',
  blueGreenConfig: {
    blueNamespace: `${name}-blue`,
    greenNamespace: `${name}-green`,
    validationPeriod: 'PT1S',
    monitorPeriod: 'PT1S',
  },
});

export async function eachStrategy(stage: Stage): Promise<Figure[]> {
  const { client, targets, addOperator } = stage;
  const all = targets.map(({ name }) => name);
  const [first] = targets;
  if (first === undefined) throw new Error('cluster not found');
  say(`each strategy on ${all.length} clusters, completed and rolled back`);
  await addOperator([{ name: 'single', version: '1.0.0' }]);
  const one = { operator: 'single', version: '1.0.0', clusters: [first.name], ...direct };
  const single = await rollOut(client, 'single', one);
  say(`  one cluster: ${seconds(single.milliseconds)}`);
  let canaryMilliseconds = 0;
  let [changed, compared] = [0, 0];
  const backs: number[] = [];
  const strategies = [
    { name: 'direct', spec: direct, begin: direct },
    { name: 'rolling', spec: rolling, begin: direct },
    { name: 'canary', spec: canary, begin: direct },
    { name: 'colours', spec: blueGreen('colours'), begin: blueGreen('colours') },
  ];
  for (const { name, spec, begin } of strategies) {
    await addOperator([
      { name, version: '1.0.0' },
      { name, version: '2.0.0', maximum: 30 },
      // Its Pods match no node and never run.
      { name, version: '3.0.0', maximum: 30, nodeSelector: { nowhere: 'true' } },
    ]);
    const common = { operator: name, clusters: all, health: watched };
    await rollOut(client, `${name}-1`, { ...common, version: '1.0.0', ...begin });
    const before = new Map<Target, string[]>();
    for (const target of targets) {
      await addWidgets(target, name, target === first ? customResources.first : customResources.others);
      before.set(target, await widgetsOn(target, name));
    }
    const second = await rollOut(client, `${name}-2`, { ...common, version: '2.0.0', ...spec });
    if (name === 'canary') canaryMilliseconds = second.milliseconds;
    const back = await rollBack(client, `${name}-2`);
    backs.push(back.milliseconds);
    const namespaces = name === 'colours' ? [`${name}-blue`, `${name}-green`] : [`${name}-system`];
    await demandVersion(targets, name, namespaces, '1.0.0');
    say(`  ${spec.strategy}: ${seconds(second.milliseconds)}, rolled back in ${seconds(back.milliseconds)}`);
    if (name === 'direct') {
      const bad = { ...common, version: '3.0.0', ...spec, helmTimeout: 'PT20S' };
      const failed = await rollOut(client, `${name}-3`, bad, 'Failed');
      backs.push(rollbackMilliseconds(failed.result));
      await demandVersion(targets, name, namespaces, '1.0.0');
      say(`  ${spec.strategy}, unhealthy version: rolled back automatically in ${seconds(backs.at(-1) ?? 0)}`);
    }
    for (const [target, widgets] of before) {
      const after = new Set(await widgetsOn(target, name));
      changed += widgets.filter((each) => !after.has(each)).length + Math.abs(after.size - widgets.length);
      compared += widgets.length;
    }
  }
  const missing = 2 * (evaluation.required - evaluation.here);
  return [
    {
      table,
      what: 'single cluster deployment, from apply to healthy',
      value: single.milliseconds / 1000,
      unit: 's',
      target: ['<', 180],
    },
    {
      table,
      what: `canary, 3 stages, ${all.length} clusters, two evaluations of PT5M (${seconds(canaryMilliseconds)} measured with PT${evaluation.here}S)`,
      value: canaryMilliseconds / 1000 + missing,
      unit: 's',
      target: ['<', 1800],
    },
    {
      table,
      what: `rollback, ${all.length} clusters, the slowest of the four strategies and of an automatic one`,
      value: Math.max(...backs) / 1000,
      unit: 's',
      target: ['<', rollbackBound],
    },
    {
      table,
      what: `custom resources lost or changed by upgrade and rollback, of ${compared} on ${all.length} clusters`,
      value: changed,
      unit: '',
      target: ['≤', 0],
    },
  ];
}

/** In exactly one of the namespaces, on every cluster. */
async function demandVersion(targets: readonly Target[], operator: string, namespaces: string[], version: string) {
  for (const target of targets) {
    const found = await Promise.all(namespaces.map((namespace) => versionOn(target, operator, namespace)));
    const there = found.filter((each) => each !== undefined);
    if (there.length !== 1 || there[0] !== version)
      throw new Error(`${operator} on ${target.name} is ${there.join(' and ') || 'not there'}, not ${version}`);
  }
}
