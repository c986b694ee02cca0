/**
 * From two versions of a CustomResourceDefinition (and, when given, stored objects) to a verdict.
 *
 * In: two CRDs. Out: every change with its class, who is hit and what to do instead. It must not know where the CRDs came from, and
 * does no input or output.
 *
 *     const { crd, issues } = readCrd(document);
 *     const { verdict, changes } = compareCrds(before, after);
 */
export { alike } from './canonical.ts';
export { type CompareOptions, compareCrds } from './compare/index.ts';
export * from './crd.ts';
export { changeDigest } from './digest.ts';
export { type SampleOptions, sample } from './instance/index.ts';
export { type ChangeKind, changeKinds, isSeenInObjects } from './kinds.ts';
export { type CrdIssue, type CrdIssueCode, type ReadCrd, readCrd } from './read.ts';
export { refusedParts } from './refused.ts';
export type { CrdSchema, ValidationRule } from './schema.ts';
export { type StoredObjects, type StoredObjectsCheck, storedObjectsCheck } from './stored.ts';
export {
  type Change,
  type ChangeClass,
  type Json,
  type Verdict,
  type Witness,
  type WitnessOutcome,
  worse,
  worst,
} from './verdict.ts';
