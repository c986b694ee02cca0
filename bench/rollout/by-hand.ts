/** Direct, ten clusters at a time, beside `helm install --wait` run by hand on the same clusters, ten at a time. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packChart } from '../../test/support/operator-charts.ts';
import { type Figure, inParallel, say, seconds, timed } from './figures.ts';
import { rollOut } from './rollouts.ts';
import type { Stage } from './stage.ts';

const execute = promisify(execFile);
const parallel = 10;
const bound = 1.5;

/**
 * In turns, so that whatever else the machine does falls on both. What is measured first is warm: one of each goes
 * before.
 */
export async function besideByHand(stage: Stage, pairs: number): Promise<Figure[]> {
  const all = stage.targets.map(({ name }) => name);
  say(`direct on ${all.length} clusters, ${parallel} at a time, beside helm install --wait by hand`);
  await byHand(stage, 'hand-0');
  await byKidp(stage, 'kidp-0', all);
  let [hand, ours] = [0, 0];
  for (let pair = 1; pair <= pairs; pair += 1) {
    // The one that comes first changes from pair to pair.
    const first = pair % 2 === 1 ? await byHand(stage, `hand-${pair}`) : undefined;
    const own = await byKidp(stage, `kidp-${pair}`, all);
    const theirs = first ?? (await byHand(stage, `hand-${pair}`));
    say(`  by hand ${seconds(theirs)}, kidp ${seconds(own)}: ${(own / theirs).toFixed(2)} ×`);
    hand += theirs;
    ours += own;
  }
  const table = 'Beside Helm by hand';
  const deployment = 'Deployment performance';
  return [
    {
      table,
      what: `direct on ${all.length} clusters, parallel ${parallel}: times helm install by hand`,
      value: ours / hand,
      unit: '×',
      target: ['≤', bound],
    },
    {
      table: deployment,
      what: `multi-cluster deployment (10 clusters asked for, here ${all.length})`,
      value: ours / pairs / 1000,
      unit: 's',
      target: ['<', 900],
    },
  ];
}

async function byKidp({ client, addOperator }: Stage, name: string, clusters: readonly string[]): Promise<number> {
  await addOperator([{ name, version: '1.0.0' }]);
  const spec = { operator: name, version: '1.0.0', clusters, strategy: 'Direct' };
  const directConfig = { parallelClusters: parallel };
  const { milliseconds } = await rollOut(client, name, { ...spec, directConfig });
  return milliseconds;
}

async function byHand({ targets, helm, directory }: Stage, name: string): Promise<number> {
  const chart = join(directory, `${name}.tgz`);
  await writeFile(chart, packChart({ name, version: '1.0.0' }));
  const { milliseconds } = await timed(() =>
    inParallel(targets, parallel, async ({ name: cluster, plane }) => {
      // As each would have who works from a machine of their own.
      const home = join(directory, `helm-${cluster}`);
      await mkdir(home, { recursive: true });
      const own = Object.fromEntries(
        ['CACHE', 'CONFIG', 'DATA'].map((each) => [`HELM_${each}_HOME`, join(home, each)]),
      );
      const words = ['install', name, chart, '--namespace', `${name}-system`, '--create-namespace', '--wait'];
      await execute(helm, [...words, '--timeout', '5m', '--kubeconfig', plane.kubeconfig], {
        env: { ...process.env, ...own },
      });
    }),
  );
  return milliseconds;
}
