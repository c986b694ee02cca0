/**
 * Operators rolled out over many clusters: every figure of the performance tables of docs/requirements.md, 002 beside
 * its target, and direct beside `helm install` run by hand. Clusters are real API servers, Helm is the real one; nodes
 * and pods are played. For 500 operators on 100 clusters the API servers are simulated, and the scheduler, its caches,
 * its connections and its writes are real.
 *
 * `--clusters=N`, `--pairs=N` (of direct and by hand), `--operators=N` and `--simulated=N` (clusters) make it smaller;
 * `--only=PART,PART` leaves parts out: helm, strategies, limits, health, api, round.
 */
import { cpus, loadavg } from 'node:os';
import { apiAtScale } from './api.ts';
import { besideByHand } from './by-hand.ts';
import { type Figure, report, say, seconds, timed } from './figures.ts';
import { healthOfAnOperator } from './health.ts';
import { atTheLimits } from './limits.ts';
import { watchResources } from './resources.ts';
import { healthRound } from './round.ts';
import { type Stage, startStage } from './stage.ts';
import { eachStrategy } from './strategies.ts';

interface Part {
  readonly name: string;
  measure(): Promise<Figure[]>;
}

export async function run(flags: readonly string[]): Promise<boolean> {
  const given = (name: string) => flags.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
  const number = (name: string, otherwise: number) => Number(given(name) ?? otherwise);
  const only = given('only')?.split(',');
  const isWanted = ({ name }: Part) => only?.includes(name) ?? true;
  say(`${cpus().length} cores, load ${load()}`);
  const began = performance.now();
  const figures: Figure[] = [];
  let failed = 0;
  // What one part could not measure says nothing of the others.
  const measure = async (parts: readonly Part[]) => {
    for (const part of parts) {
      try {
        figures.push(...(await part.measure()));
      } catch (error) {
        failed += 1;
        say(`  ${part.name} FAILED: ${error instanceof Error ? error.stack : String(error)}`);
      }
    }
  };
  const onStage = (stage: Stage): Part[] => [
    { name: 'helm', measure: () => besideByHand(stage, number('pairs', 3)) },
    { name: 'strategies', measure: () => eachStrategy(stage) },
    { name: 'limits', measure: () => atTheLimits(stage) },
    { name: 'health', measure: () => healthOfAnOperator(stage) },
    // The last one: it ends the rollouts of the stage.
    { name: 'api', measure: () => apiAtScale(stage) },
  ];
  if (only === undefined || only.some((part) => part !== 'round')) {
    const { result: stage, milliseconds } = await timed(() => startStage(number('clusters', 12)));
    say(`${stage.targets.length} clusters and the management cluster: ${seconds(milliseconds)}`);
    const resources = watchResources(stage);
    try {
      await measure(onStage(stage).filter(isWanted));
      figures.push(...resources.figures());
    } finally {
      resources.stop();
      await stage.stop();
    }
  }
  const simulated = { operators: number('operators', 500), clusters: number('simulated', 100), list: 5, dryRun: 15 };
  await measure([{ name: 'round', measure: () => healthRound(simulated) }].filter(isWanted));
  const met = report(figures);
  say();
  say(`${seconds(performance.now() - began)} in all; load at the end ${load()}`);
  return met && failed === 0;
}

const load = (): string =>
  loadavg()
    .map((each) => each.toFixed(1))
    .join(' ');
