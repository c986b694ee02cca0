import { describe, expect, test } from 'vitest';
import type { HealthTarget, InstalledRelease, Snapshot, SwitchedSides } from '../../../../fleet/index.ts';
import { ApiError, noTracer } from '../../../../runtime/index.ts';
import { defaultRolloutSettings } from '../../settings.ts';
import { snapshotOf } from '../support/rollouts.ts';
import { ClusterSteps, type ClusterStepsOptions, type ClusterTarget } from './cluster-steps.ts';

interface Given {
  readonly strategy?: 'Rolling' | 'BlueGreen';
  readonly coexist?: boolean;
  /** Namespace of the new version. */
  readonly namespace?: string;
  /** Namespace of the old version in the OperatorInstallation. */
  readonly installedIn?: string;
  /** Version in the OperatorInstallation. */
  readonly installedVersion?: string;
  /** Namespaces of older sides. */
  readonly kept?: readonly string[];
  readonly releases?: Readonly<Record<string, Partial<InstalledRelease>>>;
  readonly cluster?: object;
}

/** One cluster, with or without the version `old`, and a rollout of `new`. */
function stage({ strategy = 'Rolling', coexist = false, namespace = 'tools', ...given }: Given) {
  const done: string[] = [];
  const written: { spec: object }[] = [];
  const snapshots = [snapshotOf('new', namespace), snapshotOf('old', 'tools')];
  const byName = async (name: string) => snapshots.find((each) => each.name === name) as Snapshot;
  const notFound = () => new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: '' });
  const side = ({ name }: Snapshot) => name;
  const parts = {
    client: {
      get: async () => {
        if (given.installedIn === undefined) throw notFound();
        const version = given.installedVersion ?? 'old';
        const kept = (given.kept ?? []).map((where) => ({ snapshot: where, namespace: where, keptUntil: '' }));
        const spec = { version, snapshot: 'old', namespace: given.installedIn, releaseName: 'tool', kept };
        return { metadata: { name: 'tool' }, spec };
      },
      create: async (_: unknown, object: { spec: object }) => void written.push(object),
      delete: async () => {},
    },
    fleet: { connect: async () => ({}) },
    snapshots: { get: byName, put: async () => snapshotOf('found', 'tools') },
    installer: {
      current: async (_: unknown, { namespace: where }: { namespace: string }) => {
        const found = given.releases?.[where];
        return found === undefined ? undefined : { revision: 1, status: 'deployed', manifests: [], ...found };
      },
      restore: async (_: unknown, snapshot: Snapshot, { only, atZero }: { only?: string; atZero?: boolean }) => {
        done.push(`restore ${side(snapshot)} ${only ?? 'all'}${atZero === true ? ' at zero' : ''}`);
        return { revision: 1 };
      },
    },
    switcher: {
      switchOver: async (_: unknown, { to, timeoutMilliseconds = 0 }: SwitchedSides) => {
        done.push(`switch to ${side(to)}`);
        expect(timeoutMilliseconds, 'the Helm timeout').toBe(120_000);
      },
      retire: async (_: unknown, snapshot: Snapshot) => void done.push(`retire ${side(snapshot)}`),
    },
    health: {
      check: async (_: unknown, { operator, snapshot }: HealthTarget) => {
        done.push(`check ${side(snapshot)} by ${JSON.stringify(operator.spec)}`);
        return { state: 'Healthy', message: '' };
      },
    },
    tracer: noTracer,
    settings: defaultRolloutSettings,
    now: () => 0,
  };
  const spec = { operator: 'tool', version: 'new', strategy, helmTimeout: 'PT2M' };
  const place = {
    rollout: { metadata: { name: 'rollout', uid: 'u' }, spec },
    plan: {
      strategy,
      stages: [],
      config: { coexist, validationPeriod: 'PT1M', ...blueGreenTimes },
      health: { pods: { maxRestarts: 5 } },
      namespace: 'tools',
    },
    cluster: {
      name: 'here',
      environment: 'Production',
      snapshot: 'new',
      attempt: 'u.rollback',
      fromVersion: 'old',
      ...given.cluster,
    },
    context: {},
    onOutput: () => {},
  };
  return {
    work: new ClusterSteps(parts as unknown as ClusterStepsOptions),
    place: place as unknown as ClusterTarget,
    done,
    written,
  };
}

const blueGreenTimes = { monitorPeriod: 'PT1M', retentionPeriod: 'PT1H', pauseBetweenClusters: 'PT1M' };
const ours = { chart: 'tool', version: 'old', snapshotDigest: 'digest-old' };

describe('findPrevious', () => {
  test.each([
    { reason: 'nothing', given: {}, before: {} },
    {
      reason: 'the recorded version',
      given: { installedIn: 'tools', releases: { tools: ours } },
      before: { fromVersion: 'old', snapshotBefore: 'old' },
    },
    {
      reason: 'the other side of a blue-green deployment',
      given: {
        strategy: 'BlueGreen' as const,
        namespace: 'green',
        installedIn: 'tools',
        releases: { tools: ours },
      },
      before: { fromVersion: 'old', snapshotBefore: 'old' },
    },
    {
      reason: 'a manually installed release that was known at planning',
      given: { cluster: { fromVersion: '0.9.0' }, releases: { tools: { chart: 'their-tool', version: 'v0.9.0' } } },
      before: { fromVersion: 'v0.9.0', snapshotBefore: 'found' },
    },
    {
      reason: 'nothing if the recorded release was removed manually',
      given: { installedIn: 'tools', installedVersion: 'other' },
      before: {},
    },
    {
      reason: 'the rest of an interrupted removal',
      given: { releases: { tools: { chart: 'release', version: '0.0.0', snapshotDigest: '' } } },
      before: { fromVersion: '0.0.0', snapshotBefore: 'found' },
    },
  ])('finds $reason', async ({ given, before }) => {
    const { work, place } = stage(given);
    expect(await work.findPrevious(place)).toEqual(before);
  });

  test.each([
    {
      reason: 'the release has moved to another namespace',
      given: { installedIn: 'green', releases: { green: ours } },
      message: 'has moved to another namespace',
    },
    {
      reason: 'the release has moved to the target side',
      given: { strategy: 'BlueGreen' as const, namespace: 'green', installedIn: 'green', releases: { green: ours } },
      message: 'has moved to another namespace',
    },
    {
      reason: 'the release belongs to another Operator',
      given: { releases: { tools: { ...ours, chart: 'other' } } },
      message: 'belongs to Operator other',
    },
    {
      reason: 'another rollout installed a version with no approved upgrade path',
      given: { installedIn: 'tools', installedVersion: 'other', releases: { tools: ours } },
      message: 'version other is installed now, but the version was old when this rollout was planned',
    },
    {
      reason: 'an approved installation has become an upgrade',
      given: { installedIn: 'tools', releases: { tools: ours }, cluster: { fromVersion: undefined } },
      message: 'version old is installed now, but no version was known when this rollout was planned',
    },
    {
      reason: 'the maximum of kept sides is reached',
      given: {
        installedIn: 'tools',
        kept: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'],
        releases: { tools: ours },
      },
      message: '8 older sides of blue-green deployments are still kept on the cluster',
    },
  ])('fails if $reason', async ({ given, message }) => {
    const { work, place } = stage(given);
    const failure = { code: 'chart/invalid', message: expect.stringContaining(message) };
    await expect(work.findPrevious(place)).rejects.toMatchObject(failure);
  });
});

describe('a manually installed release', () => {
  const byHand = { releases: { tools: { chart: 'their-tool', version: '0.9.0', revision: 4 } } };
  const nothingKnown = { ...byHand, cluster: { fromVersion: undefined } };

  test('is recorded, and not upgraded without an Approval', async () => {
    const { work, place, written } = stage(nothingKnown);
    await expect(work.findPrevious(place)).rejects.toMatchObject({
      code: 'chart/invalid',
      message: expect.stringContaining('version 0.9.0 is installed now, but no version was known'),
    });
    const place9 = { snapshot: 'found', namespace: 'tools', releaseName: 'tool' };
    const spec = { operator: 'tool', cluster: 'here', version: '0.9.0', revision: 4, ...place9 };
    expect(written.map((each) => each.spec)).toEqual([spec]);
  });

  test.each([
    {
      reason: 'the environment requires no Approval',
      given: { ...byHand, cluster: { fromVersion: undefined, environment: 'Dev' } },
    },
    { reason: 'it is the same version', given: { releases: { tools: { chart: 'their-tool', version: 'new' } } } },
  ])('is adopted if $reason', async ({ given }) => {
    const { work, place, written } = stage(given);
    expect(await work.findPrevious(place)).toMatchObject({ snapshotBefore: 'found' });
    expect(written).toEqual([]);
  });
});

test.each([
  {
    reason: 'the environment requires no Approval for upgrades',
    given: { cluster: { environment: 'Dev', fromVersion: undefined } },
  },
  { reason: 'the other rollout installed the same version', given: { installedVersion: 'new' } },
  { reason: 'nothing has changed', given: {} },
])('ignores a concurrent rollout if $reason', async ({ given }) => {
  const { work, place } = stage({ installedIn: 'tools', releases: { tools: ours }, ...given });
  expect(await work.findPrevious(place)).toMatchObject({ snapshotBefore: 'old' });
});

test.each([
  { reason: 'the deployed version', cluster: { state: 'Validating' }, side: 'new' },
  { reason: 'the restored version', cluster: { state: 'RollingBack', snapshotBefore: 'old' }, side: 'old' },
])('checks $reason with the health settings of the plan', async ({ cluster, side }) => {
  const { work, place, done } = stage({ cluster });
  expect(await work.check(place)).toMatchObject({ state: 'Healthy' });
  expect(done).toEqual([`check ${side} by {"health":{"pods":{"maxRestarts":5}}}`]);
});

describe('rollback of a blue-green deployment', () => {
  const back = { strategy: 'BlueGreen' as const, namespace: 'green', installedIn: 'green' };
  const switched = { switched: true, snapshotBefore: 'old', fromVersion: 'old' };
  const half = { ...ours, status: 'pending-install', attempt: 'u.rollback' };
  test.each([
    {
      reason: 'the old side is still kept',
      given: { ...back, cluster: switched, releases: { tools: ours } },
      done: ['switch to old', 'retire new'],
    },
    {
      reason: 'the retired side is restored before the switch',
      given: { ...back, cluster: switched },
      done: ['restore old namespaced at zero', 'switch to old', 'retire new'],
    },
    {
      reason: 'the retired side can coexist with the new one',
      given: { ...back, coexist: true, cluster: switched },
      done: ['restore old namespaced', 'switch to old', 'retire new'],
    },
    {
      reason: 'the restore was interrupted',
      given: { ...back, cluster: switched, releases: { tools: half } },
      done: ['restore old namespaced at zero', 'switch to old', 'retire new'],
    },
    {
      reason: 'the switch never started',
      given: { ...back, cluster: { snapshotBefore: 'old' }, releases: { tools: ours } },
      done: ['retire new'],
    },
  ])('$reason', async ({ given, done }) => {
    const { work, place, done: steps } = stage(given);
    await work.restore(place);
    expect(steps).toEqual(done);
  });

  test('also removes the older sides if nothing was installed before', async () => {
    const { work, place, done } = stage({ ...back, kept: ['old'], cluster: { switched: true } });
    await work.restore(place);
    expect(done).toEqual(['retire new', 'retire old']);
  });

  test('records the rollback in the OperatorInstallation unless the switch never started', async () => {
    const writtenFor = async (cluster: object) => {
      const { work, place, written } = stage({ ...back, cluster, releases: { tools: ours } });
      await work.restore(place);
      return written.map(({ spec }) => spec);
    };
    const spec = { version: 'old', snapshot: 'old', deployment: 'the one before', restoredBy: 'rollout' };
    expect(await writtenFor({ ...switched, deploymentBefore: 'the one before' })).toMatchObject([spec]);
    expect(await writtenFor({ snapshotBefore: 'old' })).toEqual([]);
  });
});
