/** A short chaos run: about one fault per component. `npm run soak -- chaos` runs for as long as requested. */
import { expect, test } from 'vitest';
import { runChaos } from './support/run.ts';

/** The same fault plan in every run, so that a failure points to a change and not to chance. */
const { KIDP_SEED = '20261116' } = process.env;

test('whichever process is killed or paused, every acknowledged change is deployed once and in order', async () => {
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
  // Startup, 180 s for users and 240 s to converge: those timeouts fail with a diagnosis, this one would not.
}, 900_000);
