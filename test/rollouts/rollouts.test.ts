/** Whole rollouts, with nothing played but the nodes: all on one stage, since each cluster of it costs more than most tests. */
import { afterAll, beforeAll, describe } from 'vitest';
import { approvalTests } from './approvals.ts';
import { blueGreenTests } from './blue-green.ts';
import { killedTests } from './killed.ts';
import { logTests } from './logs.ts';
import { metricTests } from './metrics.ts';
import { nowhereTests } from './nowhere.ts';
import { reachTests } from './reach.ts';
import { restTests } from './rest.ts';
import { openShow, type Show } from './show.ts';
import { strategyTests } from './strategies.ts';
import { traceTests } from './traces.ts';

let opened: Show | undefined;
const show = (): Show => {
  if (opened === undefined) throw new Error('it is not open');
  return opened;
};
beforeAll(async () => {
  opened = await openShow();
});
afterAll(async () => {
  await opened?.stop();
});

// Each is of an operator of its own, and mostly waits.
describe.concurrent('rollouts', () => {
  strategyTests(show);
  blueGreenTests(show);
  approvalTests(show);
  reachTests(show);
  restTests(show);
  killedTests(show);
});

describe('what was told of them', () => {
  traceTests(show);
  logTests(show);
  metricTests(show);
  nowhereTests(show);
});
