import { describe, expect, test } from 'vitest';
import type { Snapshot, SwitchedSides } from '../../../../fleet/index.ts';
import { ApiError, noTracer } from '../../../../runtime/index.ts';
import { defaultRolloutSettings } from '../../settings.ts';
import { snapshotOf } from '../support/rollouts.ts';
import { ClusterSteps, type ClusterStepsOptions, type ClusterTarget } from './cluster-steps.ts';

interface Given {
  readonly strategy: 'Rolling' | 'BlueGreen';
  /** Where the new version goes; the old one is in `blue`. */
  readonly namespace: string;
  readonly cluster?: object;
  /** What `retire` answers. */
  readonly kept?: string;
}

/** A rollout of `new` over `old`, and what the switcher is told about them. */
function stage({ strategy, namespace, cluster = {}, kept }: Given) {
  const told: string[] = [];
  const said: string[] = [];
  const written: { spec: { previous?: object } }[] = [];
  const snapshots = [snapshotOf('new', namespace), snapshotOf('old', 'blue')];
  const nameOf = (snapshot: Snapshot | undefined) => snapshot?.name ?? 'nothing';
  const parts = {
    client: {
      create: async (_: unknown, object: { spec: object }) => void written.push(object),
      delete: async () => {},
      get: async () => {
        throw new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: '' });
      },
    },
    fleet: { connect: async () => ({}) },
    snapshots: { get: async (name: string) => snapshots.find((each) => each.name === name) },
    installer: {
      current: async () => ({ revision: 1, status: 'deployed', manifests: [] }),
      apply: async () => ({ revision: 2 }),
      restore: async () => ({ revision: 3 }),
      remove: async () => {},
    },
    switcher: {
      switchOver: async (_: unknown, { from, to }: SwitchedSides) =>
        void told.push(`from ${nameOf(from)} to ${nameOf(to)}`),
      retire: async (_: unknown, side: Snapshot, staying: Snapshot | undefined) => {
        told.push(`retire ${nameOf(side)} beside ${nameOf(staying)}`);
        return kept;
      },
    },
    verdicts: { on: async () => [] },
    tracer: noTracer,
    operator: () => ({ metadata: { name: 'tool' }, spec: {} }),
    settings: defaultRolloutSettings,
    now: () => 0,
  };
  const times = { validationPeriod: 'PT1M', monitorPeriod: 'PT1M', retentionPeriod: 'PT1H' };
  const place = {
    rollout: { metadata: { name: 'rollout', uid: 'u' }, spec: { operator: 'tool', version: 'new', strategy } },
    plan: { strategy, stages: [], definitions: [], config: { pauseBetweenClusters: 'PT1M', coexist: false, ...times } },
    cluster: { name: 'here', environment: 'Dev', snapshot: 'new', snapshotBefore: 'old', attempt: 'u.1', ...cluster },
    context: {},
    onOutput: (line: string) => void said.push(line),
  };
  return {
    work: new ClusterSteps(parts as unknown as ClusterStepsOptions),
    place: place as unknown as ClusterTarget,
    told,
    said,
    written,
  };
}

describe('one that is upgraded in its place, where a blue-green deployment has put it', () => {
  const given = {
    strategy: 'Rolling',
    namespace: 'blue',
    cluster: { color: 'Blue', colorBefore: 'Blue' },
  } as const;

  test('what only the old version has outside of the release is known on the way there', async () => {
    const { work, place, told } = stage(given);
    await work.install(place);
    expect(told).toEqual(['from old to new']);
  });

  test('and what only the new one has, on the way back', async () => {
    const { work, place, told } = stage(given);
    await work.restore(place);
    expect(told).toEqual(['from new to old']);
  });
});

describe('the side that is given up on the way back', () => {
  const given = { strategy: 'BlueGreen', namespace: 'green' } as const;

  test.each([
    { reason: 'after the switch', cluster: { switched: true }, told: ['from new to old', 'retire new beside old'] },
    { reason: 'before it', cluster: {}, told: ['retire new beside old'] },
    { reason: 'of the first one', cluster: { snapshotBefore: undefined }, told: ['retire new beside nothing'] },
  ])('is told who stays: $reason', async ({ cluster, told }) => {
    const { work, place, told: heard } = stage({ ...given, cluster });
    await work.restore(place);
    expect(heard).toEqual(told);
  });

  test('is gone, and nothing is kept', async () => {
    const { work, place, said, written } = stage({ ...given, cluster: { switched: true } });
    await work.restore(place);
    expect([said, written[0]?.spec.previous]).toEqual([[], undefined]);
  });

  test('or has to be kept: it is said, and goes as soon as it may', async () => {
    const { work, place, said, written } = stage({ ...given, cluster: { switched: true }, kept: 'it is kept' });
    await work.restore(place);
    expect(said).toEqual(['it is kept']);
    expect(written[0]?.spec.previous).toEqual({
      version: 'new',
      snapshot: 'new',
      namespace: 'green',
      keptUntil: '1970-01-01T00:00:00.000Z',
    });
  });
});
