/** The real Helm: found, run, and quoted without what is secret. */
export { findHelm, type HelmBinary, type HelmLocation } from './binary.ts';
export { mostHelmRuns } from './places.ts';
export { type HelmOutcome, runHelm } from './run.ts';
export { withoutSecrets } from './words.ts';
