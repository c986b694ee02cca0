/** Slots for Helm runs: limited, and never without one for rollbacks. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HelmSlots, mostHelmRuns } from './slots.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A run that continues until it is ended. */
function runIn(places: HelmSlots, isRollback: boolean, signal?: AbortSignal) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const run = { isUnderWay: false, end, ended: undefined as unknown as Promise<void> };
  run.ended = places.with({ isRollback, signal }, async () => {
    run.isUnderWay = true;
    await promise;
    run.isUnderWay = false;
  });
  run.ended.catch(() => undefined);
  return run;
}

describe('Helm slots', () => {
  it('are limited, and installs never take the reserved ones', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ isRollback: fc.boolean(), ends: fc.nat() })), async (steps) => {
        const places = new HelmSlots(5, 2);
        const runs: { run: ReturnType<typeof runIn>; isRollback: boolean }[] = [];
        for (const { isRollback, ends } of steps) {
          runs.push({ run: runIn(places, isRollback), isRollback });
          await settle();
          const under = runs.filter(({ run }) => run.isUnderWay);
          expect(under.length).toBeLessThanOrEqual(5);
          expect(under.filter((each) => !each.isRollback).length).toBeLessThanOrEqual(3);
          const waiting = runs.filter((each) => each.isRollback && !each.run.isUnderWay);
          if (under.length < 5) expect(waiting).toEqual([]);
          const ended = ends % 3 === 0 ? under[ends % Math.max(1, under.length)] : undefined;
          if (ended === undefined) continue;
          ended.run.end();
          await ended.run.ended;
          runs.splice(runs.indexOf(ended), 1);
        }
        for (const { run } of runs) run.end();
        await Promise.all(runs.map(({ run }) => run.ended));
      }),
      { numRuns: 50 },
    );
  });

  it('are available to rollbacks at once when all others are taken, and first when all are', async () => {
    const places = new HelmSlots();
    const installs = Array.from({ length: mostHelmRuns + 4 }, () => runIn(places, false));
    await settle();
    expect(installs.filter(({ isUnderWay }) => isUnderWay)).toHaveLength(mostHelmRuns - 4);
    const backs = Array.from({ length: 5 }, () => runIn(places, true));
    await settle();
    expect(backs.map(({ isUnderWay }) => isUnderWay)).toEqual([true, true, true, true, false]);
    installs[0]?.end();
    await settle();
    expect(backs[4]?.isUnderWay).toBe(true);
    expect(installs.filter(({ isUnderWay }) => isUnderWay)).toHaveLength(mostHelmRuns - 5);
    for (const { end } of [...installs, ...backs]) end();
    await Promise.all([...installs, ...backs].map(({ ended }) => ended));
  });

  it('are not taken by an aborted run, and none is lost', async () => {
    const places = new HelmSlots(2, 1);
    const first = runIn(places, false);
    const stop = new AbortController();
    const second = runIn(places, false, stop.signal);
    const third = runIn(places, false);
    stop.abort(new Error('no longer wanted'));
    await expect(second.ended).rejects.toThrow('no longer wanted');
    await expect(runIn(places, true, stop.signal).ended).rejects.toThrow('no longer wanted');
    first.end();
    await first.ended;
    await settle();
    expect(third.isUnderWay).toBe(true);
    third.end();
    await third.ended;
  });
});

it('match the manifest and the runbook, with enough memory', async () => {
  const root = join(import.meta.dirname, '..', '..', '..');
  const [manifest, runbook] = await Promise.all(
    ['manifests/rollouts/kustomization.yaml', 'docs/runbooks/queue-full.md'].map((file) =>
      readFile(join(root, file), 'utf8'),
    ),
  );
  expect(manifest).toContain(`at most ${mostHelmRuns} run in parallel`);
  expect(runbook).toContain(`at most ${mostHelmRuns} Helm processes`);
  const [, limit = ''] = /value: (\d+)Gi\n/.exec(manifest ?? '') ?? [];
  expect(runbook).toContain(`limit of ${limit} GiB`);
  // About 100 MiB each, and a gibibyte for the platform itself: less than three quarters (docs/requirements.md, 002).
  expect(mostHelmRuns * 100 + 1024).toBeLessThan(0.75 * Number(limit) * 1024);
});
