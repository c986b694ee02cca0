/**
 * The seed of random tests. It is the same in every run, so that a failure is due to the change and not to chance.
 * `KIDP_SEED` chooses another: a number, or `random`.
 */
import fc from 'fast-check';

const { KIDP_SEED = '20261116' } = process.env;
if (KIDP_SEED !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(KIDP_SEED) });
