import { describe, expect, test } from 'vitest';
import type { Environment } from '../../../../api/index.ts';
import type { Snapshot } from '../../../../fleet/index.ts';
import { ApiError, type UnknownObject } from '../../../../runtime/index.ts';
import { defaultRolloutSettings } from '../../settings.ts';
import type { Rollout } from '../rollout.ts';
import { CrdVerdicts } from './crd-verdicts.ts';
import { type PlanningOptions, planRollout } from './plan-rollout.ts';

interface Given {
  readonly operator?: object;
  readonly spec?: object;
  readonly clusters?: Readonly<Record<string, Environment>>;
  /** The recorded version by cluster. */
  readonly installed?: Readonly<Record<string, string>>;
  /** The CRDs of the version, and the CRDs on each cluster. */
  readonly definitions?: readonly UnknownObject[];
  readonly there?: Readonly<Record<string, readonly UnknownObject[]>>;
}

const ready = [{ type: 'Ready', status: 'True' }];

function plan({ operator = {}, spec = {}, clusters = { here: 'Production' }, ...given }: Given = {}) {
  const notFound = new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: '' });
  const parts = {
    fleet: {
      connect: async (cluster: string) => ({
        client: {
          get: async (_: unknown, { name }: { name: string }) => {
            const found = given.there?.[cluster]?.find(({ metadata }) => metadata.name === name);
            if (found === undefined) throw notFound;
            return found;
          },
        },
      }),
    },
    charts: {
      fetch: async () => ({ digest: 'sha256:chart' }),
      render: async (_: unknown, input: object) => ({ ...input, definitions: given.definitions ?? [], manifests: [] }),
    },
    snapshots: {
      put: async (content: Snapshot) => ({ ...content, name: `snapshot-${content.environment}`, digest: 'd' }),
    },
    verdicts: new CrdVerdicts(),
    settings: defaultRolloutSettings,
    operator: () => ({
      metadata: { name: 'tool', uid: 'o' },
      spec: { namespace: 'tools', ...operator },
      status: { versions: [{ version: 'v2.0.0', chartVersion: '2.0.0', state: 'Available' }] },
    }),
    clusters: () =>
      Object.entries(clusters).map(([name, environment]) => ({
        metadata: { name, uid: name },
        spec: { environment },
        status: { kubernetesVersion: 'v1.36.3', conditions: ready },
      })),
    installation: (_: string, cluster: string) => {
      const version = given.installed?.[cluster];
      return version === undefined ? undefined : { spec: { version, namespace: 'tools', releaseName: 'tool' } };
    },
    now: () => 0,
  };
  const object = {
    metadata: { name: 'rollout', uid: 'u' },
    spec: { operator: 'tool', version: 'v2.0.0', clusters: Object.keys(clusters), strategy: 'Direct', ...spec },
  };
  return planRollout(object as unknown as Rollout, parts as unknown as PlanningOptions, {});
}

describe('breaking CRD changes', () => {
  const field = (type: string): UnknownObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'tools.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'tools', kind: 'Tool' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { size: { type } } } },
        },
      ],
    },
  });
  const both = { near: 'Dev', far: 'Production' } as const;
  const given = { clusters: both, definitions: [field('integer')] };

  test.each([
    { reason: 'no Approval is required', there: { near: [field('string')] }, spec: {} },
    {
      reason: 'an Approval is required only in the other environment',
      there: { near: [field('string')], far: [field('string')] },
      spec: {},
    },
  ])('block planning without allowBreaking if $reason', async ({ there, spec }) => {
    await expect(plan({ ...given, there, spec })).rejects.toMatchObject({
      reason: 'BreakingCRDChange',
      message: expect.stringMatching(
        /tools\.example\.com has breaking changes in Dev, where no Approval is required. .*\.size/,
      ),
    });
  });

  test.each([
    { reason: 'allowBreaking is set', there: { near: [field('string')] }, spec: { allowBreaking: true }, asked: [] },
    { reason: 'an Approval is required', there: { far: [field('string')] }, spec: {}, asked: ['BreakingCRDChange'] },
    {
      reason: 'allowBreaking is set and an Approval is required',
      there: { far: [field('string')] },
      spec: { allowBreaking: true },
      asked: ['BreakingCRDChange'],
    },
    { reason: 'nothing is installed', there: {}, spec: {}, asked: [] },
  ])('are planned if $reason', async ({ there, spec, asked }) => {
    const { approvals } = await plan({ ...given, there, spec });
    expect(approvals.map(({ type }) => type).filter((type) => type !== 'ProductionDeployment')).toEqual(asked);
  });
});

describe('the health settings', () => {
  const pods = { pods: { enabled: true, maxRestarts: 5 } };

  test('are part of the plan and its digest', async () => {
    const [own, other, none] = await Promise.all([
      plan({ operator: { health: pods } }),
      plan({ operator: { health: { pods: { enabled: false } } } }),
      plan(),
    ]);
    expect(own.plan.health).toEqual(pods);
    expect(none.plan.health).toEqual({});
    expect(new Set([own, other, none].map((each) => each.plan.digest)).size).toBe(3);
  });

  test('the default location of a manual installation is part of the plan', async () => {
    const { plan: found } = await plan({ spec: { strategy: 'BlueGreen' } });
    expect(found.namespace).toBe('tools');
  });
});
