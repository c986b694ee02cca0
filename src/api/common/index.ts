/**
 * What several kinds share: owner, target, selectors, conditions, the deployable pattern. In: nothing. Out: schemas to put
 * into a kind. It must not know which kinds there are.
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
