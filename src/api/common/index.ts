/**
 * Schemas that several kinds share: owner, target, selectors, conditions, the deployable pattern.
 *
 * Input: none. Output: schemas to use in a kind. This module does not know which kinds exist.
 */
export * from './columns.ts';
export { deployableSpec, ownedSpec } from './deployable.ts';
export * from './matching.ts';
export * from './patterns.ts';
export * from './references.ts';
export { size } from './size.ts';
export {
  deployableStatusFields,
  monthlyCosts,
  ownedStatusFields,
  statusFields,
  unobserved,
} from './status.ts';
