/** The Helm binary: find it, run it, and redact its output. */
export { findHelm, type HelmBinary, type HelmLocation } from './binary.ts';
export { redactSecrets } from './redact.ts';
export { type HelmOutcome, runHelm } from './run.ts';
export { mostHelmRuns } from './slots.ts';
