/**
 * Parts of the policy engine that other modules of this project use and that are no public API: the package does not
 * export this file, and it may change in any release.
 */

// Policy sets: compiling in steps, their scope, preparation and defaults, and the times at which their decisions change.
export {
  compileExceptionSteps,
  compileSteps,
  DEFAULT_EXCEPTION_NAMESPACES,
  DEFAULT_PLATFORM_NAMESPACE,
  nextTransition,
  preparePolicy,
  type ScopeEntry,
  scheduleStateAt,
} from './engine/index.ts';
// Matching: which requests and stored objects a policy selects.
export { labelsOf, selects } from './match/labels.ts';
export { policyMatchesType } from './match/policy-types.ts';
export { matchesType, type RequestType } from './match/types.ts';
// JSON and JSON Patch.
export { applyJsonPatch, sameJson, writeJson, writeJsonPatch } from './mutation/index.ts';
export { pluralOf } from './native/index.ts';
// Read access: what a policy reads, and the ClusterRole that grants it.
export {
  isSecrets,
  type ReadResource,
  readRole,
  readRoleText,
  resourcesReadBy,
  typesNamedBy,
} from './read-rights.ts';
export type { PolicyState } from './state.ts';
export { completed, type Steps } from './steps.ts';
export { storedSelection, storedTypes } from './stored.ts';

// Tests and type checks in steps, and test reports.
export { mismatch, percent, policyTestSteps, type Uncovered } from './testing/index.ts';
export { typeCheckSteps } from './typecheck/index.ts';
