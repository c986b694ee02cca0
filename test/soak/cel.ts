/**
 * CEL against Kubernetes' own: random expressions and objects by the hundred thousand, a thousand a round. Every round has a
 * seed, so that a difference can be had again.
 */
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { compare, type Difference } from '../cel/differential.ts';
import { generator } from '../cel/generate.ts';
import { kubernetesFunctions, startOracle } from '../support/cel-oracle.ts';

const casesInARound = 1_000;
const leastRounds = 100;

export interface CelSoak {
  rounds: number;
  log: (line: string) => void;
}

export async function run({ rounds, log }: CelSoak): Promise<void> {
  const { arbitrary } = generator(await kubernetesFunctions());
  const oracle = await startOracle();
  const sum = { cases: 0, values: 0, compared: 0, near: 0 };
  try {
    for (let round = 1; round <= Math.max(rounds, leastRounds); round++) {
      const seed = randomInt(2 ** 31);
      const { values, wrong, early, costs } = await compare(
        oracle,
        fc.sample(arbitrary, { seed, numRuns: casesInARound }),
      );
      const differences = [...wrong, ...early, ...costs.wrong];
      if (differences.length > 0) throw new Error(report(seed, differences));
      sum.cases += casesInARound;
      sum.values += values;
      sum.compared += costs.compared;
      sum.near += costs.near.length;
      if (round % 10 === 0) log(`${sum.cases} cases, ${sum.values} values, no difference`);
    }
  } finally {
    oracle.stop();
  }
  const equal = 1 - sum.near / sum.compared;
  log(`${sum.cases} cases, ${sum.values} values, cost equal on ${(100 * equal).toFixed(2)} %`);
  if (equal < 0.99) throw new Error('the cost is equal on less than 99 %');
}

function report(seed: number, differences: readonly Difference[]): string {
  const shown = differences.slice(0, 5).map((each) => JSON.stringify(each, null, 2));
  return `seed ${seed}: ${differences.length} differences\n${shown.join('\n')}`;
}
