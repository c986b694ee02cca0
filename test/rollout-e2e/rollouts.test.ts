/**
 * End-to-end rollouts in which only the nodes are simulated. All suites share one testbed, because each cluster is
 * expensive to start.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { openShow, type Show } from './support/suite-context.ts';
import { approvalTests } from './support/suites/approvals.ts';
import { blueGreenTests } from './support/suites/blue-green.ts';
import { logTests } from './support/suites/logs.ts';
import { killedTests } from './support/suites/manager-killed.ts';
import { metricTests } from './support/suites/metrics.ts';
import { nowhereTests } from './support/suites/no-secrets.ts';
import { restTests } from './support/suites/rest.ts';
import { strategyTests } from './support/suites/strategies.ts';
import { traceTests } from './support/suites/traces.ts';
import { reachTests } from './support/suites/unreachable.ts';

let opened: Show | undefined;
const show = (): Show => {
  if (opened === undefined) throw new Error('the suite context is not open');
  return opened;
};
beforeAll(async () => {
  opened = await openShow();
});
afterAll(async () => {
  await opened?.stop();
});

// Each suite has its own operator, and mostly waits.
describe.concurrent('rollouts', () => {
  strategyTests(show);
  blueGreenTests(show);
  approvalTests(show);
  reachTests(show);
  restTests(show);
  killedTests(show);
});

describe('observability', () => {
  traceTests(show);
  logTests(show);
  metricTests(show);
  nowhereTests(show);
});
