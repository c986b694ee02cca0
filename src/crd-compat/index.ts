/**
 * CRD compatibility: from two versions of a CustomResourceDefinition, and optionally its stored objects, to a verdict.
 *
 * Stability: beta. Everything that this file exports follows semantic versioning from 1.0.0 on. Until then a minor release may change it,
 * and the changelog lists each change. Message texts are for people and may change; codes, kinds, classes and field names do not.
 *
 * Input: two CRDs. Output: every change with its class, the objects and manifests that it affects, and what to do instead. This module does
 * not know where the CRDs come from and does no input or output.
 *
 *     import { readFileSync } from 'node:fs';
 *     import { compareCrds, readCrd } from 'kidp/crd-compat';
 *
 *     const read = (file) => {
 *       const { crd, issues } = readCrd(JSON.parse(readFileSync(file, 'utf8')));
 *       if (crd === undefined) throw new Error(issues.map(({ path, message }) => `${path}: ${message}`).join('\n'));
 *       return crd;
 *     };
 *     const { verdict, changes } = compareCrds(read('before.json'), read('after.json'));
 *     for (const { path, class: changeClass, message } of changes) console.log(changeClass, path, message);
 *     process.exitCode = verdict === 'breaking' ? 1 : 0;
 */

// Comparing two definitions: the verdict, its changes, and an example object for each breaking change.
export { type CompareOptions, compareCrds } from './compare/index.ts';
export type {
  Crd,
  CrdConversion,
  CrdNames,
  CrdPrinterColumn,
  CrdSpec,
  CrdSubresources,
  CrdVersion,
} from './crd.ts';
export { changeDigest } from './digest.ts';
export { type ChangeKind, changeKinds } from './kinds.ts';
// Reading a definition: from a parsed document to a `Crd`, or to issues with a code, a path and the next step.
export { type CrdIssue, type CrdIssueCode, type ReadCrd, readCrd } from './read.ts';
export { refusedParts } from './refused.ts';
export type { CrdSchema, ValidationRule } from './schema.ts';
// Checking stored objects against a change, one object at a time.
export { type StoredObjects, type StoredObjectsCheck, storedObjectsCheck } from './stored.ts';
export {
  type Change,
  type ChangeClass,
  type Json,
  type Verdict,
  type Witness,
  type WitnessOutcome,
  worst,
} from './verdict.ts';
