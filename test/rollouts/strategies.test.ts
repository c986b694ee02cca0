/** Each strategy, to its end and back, over three clusters: nothing is played but the nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  addWidgets,
  installationOn,
  rollOut,
  type Stage,
  startStage,
  statesOf,
  untilPhase,
  versionOn,
  widgetsOn,
} from './stage.ts';

let stage: Stage;
let stopPlatform: () => Promise<void>;
beforeAll(async () => {
  stage = await startStage();
  stopPlatform = await stage.run();
});
afterAll(async () => {
  await stopPlatform?.();
  await stage?.stop();
});

/** Each rolls out three times over three clusters. */
const timeout = 400_000;

const everywhere = (state: string) => ({ dev: state, staging: state, production: state });

async function expectVersion(operator: string, version: string | undefined, namespace = `${operator}-system`) {
  for (const target of stage.targets) expect(await versionOn(target, operator, namespace), target.name).toBe(version);
}

/** Its pods find no node: they never run. */
const nowhere = { nodeSelector: { nowhere: 'true' } };
/** KWOK plays pods with this label as ones whose container ends again and again. */
const crashing = { podLabels: { 'pod-container-running-failed.stage.kwok.x-k8s.io': 'true' } };

const strategies = [
  {
    name: 'direct',
    spec: { strategy: 'Direct', directConfig: { parallelClusters: 10 } },
    bad: nowhere,
    touched: ['dev', 'production', 'staging'],
    objects: 20,
  },
  {
    name: 'rolling',
    spec: { strategy: 'Rolling', rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0.5S' } },
    bad: nowhere,
    touched: ['dev'],
    objects: 20,
  },
  {
    name: 'canary',
    spec: {
      strategy: 'Canary',
      canaryConfig: { initialPercentage: 10, incrementPercentage: 40, evaluationPeriod: 'PT1S' },
    },
    bad: crashing,
    touched: ['dev'],
    objects: 500,
  },
];

describe.each(strategies)('$name', ({ name, spec, bad, touched, objects }) => {
  test('is completed, then one that is not well is taken back, and every custom resource is as it was', {
    timeout,
  }, async () => {
    const { client, targets } = stage;
    await stage.addOperator([
      { name, version: '1.0.0' },
      { name, version: '2.0.0', maximum: 30, ...bad },
    ]);
    await rollOut(client, `${name}-1`, name, '1.0.0', spec);
    const done = await untilPhase(client, `${name}-1`, 'Completed', 'Failed');
    expect(statesOf(done)).toEqual(everywhere('Healthy'));
    await expectVersion(name, '1.0.0');
    for (const target of targets)
      expect((await installationOn(client, name, target.name)).spec).toMatchObject({ version: '1.0.0' });
    const [dev] = targets;
    if (dev === undefined) throw new Error('there is no cluster');
    await addWidgets(dev, name, objects);
    const before = await widgetsOn(dev, name);
    expect(before).toHaveLength(objects);

    // Long enough for the third restart of what ends again and again.
    const watched = 'canaryConfig' in spec ? { canaryConfig: { ...spec.canaryConfig, evaluationPeriod: 'PT5M' } } : {};
    await rollOut(client, `${name}-2`, name, '2.0.0', { ...spec, ...watched, helmTimeout: 'PT12S' });
    const failed = await untilPhase(client, `${name}-2`, 'Failed', 'Completed');
    expect(failed.status?.rollback?.finishedAt).toBeDefined();
    const states = Object.entries(statesOf(failed));
    expect(
      states
        .filter(([, state]) => state === 'RolledBack')
        .map(([cluster]) => cluster)
        .sort(),
    ).toEqual(touched);
    expect(states.map(([, state]) => state)).not.toContain('Healthy');
    await expectVersion(name, '1.0.0');
    expect(await widgetsOn(dev, name)).toEqual(before);
  });
});

test('blue-green: the other namespace takes over, and is left again where it is not well', { timeout }, async () => {
  const { client, targets } = stage;
  const name = 'colours';
  const times = { validationPeriod: 'PT1S', monitorPeriod: 'PT1S' };
  const blueGreenConfig = { blueNamespace: 'colours-blue', greenNamespace: 'colours-green', ...times };
  const spec = { strategy: 'BlueGreen', blueGreenConfig };
  await stage.addOperator([
    { name, version: '1.0.0' },
    { name, version: '2.0.0', maximum: 30 },
    { name, version: '3.0.0', maximum: 40, nodeSelector: { nowhere: 'true' } },
  ]);
  await rollOut(client, 'colours-1', name, '1.0.0', spec);
  const first = await untilPhase(client, 'colours-1', 'Completed', 'Failed');
  expect(statesOf(first)).toEqual(everywhere('Healthy'));
  const colour = first.status?.clusters?.[0]?.namespace ?? '';
  const other = colour === 'colours-blue' ? 'colours-green' : 'colours-blue';
  await expectVersion(name, '1.0.0', colour);
  const [dev] = targets;
  if (dev === undefined) throw new Error('there is no cluster');
  await addWidgets(dev, name, 20);
  const before = await widgetsOn(dev, name);

  await rollOut(client, 'colours-2', name, '2.0.0', spec);
  expect(statesOf(await untilPhase(client, 'colours-2', 'Completed', 'Failed'))).toEqual(everywhere('Healthy'));
  await expectVersion(name, '2.0.0', other);
  // The old one is kept, at 0.
  await expectVersion(name, undefined, colour);

  await rollOut(client, 'colours-3', name, '3.0.0', { ...spec, helmTimeout: 'PT12S' });
  const failed = await untilPhase(client, 'colours-3', 'Failed', 'Completed');
  expect(Object.values(statesOf(failed))).not.toContain('Healthy');
  await expectVersion(name, '2.0.0', other);
  expect(await widgetsOn(dev, name)).toEqual(before);
});
