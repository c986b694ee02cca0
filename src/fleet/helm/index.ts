/** The real Helm: found, run, and quoted without what is secret. */
export { findHelm, type HelmBinary, type HelmLocation } from './binary.ts';
export { redactSecrets } from './redact.ts';
export { type HelmOutcome, runHelm } from './run.ts';
export { mostHelmRuns } from './slots.ts';
