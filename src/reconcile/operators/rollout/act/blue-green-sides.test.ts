import { describe, expect, test } from 'vitest';
import type { Snapshot, SwitchedSides } from '../../../../fleet/index.ts';
import { ApiError, noTracer } from '../../../../runtime/index.ts';
import { defaultRolloutSettings } from '../../settings.ts';
import { snapshotOf } from '../support/rollouts.ts';
import { ClusterSteps, type ClusterStepsOptions, type ClusterTarget } from './cluster-steps.ts';

interface Given {
  readonly strategy: 'Rolling' | 'BlueGreen';
  /** Namespace of the new version; the old one is in `blue`. */
  readonly namespace: string;
  readonly cluster?: object;
  /** The result of `retire`. */
  readonly kept?: string;
}

/** A rollout of `new` over `old`, with the recorded calls of the switcher. */
function stage({ strategy, namespace, cluster = {}, kept }: Given) {
  const calls: string[] = [];
  const output: string[] = [];
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
        void calls.push(`from ${nameOf(from)} to ${nameOf(to)}`),
      retire: async (_: unknown, side: Snapshot, staying: Snapshot | undefined) => {
        calls.push(`retire ${nameOf(side)} beside ${nameOf(staying)}`);
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
    onOutput: (line: string) => void output.push(line),
  };
  return {
    work: new ClusterSteps(parts as unknown as ClusterStepsOptions),
    place: place as unknown as ClusterTarget,
    calls,
    output,
    written,
  };
}

describe('in-place upgrade of a former blue-green deployment', () => {
  const given = {
    strategy: 'Rolling',
    namespace: 'blue',
    cluster: { color: 'Blue', colorBefore: 'Blue' },
  } as const;

  test('the install passes the old snapshot to the switcher', async () => {
    const { work, place, calls } = stage(given);
    await work.install(place);
    expect(calls).toEqual(['from old to new']);
  });

  test('the rollback passes the new snapshot to the switcher', async () => {
    const { work, place, calls } = stage(given);
    await work.restore(place);
    expect(calls).toEqual(['from new to old']);
  });
});

describe('the abandoned side of a blue-green rollback', () => {
  const given = { strategy: 'BlueGreen', namespace: 'green' } as const;

  test.each([
    { reason: 'after the switch', cluster: { switched: true }, calls: ['from new to old', 'retire new beside old'] },
    { reason: 'before the switch', cluster: {}, calls: ['retire new beside old'] },
    { reason: 'first installation', cluster: { snapshotBefore: undefined }, calls: ['retire new beside nothing'] },
  ])('is retired with the remaining side: $reason', async ({ cluster, calls }) => {
    const { work, place, calls: actual } = stage({ ...given, cluster });
    await work.restore(place);
    expect(actual).toEqual(calls);
  });

  test('is removed and not recorded', async () => {
    const { work, place, output, written } = stage({ ...given, cluster: { switched: true } });
    await work.restore(place);
    expect([output, written[0]?.spec.previous]).toEqual([[], undefined]);
  });

  test('is reported and recorded if it must be kept', async () => {
    const { work, place, output, written } = stage({ ...given, cluster: { switched: true }, kept: 'it is kept' });
    await work.restore(place);
    expect(output).toEqual(['it is kept']);
    expect(written[0]?.spec.previous).toEqual({
      version: 'new',
      snapshot: 'new',
      namespace: 'green',
      keptUntil: '1970-01-01T00:00:00.000Z',
    });
  });
});
