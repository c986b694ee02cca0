/**
 * Short intervals and no Approvals for tests. In a separate file, because the killed process must not import the test
 * runner.
 */
import { defaultRolloutSettings } from '../../../src/reconcile/index.ts';

export const systemNamespace = 'kidp-system';

/** Time is compressed by configuration, not by a fake clock. */
export const intervals = { clusters: 5_000, health: 4_000, repositories: 5_000, retry: 500 };

/** No Approval is required unless a test configures it. */
export const unapproved = {
  ...defaultRolloutSettings,
  approvals: { Dev: [], Staging: [], Production: [] },
  versionUpgrade: { environments: [], levels: [] },
  breakingDefinitions: { environments: [], levels: [] },
};
