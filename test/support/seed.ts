/**
 * Random tests take the same cases in every run, so that a run says something about the change and not about its luck. `KIDP_SEED`
 * chooses others: a number, or `random`.
 */
import fc from 'fast-check';

const { KIDP_SEED = '20261116' } = process.env;
if (KIDP_SEED !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(KIDP_SEED) });
