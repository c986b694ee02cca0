/** What compresses time: how often is looked, and that nobody has to agree. Apart, because the process that is ended needs no test runner. */
import { defaultRolloutSettings } from '../../../src/reconcile/index.ts';

export const systemNamespace = 'kidp-system';

/** Time is compressed by what is configured, not by another clock. */
export const intervals = { clusters: 5_000, health: 4_000, repositories: 5_000, retry: 500 };

/** Nobody has to agree, unless a test says so. */
export const unapproved = {
  ...defaultRolloutSettings,
  approvals: { Dev: [], Staging: [], Production: [] },
  versionUpgrade: { environments: [], levels: [] },
  breakingDefinitions: { environments: [], levels: [] },
};
