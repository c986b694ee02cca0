/**
 * Compares CEL with Kubernetes' own implementation: hundreds of thousands of random expressions and objects, a thousand
 * per round. Every round prints its seed, so that a difference can be reproduced.
 */
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { compare, type Difference } from '../cel/support/differential.ts';
import { generator } from '../cel/support/generate.ts';
import { kubernetesFunctions, startOracle } from '../support/cel-oracle.ts';

const casesInARound = 1_000;
const leastRounds = 100;
/** The number of differences after which the run ends. */
const mostDifferences = 25;

export interface CelSoak {
  rounds: number;
  log: (line: string) => void;
}

export async function run({ rounds, log }: CelSoak): Promise<void> {
  const { arbitrary, subjects } = generator(await kubernetesFunctions());
  const oracle = await startOracle();
  const sum = { cases: 0, values: 0, given: 0, compared: 0, near: 0, differences: 0 };
  const met = new Map<string, number>();
  try {
    for (let round = 1; round <= Math.max(rounds, leastRounds) && sum.differences < mostDifferences; round++) {
      const seed = randomInt(2 ** 31);
      const found = await compare(oracle, fc.sample(arbitrary, { seed, numRuns: casesInARound }));
      const differences = [...found.wrong, ...found.early, ...found.costs.wrong];
      if (differences.length > 0) log(report(seed, differences));
      sum.cases += casesInARound;
      sum.values += found.values;
      sum.given += found.panics;
      sum.compared += found.costs.compared;
      sum.near += found.costs.near.length;
      sum.differences += differences.length;
      for (const [subject, times] of found.met) met.set(subject, (met.get(subject) ?? 0) + times);
      if (round % 10 === 0) log(`${sum.cases} cases, ${sum.values} values, ${sum.differences} differences`);
    }
  } finally {
    oracle.stop();
  }
  const equal = 1 - sum.near / sum.compared;
  const share = sum.values / sum.cases;
  const rarest = Math.min(...subjects.map((subject) => met.get(subject) ?? 0));
  log(`${sum.cases} cases, ${(100 * share).toFixed(1)} % with a value, ${sum.given} that the oracle could not bear`);
  log(`each of ${subjects.length} functions and macros met at least ${rarest} times`);
  log(`cost equal on ${(100 * equal).toFixed(3)} %, nowhere lower`);
  if (sum.differences > 0) throw new Error(`${sum.differences} differences`);
  if (share < 0.6) throw new Error('less than 60 % of the cases have a value');
  if (rarest < 50) throw new Error('a function or macro was met less than 50 times');
  if (equal < 0.99) throw new Error('the cost is equal on less than 99 %');
}

function report(seed: number, differences: readonly Difference[]): string {
  const shown = differences.slice(0, 5).map((each) => JSON.stringify(each, null, 2));
  return `seed ${seed}: ${differences.length} differences\n${shown.join('\n')}`;
}
