/**
 * The API server as oracle for versions that nothing converts between: objects of each version are read through each other one and
 * written back there. A verdict is not safe where something is lost or refused, and each witness shows what it says.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { sharedCluster } from '../support/cluster.ts';
import { campaign, report } from './support/campaign.ts';
import { moves, versionCases } from './support/versions.ts';

let client: Client;
beforeAll(() => {
  client = connect(loadKubeconfig({ file: sharedCluster().kubeconfig }));
});
afterAll(() => client.close());

test.each(moves)('%o becomes %o', async (before, after) => {
  const cases = versionCases([before, after], { seed: 20261119, objects: 2 });
  const { findings, tally } = await campaign(client, cases);
  expect(report(findings)).toBe('');
  // That enough was tried to say something.
  expect(tally.notTaken).toBeLessThan(cases.length / 8);
  expect(tally.witnesses).toBeGreaterThan(cases.length / 4);
});
