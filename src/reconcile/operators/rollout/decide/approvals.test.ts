import { expect, test } from 'vitest';
import { defaultRolloutSettings } from '../../settings.ts';
import type { ClusterStatus, Rollout } from '../rollout.ts';
import { neededApprovals } from './approvals.ts';

const object = { metadata: { uid: 'u' }, spec: { version: '1.0.0' } } as Rollout;
const here = (more: Partial<ClusterStatus> = {}): ClusterStatus => ({
  name: 'here',
  environment: 'Production',
  stage: 1,
  state: 'Pending',
  ...more,
});

test.each([
  { reason: 'nothing is installed', clusters: [here()], types: ['ProductionDeployment'] },
  {
    reason: 'another version is installed',
    clusters: [here({ fromVersion: 'v0.9.0' })],
    types: ['ProductionDeployment', 'VersionUpgrade'],
  },
  {
    reason: 'the same version is installed, spelled differently',
    clusters: [here({ fromVersion: 'v1.0.0' })],
    types: ['ProductionDeployment'],
  },
  {
    reason: 'the cluster is skipped',
    clusters: [here({ fromVersion: 'v0.9.0', state: 'Skipped' as const })],
    types: [],
  },
  { reason: 'it is in Dev', clusters: [here({ fromVersion: 'v0.9.0', environment: 'Dev' as const })], types: [] },
])('requires $types if $reason', ({ clusters, types }) => {
  expect(neededApprovals(object, {}, clusters, defaultRolloutSettings).map(({ type }) => type)).toEqual(types);
});
