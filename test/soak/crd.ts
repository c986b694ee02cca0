/**
 * Compares CRD verdicts with the API server: random pairs of schemas, a hundred per round, and of versions, with samples
 * of the old schema and the witnesses of the verdict. Every round prints its seed, so that a finding can be reproduced.
 */
import { randomInt } from 'node:crypto';
import { startControlPlane } from '../../src/controlplane/index.ts';
import { connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { campaign, report } from '../crd-compat/support/campaign.ts';
import { randomCases, randomVersionCases } from '../crd-compat/support/cases.ts';

const pairsInARound = 96;
/** Definitions with several versions are tried one by one, which takes longer. */
const versionsInARound = 16;
/** The number of findings after which the run ends. */
const mostFindings = 25;

export interface CrdSoak {
  minutes: number;
  rounds: number;
  log: (line: string) => void;
}

/** Runs until the minutes or the rounds are over. */
export async function run({ minutes, rounds, log }: CrdSoak): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const plane = await startControlPlane();
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  const sum = { pairs: 0, safe: 0, risky: 0, breaking: 0, notTaken: 0, objects: 0, witnesses: 0, findings: 0 };
  try {
    for (let round = 1; round <= rounds && performance.now() < end && sum.findings < mostFindings; round += 1) {
      const seed = randomInt(2 ** 31);
      const { findings, tally } = await campaign(client, [
        ...randomCases(seed, pairsInARound),
        ...randomVersionCases(seed, versionsInARound),
      ]);
      sum.pairs += pairsInARound + versionsInARound;
      sum.findings += findings.length;
      for (const [name, count] of Object.entries(tally)) sum[name as keyof typeof tally] += count;
      if (findings.length > 0) log(`seed ${seed}:\n${report(findings)}`);
      if (round % 5 === 0) log(JSON.stringify(sum));
    }
  } finally {
    await client.close();
    await plane.stop();
  }
  log(JSON.stringify(sum));
  if (sum.findings > 0) throw new Error(`${sum.findings} findings`);
}
