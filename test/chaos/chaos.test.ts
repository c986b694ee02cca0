/** Chaos in short: everybody is hurt about once. `npm run soak -- chaos` goes on for as long as one likes. */
import { expect, test } from 'vitest';
import { runChaos } from './support/run.ts';

/** The same plan in every run, so that a run says something about the change and not about its luck. */
const { KIDP_SEED = '20261116' } = process.env;

test('whoever is killed or stopped, every object becomes what its user was told, once and in order', async () => {
  const said: string[] = [];
  const report = await runChaos({
    seed: KIDP_SEED === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(KIDP_SEED),
    milliseconds: 18_000,
    users: 3,
    brokerInstances: 1,
    faultPauseMilliseconds: 1_500,
    longestPauseMilliseconds: 6_000,
    log: (line) => said.push(line),
  }).catch((error: Error) => {
    throw new Error(`${said.join('\n')}\n${error.message}`, { cause: error });
  });
  expect(report.work.created).toBeGreaterThan(0);
  expect(report.faults).toBeGreaterThan(5);
  // To start, 180 s for users and 240 s for all to come true: what is too slow is then said with what is known of it.
}, 900_000);
