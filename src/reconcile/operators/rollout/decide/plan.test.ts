import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Environment } from '../../../../api/index.ts';
import type { Rollout } from '../rollout.ts';
import { configOf, type PlannedCluster, pacingOf, planDigest, stagesOf } from './plan.ts';

type Spec = Rollout['spec'];

const specWith = (more: Partial<Spec>): Spec =>
  ({ operator: 'cert-manager', version: 'v1.14.0', clusters: ['any'], strategy: 'Direct', ...more }) as Spec;
const cluster = (name: string, environment: Environment = 'Dev', available = true): PlannedCluster => ({
  name,
  environment,
  available,
});
const many = (count: number, environment: Environment = 'Dev') =>
  Array.from({ length: count }, (_, index) => cluster(`c${String(index).padStart(3, '0')}`, environment));
const sizes = (spec: Spec, clusters: readonly PlannedCluster[]) =>
  stagesOf(spec, clusters).map((stage) => stage.clusters.length);

describe('the stages of a canary', () => {
  test.each([
    { reason: 'as drawn in the requirement', count: 10, config: undefined, stages: [1, 2, 7] },
    { reason: 'shares are rounded up', count: 12, config: undefined, stages: [2, 2, 8] },
    { reason: 'no stage is empty', count: 2, config: undefined, stages: [1, 1] },
    { reason: 'one cluster is one stage', count: 1, config: undefined, stages: [1] },
    { reason: 'a hundred', count: 100, config: undefined, stages: [10, 20, 70] },
    {
      reason: 'other shares',
      count: 10,
      config: { initialPercentage: 50, incrementPercentage: 40 },
      stages: [5, 4, 1],
    },
    { reason: 'all at once', count: 3, config: { initialPercentage: 100, incrementPercentage: 20 }, stages: [3] },
    { reason: 'finer stages, and the rest', count: 20, config: { stages: [5, 20, 60] }, stages: [1, 3, 8, 8] },
    { reason: 'stages in any order', count: 20, config: { stages: [60, 5, 20] }, stages: [1, 3, 8, 8] },
  ])('$reason', ({ count, config, stages }) => {
    const canaryConfig = config as NonNullable<Spec['canaryConfig']> | undefined;
    const spec = specWith({ strategy: 'Canary', ...(canaryConfig === undefined ? {} : { canaryConfig }) });
    expect(sizes(spec, many(count))).toEqual(stages);
  });

  test('Dev comes before Staging, and Staging before Production', () => {
    const clusters = [cluster('a', 'Production'), cluster('b', 'Staging'), cluster('z', 'Dev')];
    expect(stagesOf(specWith({ strategy: 'Canary' }), clusters).flatMap((stage) => stage.clusters)).toEqual([
      'z',
      'b',
      'a',
    ]);
  });

  test('an unavailable cluster does not count for the first stage', () => {
    const clusters = [cluster('a', 'Dev', false), cluster('b'), cluster('c'), cluster('d')];
    expect(stagesOf(specWith({ strategy: 'Canary' }), clusters).map((stage) => stage.clusters)).toEqual([
      ['b'],
      ['c', 'd', 'a'],
    ]);
  });
});

describe('the stages of the other strategies', () => {
  const clusters = [cluster('prod', 'Production'), cluster('dev-2'), cluster('dev-1'), cluster('staging', 'Staging')];
  test.each([
    { reason: 'direct: all at once', spec: { strategy: 'Direct' }, stages: [['dev-1', 'dev-2', 'staging', 'prod']] },
    {
      reason: 'blue-green: all are switched together',
      spec: { strategy: 'BlueGreen' },
      stages: [['dev-1', 'dev-2', 'staging', 'prod']],
    },
    {
      reason: 'rolling: by environment',
      spec: { strategy: 'Rolling' },
      stages: [['dev-1'], ['dev-2'], ['staging'], ['prod']],
    },
    {
      reason: 'rolling: clusterOrder first, then the others',
      spec: {
        strategy: 'Rolling',
        rollingConfig: { clusterOrder: ['staging', 'dev-2'], validationPeriod: 'PT5M', pauseBetweenClusters: 'PT2M' },
      },
      stages: [['staging'], ['dev-2'], ['dev-1'], ['prod']],
    },
    { reason: 'none at all', spec: { strategy: 'Rolling' }, stages: [], none: true },
  ] as const)('$reason', ({ spec, stages, ...row }) => {
    const given = 'none' in row ? [] : clusters;
    expect(stagesOf(specWith(spec as unknown as Partial<Spec>), given).map((stage) => stage.clusters)).toEqual(stages);
  });

  test('every strategy puts each cluster into exactly one non-empty stage', () => {
    const names = fc.uniqueArray(fc.integer({ min: 0, max: 999 }), { maxLength: 60 });
    const environment = fc.constantFrom<Environment>('Dev', 'Staging', 'Production');
    fc.assert(
      fc.property(
        names,
        fc.infiniteStream(fc.tuple(environment, fc.boolean())),
        fc.constantFrom('Canary' as const, 'BlueGreen' as const, 'Rolling' as const, 'Direct' as const),
        fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 5 }),
        (ids, kinds, strategy, stages) => {
          const given = ids.map((id) => {
            const [where, available] = kinds.next().value;
            return cluster(`c${id}`, where, available);
          });
          const canaryConfig = { stages } as NonNullable<Spec['canaryConfig']>;
          const spec = specWith({ strategy, ...(strategy === 'Canary' ? { canaryConfig } : {}) });
          const found = stagesOf(spec, given);
          expect(found.every((stage) => stage.clusters.length > 0)).toBe(true);
          expect(found.flatMap((stage) => stage.clusters).sort()).toEqual(given.map(({ name }) => name).sort());
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('defaults', () => {
  const pacing = (more: Partial<Spec>, coexist = false) => {
    const spec = specWith(more);
    const config = configOf(spec, coexist) as Record<string, unknown>;
    return pacingOf({ strategy: spec.strategy, config, stages: stagesOf(spec, many(10)) });
  };
  const minute = 60_000;

  test('canary: five minutes a stage, 95 %, no waiting period for the last stage', () => {
    const canary = pacing({ strategy: 'Canary' });
    expect([1, 2, 3].map((stage) => canary.periodMilliseconds(stage))).toEqual([5 * minute, 5 * minute, 0]);
    expect(canary.successThreshold).toBe(0.95);
  });

  test('blue-green: ten minutes before the switch, five after it, kept for a day', () => {
    const { blueGreen, periodMilliseconds } = pacing({ strategy: 'BlueGreen' }, true);
    expect(periodMilliseconds(1)).toBe(10 * minute);
    expect(blueGreen).toEqual({
      autoSwitch: true,
      coexist: true,
      monitorMilliseconds: 5 * minute,
      retentionMilliseconds: 24 * 60 * minute,
    });
  });

  test('blue-green without coexistence: validated after the switch', () => {
    const { blueGreen, periodMilliseconds } = pacing({ strategy: 'BlueGreen' });
    expect(periodMilliseconds(1)).toBe(0);
    expect(blueGreen?.monitorMilliseconds).toBe(10 * minute);
  });

  test('rolling: five minutes a cluster, two between them; direct: ten at a time', () => {
    const rolling = pacing({ strategy: 'Rolling' });
    expect(rolling).toMatchObject({ parallel: 1, oneByOne: true, pauseMilliseconds: 2 * minute });
    expect(rolling.periodMilliseconds(10)).toBe(5 * minute);
    expect(pacing({ strategy: 'Direct' })).toMatchObject({ parallel: 10, healthChecks: true });
  });
});

test('the digest depends on the plan and its snapshots, not on the order of keys', () => {
  const plan = { operatorUid: 'u', chartDigest: 'd', strategy: 'Direct' as const, config: { a: 1, b: 2 }, stages: [] };
  const digest = planDigest(plan, [['dev', 'sha256:1']]);
  expect(planDigest({ ...plan, config: { b: 2, a: 1 } }, [['dev', 'sha256:1']])).toBe(digest);
  expect(planDigest({ ...plan, config: { b: 3, a: 1 } }, [['dev', 'sha256:1']])).not.toBe(digest);
  expect(planDigest(plan, [['dev', 'sha256:2']])).not.toBe(digest);
});
